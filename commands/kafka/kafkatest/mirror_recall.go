package kafkatest

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// recall takes the state that records of OffsetsTopic left behind, so that a restarted
// cluster does not write it again.
func (m *mirror) recall(recs []*kgo.Record) error {
	for _, r := range recs {
		if err := m.recallRecord(r); err != nil {
			return fmt.Errorf("recall %s/%d at %d: %w", OffsetsTopic, r.Partition, r.Offset, err)
		}
	}
	for group, state := range m.known {
		state.adopt(m.kafka.GroupInfo(group))
	}
	return nil
}

// adopt takes the cluster's own commit times for the rows that are otherwise as recalled:
// the record of a request has one time for all of its rows.
func (s *groupState) adopt(info *kfake.GroupInfo) {
	if info == nil {
		return
	}
	for at, was := range s.commits {
		c, ok := info.Commits[at.topic][at.partition]
		was.At = c.At
		if ok && sameCommit(was, c) {
			s.commits[at] = c
		}
	}
}

func (m *mirror) recallRecord(r *kgo.Record) error {
	if r.Attrs.IsControl() || len(r.Key) < 2 || r.Key[0] != 0 {
		return nil
	}
	switch r.Key[1] {
	case keyOffsetCommit:
		var k kmsg.OffsetCommitKey
		if err := k.ReadFrom(r.Key); err != nil {
			return err
		}
		return m.recallCommit(row{k.Topic, k.Partition}, k.Group, r.Value)
	case keyGroupMetadata:
		var k kmsg.GroupMetadataKey
		if err := k.ReadFrom(r.Key); err != nil {
			return err
		}
		return m.recallGroup(k.Group, r.Value)
	}
	return nil
}

func (m *mirror) recallCommit(at row, group string, value []byte) error {
	state := m.recalled(group)
	if value == nil {
		delete(state.commits, at)
		return nil
	}
	var v kmsg.OffsetCommitValue
	if err := v.ReadFrom(value); err != nil {
		return err
	}
	state.commits[at] = kfake.GroupCommit{
		Offset: v.Offset, LeaderEpoch: v.LeaderEpoch, Metadata: v.Metadata, At: time.UnixMilli(v.CommitTimestamp),
	}
	return nil
}

func (m *mirror) recallGroup(group string, value []byte) error {
	state, seen := m.recalled(group), m.protocolOf(group)
	if value == nil {
		delete(m.known, group)
		delete(m.seen, group)
		return nil
	}
	var v kmsg.GroupMetadataValue
	if err := v.ReadFrom(value); err != nil {
		return err
	}
	seen.kind = v.ProtocolType
	if v.Protocol != nil && v.Leader != nil {
		seen.name, seen.leader = *v.Protocol, *v.Leader
	}
	if len(v.Members) > 0 {
		seen.session, seen.rebalan = v.Members[0].SessionTimeoutMillis, v.Members[0].RebalanceTimeoutMillis
	}
	v.CurrentStateTimestamp = 0
	state.meta = string(v.AppendTo(nil))
	return nil
}

// recalled is the state of a group that records speak of. Its mutex is not needed: nothing
// else runs yet.
func (m *mirror) recalled(group string) *groupState {
	m.protocolOf(group)
	if m.known[group] == nil {
		m.known[group] = newGroupState()
		m.known[group].written = true
	}
	return m.known[group]
}
