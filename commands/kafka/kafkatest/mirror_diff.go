package kafkatest

import (
	"cmp"
	"maps"
	"net"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// groupState is what OffsetsTopic says of a group.
type groupState struct {
	commits map[row]kfake.GroupCommit
	meta    string            // the last group metadata value, less its time; "" if none was written
	members map[string]string // of a KIP-848 group: the last values of each member
	written bool              // some record of it was
}

// row is one partition of a group's committed offsets.
type row struct {
	topic     string
	partition int32
}

func newGroupState() *groupState {
	return &groupState{commits: make(map[row]kfake.GroupCommit), members: make(map[string]string)}
}

// diff makes the records that lead from what was written last to the state in info, which is
// nil for a group that is gone, and takes them as written. A coordinator writes a request's
// rows before what the request makes of the group, and a deleted group's rows before its own
// tombstone.
func (m *mirror) diff(group string, info *kfake.GroupInfo, seen protocol) []*kgo.Record {
	old := m.known[group]
	if old == nil {
		old = newGroupState()
		m.known[group] = old
	}
	now := time.Now()
	recs := m.diffCommits(group, old, info)
	switch {
	case info == nil:
		if old.written {
			recs = append(recs, goneRecords(group, old, seen)...)
		}
		delete(m.known, group)
		m.mu.Lock()
		if m.queued[group] == nil {
			delete(m.seen, group)
		}
		m.mu.Unlock()
	case seen.consumer:
		recs = append(recs, m.diffConsumerGroup(old, info, seen)...)
	default:
		recs = append(recs, diffClassicGroup(old, info, seen, now)...)
	}
	old.written = old.written || len(recs) > 0
	for _, r := range recs {
		if r.Timestamp.IsZero() {
			r.Timestamp = now
		}
	}
	return recs
}

func (m *mirror) diffCommits(group string, old *groupState, info *kfake.GroupInfo) []*kgo.Record {
	fresh := make(map[row]kfake.GroupCommit)
	if info != nil {
		for topic, parts := range info.Commits {
			for p, c := range parts {
				fresh[row{topic, p}] = c
			}
		}
	}
	var recs []*kgo.Record
	for _, r := range sortedRows(old.commits) {
		if _, ok := fresh[r]; !ok {
			recs = append(recs, Tombstone(group, r.topic, r.partition))
			delete(old.commits, r)
		}
	}
	var at time.Time // one request has one commit time, whatever kfake noted row by row
	for _, r := range sortedRows(fresh) {
		c := fresh[r]
		if was, ok := old.commits[r]; ok && sameCommit(was, c) {
			continue
		}
		if at.IsZero() {
			at = c.At
		}
		recs = append(recs, Commit{
			Group: group, Topic: r.topic, Partition: r.partition, At: c.Offset, LeaderEpoch: c.LeaderEpoch,
			Metadata: c.Metadata, Time: at, Version: m.version, TopicID: m.topicID(r.topic),
		}.Record())
		old.commits[r] = c
	}
	return recs
}

// sameCommit says whether two states of a row are of one commit. A commit of the same offset
// again has another time.
func sameCommit(a, b kfake.GroupCommit) bool {
	return a.Offset == b.Offset && a.LeaderEpoch == b.LeaderEpoch && a.Metadata == b.Metadata && a.At.Equal(b.At)
}

func sortedRows(m map[row]kfake.GroupCommit) []row {
	return slices.SortedFunc(maps.Keys(m), func(a, b row) int {
		return cmp.Or(cmp.Compare(a.topic, b.topic), cmp.Compare(a.partition, b.partition))
	})
}

// diffClassicGroup makes the record of a generation: of a group whose members have all been
// given their partitions, or whose last member left. Between generations nothing is written.
// A simple group, which never had a member, has no record; a share group has others.
func diffClassicGroup(old *groupState, info *kfake.GroupInfo, seen protocol, now time.Time) []*kgo.Record {
	settled := info.State == "Stable" || info.State == "Empty"
	if !settled || seen.kind == "" || (info.Epoch == 0 && len(info.Members) == 0) {
		return nil
	}
	v := kmsg.NewGroupMetadataValue()
	v.Version = 3
	v.ProtocolType, v.Generation = seen.kind, info.Epoch
	for _, member := range info.Members {
		v.Members = append(v.Members, classicMember(member, seen))
	}
	if len(v.Members) > 0 {
		v.Protocol = &seen.name
		v.Leader = &seen.leader
	}
	v.CurrentStateTimestamp = 0
	if meta := string(v.AppendTo(nil)); meta != old.meta {
		old.meta = meta
		v.CurrentStateTimestamp = now.UnixMilli()
		return []*kgo.Record{GroupRecord(info.Group, v)}
	}
	return nil
}

func classicMember(in kfake.GroupMember, seen protocol) kmsg.GroupMetadataValueMember {
	sub := kmsg.NewConsumerMemberMetadata()
	sub.Topics = in.SubscribedTopics
	given := kmsg.NewConsumerMemberAssignment()
	for _, topic := range slices.Sorted(maps.Keys(in.Assignment)) {
		t := kmsg.NewConsumerMemberAssignmentTopic()
		t.Topic, t.Partitions = topic, in.Assignment[topic]
		given.Topics = append(given.Topics, t)
	}
	out := kmsg.NewGroupMetadataValueMember()
	out.MemberID, out.InstanceID = in.MemberID, in.InstanceID
	out.ClientID, out.ClientHost = in.ClientID, javaHost(in.ClientHost)
	out.SessionTimeoutMillis, out.RebalanceTimeoutMillis = seen.session, seen.rebalan
	out.Subscription, out.Assignment = sub.AppendTo(nil), given.AppendTo(nil)
	return out
}

// javaHost writes a client's address as brokers do: "/127.0.0.1", without the port.
func javaHost(addr string) string {
	if host, _, err := net.SplitHostPort(addr); err == nil {
		addr = host
	}
	return "/" + addr
}

// goneRecords are the tombstones of a deleted group, after those of its rows.
func goneRecords(group string, old *groupState, seen protocol) []*kgo.Record {
	if seen.consumer {
		recs := memberTombstones(group, slices.Sorted(maps.Keys(old.members)))
		return append(recs, &kgo.Record{Key: consumerGroupKey(group)})
	}
	return []*kgo.Record{GroupTombstone(group)}
}
