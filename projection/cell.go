package projection

import (
	"math"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/offsetledger/offsetledger/ledger"
)

// cell is what the State keeps of one (group, topic, partition). There may be millions of
// them, so it is packed: facts that few partitions have live in the group's rare tables.
type cell struct {
	at int64 // the committed offset; after a deletion the one that went away
	// position is the source position last applied, kept after a tombstone, or noPosition.
	position  int64
	seq       uint64 // of the record that applied last
	commit    ledger.Time
	effective ledger.Time
	metadata  string
	still     uint32 // milliseconds from the row that last moved `at` to effective, stops at its maximum
	rate      uint32 // fastest forward move seen, in offsets per second, stops at rateMost
	partition int32
	epoch     ledger.Epoch
	topicID   uint16 // index into groupTopic.ids
	owner     uint16 // index into group.owners: the member that alone has it assigned
	flags     cellFlags
	source    uint8 // ledger.SourceKind of the row that applied last
	cause     uint8 // ledger.Cause of the deletion
	samples   uint8 // forward moves that rate was taken from, stops at its maximum
}

const noPosition = -1

type cellFlags uint8

const (
	flagExists     cellFlags = 1 << iota // a client can read at
	flagHad                              // at was readable once
	flagGone                             // there was a tombstone since
	flagInferred                         // cause was concluded
	flagOldTopic                         // the topic was made again or deleted since the row
	flagTruncated                        // the broker lost the row; what it has now is still to be told
	flagFast                             // the move before was too fast to be reading, or so it seemed
	flagUnreadable                       // a later record of the key could not be decoded
)

func (c *cell) has(f cellFlags) bool { return c.flags&f != 0 }

// visible is the offset that a client can read.
func (c *cell) visible() Value {
	if !c.has(flagExists) {
		return Value{}
	}
	return Value{At: c.at, Exists: true}
}

// moved is when the offset last changed; not later than the answer if that was very long ago.
func (c *cell) moved() ledger.Time {
	ms, ok := c.effective.Millis()
	if !ok {
		return ledger.Time{}
	}
	return ledger.AtMillis(ms - int64(c.still))
}

// stay notes that the offset was committed again at a moment.
func (c *cell) stay(at ledger.Time) {
	c.still = uint32(min(int64(c.still)+min(elapsed(c.effective, at), math.MaxUint32), math.MaxUint32))
}

// groupTopic holds a group's partitions of one topic, sorted by partition. A sorted slice
// and not one indexed by partition, because a damaged record can claim any number.
type groupTopic struct {
	name  string
	cells []cell
	ids   []uuid.UUID // the topic ids that rows named; the first is the unknown one
	id    uint16      // index of the one seen last
}

// find returns the index of partition, or where it would have to be. Most topics are whole,
// and then the index is the partition.
func (t *groupTopic) find(partition int32) (int, bool) {
	if i := int(partition); i >= 0 && i < len(t.cells) && t.cells[i].partition == partition {
		return i, true
	}
	return slices.BinarySearchFunc(t.cells, partition, func(c cell, p int32) int { return int(c.partition) - int(p) })
}

// insert makes room at index i for partition; more is how many are likely to follow. It
// grows by what is needed and an eighth, since doubling would waste half the memory.
func (t *groupTopic) insert(i int, partition int32, more int) *cell {
	if len(t.cells) == cap(t.cells) {
		grown := make([]cell, len(t.cells), len(t.cells)+1+more+len(t.cells)/8)
		copy(grown, t.cells)
		t.cells = grown
	}
	t.cells = slices.Insert(t.cells, i, cell{partition: partition, position: noPosition})
	return &t.cells[i]
}

// idIndex returns the index of a topic id, adding it when it is new.
func (t *groupTopic) idIndex(id uuid.UUID) uint16 {
	if t.ids[t.id] == id {
		return t.id
	}
	i := slices.Index(t.ids, id)
	if i < 0 && len(t.ids) < 1<<16 {
		i = len(t.ids)
		t.ids = append(t.ids, id)
	}
	t.id = uint16(max(i, 0))
	return t.id
}

// topic returns the group's partitions of a topic, or nil.
func (g *group) topic(name string) *groupTopic {
	if i, ok := g.findTopic(name); ok {
		return g.topics[i]
	}
	return nil
}

func (g *group) findTopic(name string) (int, bool) {
	return slices.BinarySearchFunc(g.topics, name, func(t *groupTopic, name string) int { return strings.Compare(t.name, name) })
}

func (g *group) makeTopic(name string) *groupTopic {
	i, ok := g.findTopic(name)
	if !ok {
		g.topics = slices.Insert(g.topics, i, &groupTopic{name: name, ids: make([]uuid.UUID, 1, 2)})
	}
	return g.topics[i]
}

// cells calls visit for every partition of the group.
func (g *group) cells(visit func(*groupTopic, *cell)) {
	for _, t := range g.topics {
		for i := range t.cells {
			visit(t, &t.cells[i])
		}
	}
}
