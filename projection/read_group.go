package projection

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/offsetledger/offsetledger/ledger"
)

// Groups returns all groups of a cluster, deleted ones too, sorted by name. It is empty for a
// cluster that is not known.
func (s *State) Groups(cluster string) []Group {
	c := s.clusters[cluster]
	if c == nil {
		return nil
	}
	var out []Group
	for _, g := range c.groups {
		if g.ever {
			out = append(out, g.read(c))
		}
	}
	slices.SortFunc(out, func(a, b Group) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Group returns one group. It is false if the group was never seen.
func (s *State) Group(cluster, name string) (Group, bool) {
	c, g := s.find(cluster, name)
	if g == nil || !g.ever {
		return Group{}, false
	}
	return g.read(c), true
}

func (s *State) find(cluster, name string) (*cluster, *group) {
	c := s.clusters[cluster]
	if c == nil {
		return nil, nil
	}
	return c, c.groups[name]
}

// Partitions returns what a group has, had or waits for, sorted by topic and partition: also
// partitions whose offset went away, and those that only an open transaction names.
func (s *State) Partitions(cluster, name string) []Partition {
	c, g := s.find(cluster, name)
	if g == nil {
		return c.onlyPending(name)
	}
	pending := c.pending(name)
	var out []Partition
	g.cells(func(t *groupTopic, cl *cell) {
		key := ledger.TopicPartition{Topic: t.name, Partition: cl.partition}
		out = append(out, c.readCell(g, t, cl, pending[key]))
		delete(pending, key)
	})
	for key, p := range pending {
		out = append(out, Partition{Topic: key.Topic, Partition: key.Partition, Position: noPosition, Pending: &p.Pending})
	}
	slices.SortFunc(out, comparePartitions)
	return out
}

func comparePartitions(a, b Partition) int {
	if n := strings.Compare(a.Topic, b.Topic); n != 0 {
		return n
	}
	return int(a.Partition) - int(b.Partition)
}

// Partition returns one partition of a group. It is false if nothing was ever seen of it.
func (s *State) Partition(cluster, name, topic string, partition int32) (Partition, bool) {
	c, g := s.find(cluster, name)
	if c == nil {
		return Partition{}, false
	}
	waits := c.pending(name)[ledger.TopicPartition{Topic: topic, Partition: partition}]
	if g != nil {
		if t := g.topic(topic); t != nil {
			if i, ok := t.find(partition); ok {
				return c.readCell(g, t, &t.cells[i], waits), true
			}
		}
	}
	if waits == nil {
		return Partition{}, false
	}
	return Partition{Topic: topic, Partition: partition, Position: noPosition, Pending: &waits.Pending}, true
}

func (c *cluster) readCell(g *group, t *groupTopic, cl *cell, waits *waiting) Partition {
	p := Partition{
		Topic: t.name, TopicID: t.ids[cl.topicID], Partition: cl.partition, Committed: cl.visible(),
		LeaderEpoch: cl.epoch, Metadata: cl.metadata, CommitTime: cl.commit, Effective: cl.effective, Moved: cl.moved(),
		Seq: cl.seq, Source: ledger.SourceKind(cl.source), Position: cl.position,
		Unreadable: cl.has(flagUnreadable),
	}
	if !p.Committed.Exists {
		p.LeaderEpoch, p.Metadata = ledger.Epoch{}, ""
		if cl.has(flagHad) {
			p.Before = Value{At: cl.at, Exists: true}
		}
		if cl.has(flagGone) {
			p.DeletedAt, p.Cause, p.CauseInferred = cl.effective, ledger.Cause(cl.cause), cl.has(flagInferred)
		}
	} else if known := c.topics[t.name]; cl.has(flagOldTopic) ||
		known != nil && known.ID != uuid.Nil && p.TopicID != uuid.Nil && known.ID != p.TopicID {
		p.OtherTopic = true
	}
	if p.Owner = g.members.ownerWho(cl.owner); p.Owner != nil {
		p.Assigned = true
	}
	if waits != nil && waits.position > cl.position {
		p.Pending = &waits.Pending
	}
	if g.rare != nil {
		key := ledger.TopicPartition{Topic: t.name, Partition: cl.partition}
		p.ExpireTime, p.NotBefore = g.rare.expire[key], g.rare.notBefore[key]
		if span, ok := g.rare.unsure[key]; ok && span.To.After(cl.effective) {
			p.Unsure = &span
		}
	}
	return p
}

// waiting is the pending offset of a key that would apply last.
type waiting struct {
	Pending
	position int64
}

// pending finds what open transactions hold for a group, by key.
func (c *cluster) pending(name string) map[ledger.TopicPartition]*waiting {
	out := map[ledger.TopicPartition]*waiting{}
	for _, l := range c.capture.lines {
		for i := range l.pending {
			for _, row := range l.pending[i].Rows {
				if row.Group != name {
					continue
				}
				key := ledger.TopicPartition{Topic: row.Topic, Partition: row.Partition}
				if w := out[key]; w == nil || w.position < row.Position {
					out[key] = &waiting{Pending{At: row.At, Since: l.pending[i].Since}, row.Position}
				}
			}
		}
	}
	return out
}

func (c *cluster) onlyPending(name string) []Partition {
	if c == nil {
		return nil
	}
	var out []Partition
	for key, p := range c.pending(name) {
		out = append(out, Partition{Topic: key.Topic, Partition: key.Partition, Position: noPosition, Pending: &p.Pending})
	}
	slices.SortFunc(out, comparePartitions)
	return out
}

// Checkpoint returns the sequence of a group's checkpoint of that name; of several the last.
func (s *State) Checkpoint(cluster, group, name string) (uint64, bool) {
	_, g := s.find(cluster, group)
	if g == nil || g.rare == nil {
		return 0, false
	}
	seq, ok := g.rare.checkpoints[name]
	return seq, ok
}
