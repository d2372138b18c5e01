package projection

import (
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/offsetledger/offsetledger/ledger"
)

// Clusters returns the names of all clusters, sorted.
func (s *State) Clusters() []string { return slices.Sorted(maps.Keys(s.clusters)) }

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

// Watermark returns the last observation of a partition's log. It is false if there is none,
// or none since the topic was deleted or made again.
func (s *State) Watermark(cluster, topic string, partition int32) (Watermark, bool) {
	c := s.clusters[cluster]
	if c == nil {
		return Watermark{}, false
	}
	t := c.topics[topic]
	if t == nil {
		return Watermark{}, false
	}
	i, ok := t.findMark(partition)
	if !ok {
		return Watermark{}, false
	}
	m, shard, tp := &t.marks[i], &c.observed[ledger.WatermarkShard(topic)], ledger.TopicPartition{Topic: topic, Partition: partition}
	w := Watermark{LogStart: m.start, LastStable: m.stable(), LogEnd: m.end, Told: m.told, Observed: m.told}
	if w.Old = m.told.Before(shard.complete); !w.Old {
		_, w.Old = shard.answered[tp]
		w.Observed = ledger.MaxTime(m.told, shard.of(tp))
	}
	return w, true
}

// Topic returns what is known of a topic. It is false if nothing was recorded of it.
func (s *State) Topic(cluster, name string) (Topic, bool) {
	if c := s.clusters[cluster]; c != nil {
		if t := c.topics[name]; t != nil {
			return t.Topic, true
		}
	}
	return Topic{}, false
}

// Topics returns all topics of a cluster that something was recorded of, sorted by name.
func (s *State) Topics(cluster string) []Topic {
	c := s.clusters[cluster]
	if c == nil {
		return nil
	}
	var out []Topic
	for _, name := range slices.Sorted(maps.Keys(c.topics)) {
		out = append(out, c.topics[name].Topic)
	}
	return out
}

// LastSeq is the sequence of the last record about a group, or about any group of a cluster,
// that was folded and not passed over; 0 if there is none.
func (s *State) LastSeq(cluster string, group *string) uint64 {
	c := s.clusters[cluster]
	switch {
	case c == nil:
		return 0
	case group == nil:
		return c.lastSeq()
	}
	if g := c.groups[*group]; g != nil {
		return g.lastSeq
	}
	return 0
}

func (c *cluster) lastSeq() uint64 {
	last := uint64(0)
	for _, g := range c.groups {
		last = max(last, g.lastSeq)
	}
	return last
}

// Coverage returns how far a cluster is known. It is false for one that is not known at all.
func (s *State) Coverage(cluster string) (Coverage, bool) {
	c := s.clusters[cluster]
	if c == nil {
		return Coverage{}, false
	}
	k := &c.capture
	cov := Coverage{
		KafkaClusterID: k.kafkaID, SourceTopicID: k.topicID, Source: k.source, Began: k.began, FirstSeq: k.firstSeq,
		Through: k.through((*line).complete), Lines: k.sortedLines(), Opaque: k.opaque,
	}
	if cov.Source == 0 {
		cov.Source = ledger.SourceManager
	}
	if !cov.Began.Known() {
		cov.Began = k.first
	}
	return cov, true
}

// Past reports whether every fact up to the moment t is folded already: each source
// partition was read beyond it. Without source partitions there is no telling.
func (s *State) Past(cluster string, t ledger.Time) bool {
	c := s.clusters[cluster]
	if c == nil || !c.capture.allLines || len(c.capture.lines) == 0 || !ledger.AtTime(s.appended).After(t) {
		return false
	}
	for _, l := range c.capture.lines {
		if !l.read().After(t) {
			return false
		}
	}
	return true
}

// Cursor returns where a shard of capture has to go on. It is false if it never began.
func (s *State) Cursor(cluster, shard string) (Cursor, bool) {
	c := s.clusters[cluster]
	if c == nil {
		return Cursor{}, false
	}
	seq, ok := c.capture.cursorSeq[shard]
	if !ok {
		return Cursor{}, false
	}
	cur := Cursor{Seq: seq, KafkaClusterID: c.capture.kafkaID, TopicID: c.capture.topicID}
	for _, l := range c.capture.sortedLines() {
		if l.Shard == shard {
			cur.Lines = append(cur.Lines, l.SourceLine)
		}
	}
	return cur, true
}
