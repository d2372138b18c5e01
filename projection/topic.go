package projection

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/offsetledger/offsetledger/ledger"
)

// topic is what is known of a topic, apart from what groups did with it.
type topic struct {
	Topic
	marks []mark // sorted by partition
}

func (c *cluster) topic(name string) *topic {
	t := c.topics[name]
	if t == nil {
		t = &topic{Topic: Topic{Name: name}}
		c.topics[name] = t
	}
	return t
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

// Committed returns the partitions in which some group of a cluster has an offset, in no order.
func (s *State) Committed(cluster string) []ledger.TopicPartition {
	c := s.clusters[cluster]
	if c == nil {
		return nil
	}
	seen := map[ledger.TopicPartition]struct{}{}
	for _, g := range c.groups {
		g.cells(func(t *groupTopic, cl *cell) {
			if cl.has(flagExists) {
				seen[ledger.TopicPartition{Topic: t.name, Partition: cl.partition}] = struct{}{}
			}
		})
	}
	return slices.Collect(maps.Keys(seen))
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
