package projection

import (
	"cmp"
	"slices"

	"github.com/offsetledger/offsetledger/ledger"
)

// GroupPartition names one committed offset.
type GroupPartition struct {
	Group string
	ledger.TopicPartition
}

// AppliedFrom returns the offsets whose last applied row stands at or above a position of a
// partition of __consumer_offsets, deleted ones included, sorted. When the brokers lose that
// partition's records from there on, these are the offsets to ask for again.
func (s *State) AppliedFrom(cluster string, sourcePartition int32, position int64) []GroupPartition {
	c := s.clusters[cluster]
	if c == nil {
		return nil
	}
	var all []GroupPartition
	for _, g := range c.groups {
		if !g.tailed || g.line != sourcePartition {
			continue
		}
		g.cells(func(t *groupTopic, cl *cell) {
			if cl.position >= position && cl.position != noPosition {
				all = append(all, GroupPartition{g.name, ledger.TopicPartition{Topic: t.name, Partition: cl.partition}})
			}
		})
	}
	slices.SortFunc(all, func(a, b GroupPartition) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return all
}
