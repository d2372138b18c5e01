package projection

import "github.com/offsetledger/offsetledger/ledger"

// RetainedFrom returns the moment from which the broker counts the retention of a committed
// offset. Of a classic group that is when it became empty; of a simple and of a KIP-848 group
// the commit time. While the group has members it is the unknown Time: the offset cannot
// expire. It is false if the offset is not known, or that moment is not.
//
// The source is the broker's own rule: since Kafka 2.1 the offsets of a classic group count
// from the time of its state alone, whatever was committed to it from outside since.
func (s *State) RetainedFrom(cluster, group string, tp ledger.TopicPartition) (ledger.Time, bool) {
	g, ok := s.Group(cluster, group)
	if !ok {
		return ledger.Time{}, false
	}
	p, ok := s.Partition(cluster, group, tp.Topic, tp.Partition)
	if !ok || !p.Committed.Exists {
		return ledger.Time{}, false
	}
	switch {
	case len(g.Members) > 0:
		return ledger.Time{}, true
	case g.Simple || g.Type != ledger.GroupTypeClassic:
		return p.CommitTime, p.CommitTime.Known()
	}
	return g.Since, g.Since.Known()
}
