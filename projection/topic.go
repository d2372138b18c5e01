package projection

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/google/uuid"

	"github.com/offsetledger/offsetledger/ledger"
)

// topic is what is known of a topic, apart from what groups did with it.
type topic struct {
	Topic
	marks []mark // sorted by partition
}

// mark is the last observation of one partition's log.
type mark struct {
	start, end int64
	changed    ledger.Time
	partition  int32
	// unstable is how far the last stable offset is behind end; an open transaction more than
	// four billion offsets back counts as that far.
	unstable uint32
}

func (c *cluster) topic(name string) *topic {
	t := c.topics[name]
	if t == nil {
		t = &topic{Topic: Topic{Name: name}}
		c.topics[name] = t
	}
	return t
}

// foldWatermarks takes over one observation of a shard. Rows that it leaves out had not
// changed.
func (c *cluster) foldWatermarks(ev *ledger.Event) {
	if ev.Watermarks == nil {
		return
	}
	if shard := ev.Watermarks.Shard; shard >= 0 && int(shard) < len(c.observed) {
		c.observed[shard] = ev.Time
	}
	rows := ev.Watermarks.Rows
	var t *topic
	for i := range rows {
		row := &rows[i]
		if t == nil || t.Name != row.Topic {
			t = c.topic(row.Topic)
		}
		if row.TopicID != uuid.Nil && row.TopicID != t.ID {
			t.marks = nil // a topic of the same name, but not the same log
			c.identify(t, row.TopicID)
		}
		m := t.mark(rows[i:])
		m.start, m.end, m.changed = row.LogStart, row.LogEnd, ev.Time
		m.unstable = uint32(min(uint64(max(row.LogEnd, 0)-min(max(row.LastStable, 0), max(row.LogEnd, 0))), math.MaxUint32))
	}
}

func (m *mark) stable() int64 { return m.end - int64(m.unstable) }

func (t *topic) findMark(partition int32) (int, bool) {
	if i := int(partition); i >= 0 && i < len(t.marks) && t.marks[i].partition == partition {
		return i, true
	}
	return slices.BinarySearchFunc(t.marks, partition, func(m mark, p int32) int { return cmp.Compare(m.partition, p) })
}

// mark returns the mark of the first row, making room for the rows of the topic that follow.
func (t *topic) mark(rows []ledger.Watermark) *mark {
	i, ok := t.findMark(rows[0].Partition)
	if !ok {
		if len(t.marks) == cap(t.marks) {
			more := 1
			for more < len(rows) && rows[more].Topic == t.Name {
				more++
			}
			t.marks = append(make([]mark, 0, len(t.marks)+more+len(t.marks)/8), t.marks...)
		}
		t.marks = slices.Insert(t.marks, i, mark{partition: rows[0].Partition})
	}
	return &t.marks[i]
}

// foldTopic takes over what became of a topic. A topic made again closes the line of every
// offset that was committed to the one before.
func (c *cluster) foldTopic(ev *ledger.Event) {
	info := ev.TopicInfo
	if info == nil {
		return
	}
	t := c.topic(ev.Topic)
	anew := info.Recreated || info.TopicID != uuid.Nil && t.ID != uuid.Nil && info.TopicID != t.ID
	if anew || info.Deleted {
		t.marks = nil
		c.closeOffsets(ev.Topic, info)
	}
	if info.TopicID != uuid.Nil {
		c.identify(t, info.TopicID)
	}
	if info.Deleted {
		t.DeletedAt, t.Partitions, t.Counted = ev.Time, 0, true
		return
	}
	if anew || t.DeletedAt.Known() {
		t.Recreated = ev.Time
	}
	t.DeletedAt = ledger.Time{}
	t.Partitions, t.Counted = info.Partitions, true
}

// identify notes the id of a topic. Members of KIP-848 groups have their partitions by it, and
// rows of brokers before 4.1 name none: groups that committed before it was known learn now
// who has what.
func (c *cluster) identify(t *topic, id uuid.UUID) {
	if t.ID == id {
		return
	}
	t.ID = id
	for _, g := range c.groups {
		if g.members.typ != ledger.GroupTypeConsumer || len(g.members.members) == 0 {
			continue
		}
		if of := g.topic(t.Name); of != nil {
			g.assignOwners(c, of)
		}
	}
}

// closeOffsets marks the offsets of a topic that is no more. A row that already names the
// new topic by its id stays open.
func (c *cluster) closeOffsets(name string, info *ledger.TopicInfo) {
	for _, g := range c.groups {
		t := g.topic(name)
		if t == nil {
			continue
		}
		for i := range t.cells {
			id := t.ids[t.cells[i].topicID]
			if info.Deleted || id == uuid.Nil || id != info.TopicID {
				t.cells[i].flags |= flagOldTopic
			}
		}
	}
}

// foldOpaque looks whether an undecodable record is about a known offset: then what the
// broker answers for it is no longer known. Keys are version 0 or 1, then group and topic,
// each after its length in two bytes, then the partition in four.
func (c *cluster) foldOpaque(ev *ledger.Event) {
	if ev.Opaque == nil {
		return
	}
	key := ev.Opaque.Key
	if len(key) < 2 || binary.BigEndian.Uint16(key) > 1 {
		return
	}
	name, key, ok1 := cutString(key[2:])
	topic, key, ok2 := cutString(key)
	if !ok1 || !ok2 || len(key) != 4 {
		return
	}
	g := c.groups[name]
	if g == nil {
		return
	}
	if t := g.topic(topic); t != nil {
		if i, ok := t.find(int32(binary.BigEndian.Uint32(key))); ok {
			t.cells[i].flags |= flagUnreadable
		}
	}
}

func cutString(b []byte) (string, []byte, bool) {
	if len(b) < 2 {
		return "", nil, false
	}
	n := int(binary.BigEndian.Uint16(b))
	if len(b)-2 < n {
		return "", nil, false
	}
	return string(b[2 : 2+n]), b[2+n:], true
}
