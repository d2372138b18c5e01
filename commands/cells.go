package commands

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/offsetledger/offsetledger/ledger"
)

// maxPartition bounds partition numbers, since cells lie in slices by partition. Kafka has no
// topics of a million partitions.
const maxPartition = 1 << 20

// cells finds the cell of a partition. Reading takes no lock: topics and partitions are
// replaced, or set once, and never taken away.
type cells struct {
	topics atomic.Pointer[map[string]*topicCells]

	mu     sync.Mutex // of who adds; guards what follows
	all    []*cell
	sorted bool // all is in order of topic and partition
}

// topicCells are the cells of one topic, by partition. A slot is nil until it is used.
type topicCells struct {
	name  string
	slots atomic.Pointer[[]atomic.Pointer[cell]]
}

// find returns the cell of a partition, nil if there is none.
func (d *cells) find(topic string, partition int32) *cell {
	topics := d.topics.Load()
	if topics == nil {
		return nil
	}
	t := (*topics)[topic]
	if t == nil {
		return nil
	}
	slots := *t.slots.Load()
	if uint(partition) >= uint(len(slots)) {
		return nil
	}
	return slots[partition].Load()
}

// make returns the cell of a partition, which its first use makes.
func (d *cells) make(topic string, partition int32) *cell {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c := d.find(topic, partition); c != nil {
		return c
	}
	t := d.makeTopic(topic)
	slots := *t.slots.Load()
	if n := int(partition) + 1; n > len(slots) {
		grown := make([]atomic.Pointer[cell], max(n, min(2*len(slots), maxPartition)))
		for i := range slots {
			grown[i].Store(slots[i].Load())
		}
		slots = grown
		t.slots.Store(&grown)
	}
	c := &cell{tp: ledger.TopicPartition{Topic: t.name, Partition: partition}}
	slots[partition].Store(c)
	// A slice that was handed out is never written to where it can be read.
	d.all, d.sorted = append(d.all, c), false
	return c
}

func (d *cells) makeTopic(topic string) *topicCells {
	old := d.topics.Load()
	if old != nil && (*old)[topic] != nil {
		return (*old)[topic]
	}
	t := &topicCells{name: strings.Clone(topic)}
	t.slots.Store(new([]atomic.Pointer[cell]))
	topics := map[string]*topicCells{t.name: t}
	if old != nil {
		for name, t := range *old {
			topics[name] = t
		}
	}
	d.topics.Store(&topics)
	return t
}

// list returns all cells, by topic and partition. It is not to be written to.
func (d *cells) list() []*cell {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.sorted {
		d.all = slices.Clone(d.all)
		slices.SortFunc(d.all, func(a, b *cell) int { return compare(a.tp, b.tp) })
		d.sorted = true
	}
	return d.all[:len(d.all):len(d.all)]
}

func compare(a, b ledger.TopicPartition) int {
	return cmp.Or(strings.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
}
