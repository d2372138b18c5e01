package replay

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/offsetledger/offsetledger/ledger"
)

// Inquiry is what a plan has to know of the present. Somebody asks Kafka and answers with
// [Facts]; where no Kafka can be asked, [LedgerFacts] answers from what was recorded.
type Inquiry struct {
	Groups []string // their state, members and all that they have committed
	// Topics are to be told with all their partitions, and so are those of Partitions and those
	// that the groups have committed to.
	Topics     []string
	Partitions []ledger.TopicPartition
	Epochs     []EpochEnd // ends of leader epochs to be found; End is not looked at
	// RecordTime is the time for which the first record at or after it is to be found, in every
	// partition; unknown: none is.
	RecordTime ledger.Time
}

// EpochEnd is where the log of a partition ends that was written under a leader epoch and those
// before it.
type EpochEnd struct {
	Topic     string
	Partition int32
	Epoch     ledger.Epoch
	End       int64
}

// Facts are what is true of Kafka at a moment. Groups and Topics are sorted by name, and what is
// in them by topic and partition: see [Facts.Sort].
type Facts struct {
	KafkaClusterID string      // as the brokers report it; empty if unknown
	At             ledger.Time // when they were asked; of facts of the ledger, what they are as old as, if known
	FromLedger     bool        // no Kafka has answered: there are no epochs, and bounds are old
	Problem        string      // why Kafka did not answer; empty if it was not asked, or did
	// Retention is for how long the broker keeps the offsets of an empty group; 0 is unknown.
	Retention time.Duration
	Groups    []GroupFacts
	Topics    []TopicFacts
}

// GroupFacts are what is true of one group. A group that does not exist is among the facts too.
type GroupFacts struct {
	Name   string
	Exists bool
	State  string // in Kafka's words: Empty, Stable, PreparingRebalance, Dead, …
	Type   ledger.GroupType
	// EmptySince is since when a group has no members; unknown if it has some, or if nobody
	// knows. Kafka does not tell it: it is taken from the ledger.
	EmptySince ledger.Time
	// Simple says that no member was ever in it, as far as is known: its offsets expire by the
	// time of their commit, as those of a KIP-848 group do.
	Simple  bool
	Members []ledger.Member
	Rows    []ledger.Offset // committed: offset, epoch and metadata of each partition
	// Pending are partitions with an offset that an open transaction may still commit.
	Pending []ledger.TopicPartition
	Problem string // why the group could not be asked; empty if it could
}

// TopicFacts are what is true of one topic. A topic that does not exist is among the facts too.
type TopicFacts struct {
	Name       string
	Exists     bool
	ID         uuid.UUID // the zero UUID is unknown
	Partitions []PartitionFacts
	Problem    string // why the topic could not be asked; empty if it could
}

// PartitionFacts are what is true of one partition.
type PartitionFacts struct {
	Partition int32
	Log       *Bounds      // nil if they could not be had
	Epoch     ledger.Epoch // of the present leader
	Epochs    []EpochEnd   // of those that the Inquiry names; without one that the brokers do not know
	Found     *FoundRecord // of RecordTime; nil if no record is at or after it
}

// FoundRecord is the first record at or after a time.
type FoundRecord struct {
	Offset int64       `json:"offset"`
	Time   ledger.Time `json:"time"` // its own
}

// Group finds a group; nil if the facts say nothing of it.
func (f *Facts) Group(name string) *GroupFacts {
	i, ok := slices.BinarySearchFunc(f.Groups, name, func(g GroupFacts, name string) int { return strings.Compare(g.Name, name) })
	if !ok {
		return nil
	}
	return &f.Groups[i]
}

// Topic finds a topic; nil if the facts say nothing of it.
func (f *Facts) Topic(name string) *TopicFacts {
	i, ok := slices.BinarySearchFunc(f.Topics, name, func(t TopicFacts, name string) int { return strings.Compare(t.Name, name) })
	if !ok {
		return nil
	}
	return &f.Topics[i]
}

// Find finds a partition of a topic; nil if it does not exist or nothing is known of it.
func (t *TopicFacts) Find(partition int32) *PartitionFacts {
	i, ok := slices.BinarySearchFunc(t.Partitions, partition, func(p PartitionFacts, n int32) int { return int(p.Partition) - int(n) })
	if !ok {
		return nil
	}
	return &t.Partitions[i]
}

// Row finds what the group has committed for a partition; nil if nothing.
func (g *GroupFacts) Row(tp ledger.TopicPartition) *ledger.Offset {
	i, ok := slices.BinarySearchFunc(g.Rows, tp, func(r ledger.Offset, tp ledger.TopicPartition) int {
		return comparePartitions(ledger.TopicPartition{Topic: r.Topic, Partition: r.Partition}, tp)
	})
	if !ok {
		return nil
	}
	return &g.Rows[i]
}

// end is where an epoch ends, false if that is not known.
func (p *PartitionFacts) end(e ledger.Epoch) (int64, bool) {
	for _, x := range p.Epochs {
		if x.Epoch == e {
			return x.End, true
		}
	}
	return 0, false
}

// Sort puts everything in the order that the Facts have to be in.
func (f *Facts) Sort() {
	slices.SortFunc(f.Groups, func(a, b GroupFacts) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(f.Topics, func(a, b TopicFacts) int { return strings.Compare(a.Name, b.Name) })
	for i := range f.Groups {
		g := &f.Groups[i]
		slices.SortFunc(g.Rows, func(a, b ledger.Offset) int {
			return comparePartitions(ledger.TopicPartition{Topic: a.Topic, Partition: a.Partition},
				ledger.TopicPartition{Topic: b.Topic, Partition: b.Partition})
		})
		slices.SortFunc(g.Pending, comparePartitions)
		slices.SortFunc(g.Members, func(a, b ledger.Member) int { return strings.Compare(a.ID, b.ID) })
	}
	for i := range f.Topics {
		slices.SortFunc(f.Topics[i].Partitions, func(a, b PartitionFacts) int { return int(a.Partition) - int(b.Partition) })
	}
}

func comparePartitions(a, b ledger.TopicPartition) int {
	if c := strings.Compare(a.Topic, b.Topic); c != 0 {
		return c
	}
	return int(a.Partition) - int(b.Partition)
}
