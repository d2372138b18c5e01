package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetledger/offsetledger/ledger"
)

// CommittedNow is what a group has committed at this moment.
type CommittedNow struct {
	Rows []ledger.Offset // with leader epoch and metadata; neither commit time nor position is told
	// Pending are the partitions that an open transaction may still commit.
	Pending []ledger.TopicPartition
	Err     error // why it could not be asked; then nothing else is known
}

// Committed asks what groups have committed, in the order of names. Beside the partitions that a
// group has offsets in, those of also are asked for open transactions: an offset that no
// transaction has committed before is in no list of the broker's.
func (a *Admin) Committed(ctx context.Context, names []string, also []ledger.TopicPartition) []CommittedNow {
	found := map[string]*CommittedNow{}
	out := make([]CommittedNow, len(names))
	for i, name := range names {
		out[i].Err = errGroupOmitted
		found[name] = &out[i]
	}
	for some := range slices.Chunk(names, rereadGroups) {
		a.fetchAll(ctx, some, found)
	}
	for some := range slices.Chunk(names, rereadGroups) {
		a.fetchStable(ctx, some, found, also)
	}
	return out
}

// fetchAll asks for all that groups have committed, as a client would read it.
func (a *Admin) fetchAll(ctx context.Context, names []string, found map[string]*CommittedNow) {
	req := kmsg.NewPtrOffsetFetchRequest()
	for _, name := range names {
		g := kmsg.NewOffsetFetchRequestGroup()
		g.Group = name // and no topics: all of them
		req.Groups = append(req.Groups, g)
	}
	a.fetch(ctx, req, found, func(c *CommittedNow, topic string, id uuid.UUID, p *kmsg.OffsetFetchResponseGroupTopicPartition) {
		answer := OffsetAnswer{OffsetKey: OffsetKey{Topic: topic, Partition: p.Partition}}
		answer.take(p)
		switch {
		case answer.Err != nil:
			c.Err = fmt.Errorf("committed offset of %s/%d: %w", ledger.Spell(topic), p.Partition, answer.Err)
		case answer.Exists:
			answer.Row.TopicID = id
			c.Rows = append(c.Rows, answer.Row)
		}
	})
}

// fetchStable asks again, and only for offsets that nothing can change any more: what is refused
// is pending.
func (a *Admin) fetchStable(ctx context.Context, names []string, found map[string]*CommittedNow, also []ledger.TopicPartition) {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.RequireStable = true
	for _, name := range names {
		c := found[name]
		wanted := map[string][]int32{}
		for i := range c.Rows {
			wanted[c.Rows[i].Topic] = append(wanted[c.Rows[i].Topic], c.Rows[i].Partition)
		}
		for _, tp := range also {
			if !slices.Contains(wanted[tp.Topic], tp.Partition) {
				wanted[tp.Topic] = append(wanted[tp.Topic], tp.Partition)
			}
		}
		if c.Err != nil || len(wanted) == 0 {
			continue
		}
		g := kmsg.NewOffsetFetchRequestGroup()
		g.Group = name
		for topic, partitions := range wanted {
			t := kmsg.NewOffsetFetchRequestGroupTopic()
			t.Topic, t.Partitions = topic, partitions
			g.Topics = append(g.Topics, t)
		}
		req.Groups = append(req.Groups, g)
	}
	if len(req.Groups) == 0 {
		return
	}
	a.fetch(ctx, req, found, func(c *CommittedNow, topic string, _ uuid.UUID, p *kmsg.OffsetFetchResponseGroupTopicPartition) {
		if errors.Is(kerr.ErrorForCode(p.ErrorCode), kerr.UnstableOffsetCommit) {
			c.Pending = append(c.Pending, ledger.TopicPartition{Topic: topic, Partition: p.Partition})
		}
	})
}

// fetch asks the coordinators and hands over what they say of each partition. The id of a topic
// is the broker's own from version 10 on.
func (a *Admin) fetch(ctx context.Context, req *kmsg.OffsetFetchRequest, found map[string]*CommittedNow,
	take func(*CommittedNow, string, uuid.UUID, *kmsg.OffsetFetchResponseGroupTopicPartition)) {
	for _, shard := range a.client.RequestSharded(ctx, req) {
		asked, resp, err := answerOf[*kmsg.OffsetFetchRequest, *kmsg.OffsetFetchResponse](shard)
		if err != nil {
			for i := range asked.Groups {
				found[asked.Groups[i].Group].Err = err
			}
			continue
		}
		for i := range resp.Groups {
			g := &resp.Groups[i]
			c := found[g.Group]
			if c == nil {
				continue
			}
			err := kerr.ErrorForCode(g.ErrorCode)
			if errors.Is(err, kerr.UnstableOffsetCommit) && req.RequireStable {
				continue // told by partition too, by every broker that tells it by group
			}
			if c.Err = err; errors.Is(err, kerr.GroupIDNotFound) {
				c.Err = nil
			}
			for j := range g.Topics {
				t := &g.Topics[j]
				var id uuid.UUID
				if resp.Version >= 10 {
					id = t.TopicID
				}
				for k := range t.Partitions {
					take(c, t.Topic, id, &t.Partitions[k])
				}
			}
		}
	}
}
