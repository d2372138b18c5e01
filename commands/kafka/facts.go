package kafka

import (
	"context"
	"math"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// ViewFacts are the [GroupFacts] of a cluster as a live fold knows them.
type ViewFacts struct {
	View    *projection.View
	Cluster string
}

// RetainedFrom answers from the fold as it is now.
func (f ViewFacts) RetainedFrom(group string, tp ledger.TopicPartition) (from ledger.Time, known bool) {
	f.View.Read(func(s *projection.State) { from, known = s.RetainedFrom(f.Cluster, group, tp) })
	return from, known
}

// AppliedFrom waits until the fold has come to sequence seq.
func (f ViewFacts) AppliedFrom(ctx context.Context, seq uint64, partition int32, position int64) ([]OffsetKey, error) {
	if err := f.View.WaitFor(ctx, seq); err != nil {
		return nil, err
	}
	var keys []OffsetKey
	f.View.Read(func(s *projection.State) {
		for _, k := range s.AppliedFrom(f.Cluster, partition, position) {
			keys = append(keys, OffsetKey{Group: k.Group, Topic: k.Topic, Partition: k.Partition})
		}
	})
	return keys, nil
}

// Committed returns the partitions in which some group has an offset.
func (f ViewFacts) Committed() (all []ledger.TopicPartition) {
	f.View.Read(func(s *projection.State) { all = s.Committed(f.Cluster) })
	return all
}

// TakeUp makes capture go on where the folded ledger says that it stands: it sets Resume,
// Topics and Committed. The state must hold everything that is in the ledger.
func (c *TailConfig) TakeUp(s *projection.State) {
	if at, ok := s.Cursor(c.Cluster, ledger.CursorShardAll); ok {
		c.Resume = Resume{Seq: at.Seq, Cursor: ledger.Cursor{
			Shard: ledger.CursorShardAll, KafkaClusterID: at.KafkaClusterID, TopicID: at.TopicID,
			Complete: true, Lines: at.Lines,
		}, Told: toldBehindHoles(s, c.Cluster, at.Lines)}
	}
	c.Topics = map[string]ledger.TopicInfo{}
	for _, t := range s.Topics(c.Cluster) {
		c.Topics[t.Name] = ledger.TopicInfo{TopicID: t.ID, Partitions: t.Partitions, Deleted: t.DeletedAt.Known()}
	}
	c.Committed = s.Committed(c.Cluster)
}

// toldBehindHoles returns the keys of which there is a gap behind a hole of lines.
func toldBehindHoles(s *projection.State, cluster string, lines []ledger.SourceLine) map[int32][]OffsetKey {
	told := map[int32][]OffsetKey{}
	for i := range lines {
		h := lines[i].Hole
		if h == nil {
			continue
		}
		for _, gap := range s.Gaps(cluster, nil, projection.Interval{From: h.From, To: ledger.AtMillis(math.MaxInt64)}) {
			if !gap.OfGroup || gap.SourcePartition != lines[i].Partition || gap.First != h.First || gap.From != h.From {
				continue
			}
			for _, k := range gap.Keys {
				told[gap.SourcePartition] = append(told[gap.SourcePartition], OffsetKey{Group: gap.Group, Topic: k.Topic, Partition: k.Partition})
			}
		}
	}
	return told
}
