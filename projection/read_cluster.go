package projection

import (
	"maps"
	"slices"

	"github.com/offsetledger/offsetledger/ledger"
)

// Clusters returns the names of all clusters, sorted.
func (s *State) Clusters() []string { return slices.Sorted(maps.Keys(s.clusters)) }

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
