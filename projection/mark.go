package projection

import (
	"cmp"
	"math"
	"slices"

	"github.com/google/uuid"

	"github.com/offsetledger/offsetledger/ledger"
)

// mark is the last observation of one partition's log.
type mark struct {
	start, end int64
	told       ledger.Time
	partition  int32
	// unstable is how far the last stable offset is behind end; an open transaction more than
	// four billion offsets back counts as that far.
	unstable uint32
}

// observed is when a shard of topics was last observed.
type observed struct {
	at ledger.Time
	// complete is when all that is observed of it was last told. What was not is no longer
	// observed, since no group had an offset there.
	complete ledger.Time
	// answered is when the brokers last answered for the partitions that they did not answer
	// for at that time; nil if they did for all.
	answered map[ledger.TopicPartition]ledger.Time
}

func (o *observed) fold(w *ledger.Watermarks, at ledger.Time) {
	before := *o
	*o = observed{at: at, complete: before.complete}
	if w.Complete {
		o.complete = at
	}
	for i := range w.Unanswered {
		for _, p := range w.Unanswered[i].Partitions {
			tp := ledger.TopicPartition{Topic: w.Unanswered[i].Topic, Partition: p}
			if o.answered == nil {
				o.answered = map[ledger.TopicPartition]ledger.Time{}
			}
			o.answered[tp] = before.of(tp)
		}
	}
}

// of is when the brokers last answered for a partition that is observed.
func (o *observed) of(tp ledger.TopicPartition) ledger.Time {
	if at, ok := o.answered[tp]; ok {
		return at
	}
	return o.at
}

// foldWatermarks takes over one observation of a shard. What it leaves out had not changed.
func (c *cluster) foldWatermarks(ev *ledger.Event) {
	if ev.Watermarks == nil {
		return
	}
	at := ev.Time
	if ev.NotBefore.Known() {
		at = ev.NotBefore // when the brokers were asked: they took long to answer
	}
	if shard := ev.Watermarks.Shard; shard >= 0 && int(shard) < len(c.observed) {
		c.observed[shard].fold(ev.Watermarks, at)
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
		m.start, m.end, m.told = row.LogStart, row.LogEnd, at
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

// mark returns the mark of the first row. If there is none yet, it makes those of all rows of the same
// topic that follow: one by one, those of a random order would move each other aside, and a hundred
// thousand of them would take seconds.
func (t *topic) mark(rows []ledger.Watermark) *mark {
	i, ok := t.findMark(rows[0].Partition)
	if !ok {
		t.makeMarks(rows)
		i, _ = t.findMark(rows[0].Partition)
	}
	return &t.marks[i]
}

func (t *topic) makeMarks(rows []ledger.Watermark) {
	var fresh []mark
	for i := range rows {
		if rows[i].Topic != rows[0].Topic || rows[i].TopicID != rows[0].TopicID {
			break
		}
		if _, ok := t.findMark(rows[i].Partition); !ok {
			fresh = append(fresh, mark{partition: rows[i].Partition})
		}
	}
	byPartition := func(a, b mark) int { return cmp.Compare(a.partition, b.partition) }
	slices.SortFunc(fresh, byPartition)
	fresh = slices.CompactFunc(fresh, func(a, b mark) bool { return a.partition == b.partition })
	n := len(t.marks)
	if n+len(fresh) > cap(t.marks) {
		t.marks = append(make([]mark, 0, n+len(fresh)+n/8), t.marks...)
	}
	t.marks = append(t.marks, fresh...)
	for to := len(t.marks) - 1; len(fresh) > 0; to-- { // merged from the end, where there is room
		if last := fresh[len(fresh)-1]; n == 0 || t.marks[n-1].partition < last.partition {
			t.marks[to], fresh = last, fresh[:len(fresh)-1]
		} else {
			t.marks[to] = t.marks[n-1]
			n--
		}
	}
}
