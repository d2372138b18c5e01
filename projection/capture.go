package projection

import (
	"cmp"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/offsetledger/offsetledger/ledger"
)

// capture is how far a cluster is known: what the cursors, gaps and undecodable records said.
type capture struct {
	kafkaID   string
	topicID   uuid.UUID
	source    ledger.SourceKind
	firstSeq  uint64
	began     ledger.Time // time of the first cursor
	first     ledger.Time // time of the first record
	polled    ledger.Time // time of the last cursor without lines
	allLines  bool        // a cursor told every source partition
	lines     map[int32]*line
	cursorSeq map[string]uint64 // by shard
	lineGaps  map[int32]*gaps   // by source partition
	groupGaps map[string]*gaps  // of single groups
	opaque    uint64
}

// line is one source partition.
type line struct {
	Line
	// pending are the open transactions as of the moment asked for: those of SourceLine.Open,
	// unless the cursor was later.
	pending []ledger.OpenTransaction
}

// complete is the moment up to which answers never change.
func (l *line) complete() ledger.Time { return l.settled(l.CompleteThrough) }

// read is the moment up to which the line was read, whether or not that was its end.
func (l *line) read() ledger.Time {
	return l.settled(ledger.MaxTime(l.CompleteThrough, l.MaxEffective))
}

// settled is t, or the moment from which records were removed before they were read: until
// capture has found out whose they were, what it says of later moments can change.
func (l *line) settled(t ledger.Time) ledger.Time {
	if l.Hole != nil && l.Hole.From.Before(t) {
		return l.Hole.From
	}
	return t
}

// foldCursor takes over a cursor. Of its open transactions the state speaks only if the
// cursor belongs to the time asked for.
func (c *cluster) foldCursor(rec *ledger.Record, inTime bool) {
	k, cur := &c.capture, rec.Event.Cursor
	if cur == nil {
		return
	}
	if k.lines == nil {
		k.lines, k.cursorSeq = map[int32]*line{}, map[string]uint64{}
		k.began = rec.Event.Time
	}
	k.cursorSeq[cur.Shard] = rec.Seq
	if cur.KafkaClusterID != "" {
		k.kafkaID = cur.KafkaClusterID
	}
	if cur.TopicID != uuid.Nil {
		if k.topicID != uuid.Nil && k.topicID != cur.TopicID {
			c.startSourceAnew(cur.Shard)
		}
		k.topicID = cur.TopicID
	}
	if len(cur.Lines) == 0 {
		k.polled = rec.Event.Time
	} else {
		k.source = ledger.SourceTail
	}
	k.allLines = k.allLines || cur.Complete
	for i := range cur.Lines {
		k.foldLine(&cur.Lines[i], cur.Shard, rec.Seq, inTime)
	}
}

func (k *capture) foldLine(told *ledger.SourceLine, shard string, seq uint64, inTime bool) {
	l := k.lines[told.Partition]
	if l == nil {
		l = &line{}
		k.lines[told.Partition] = l
	}
	open := copyOpen(l.Open, told.Open)
	l.SourceLine, l.Shard, l.Seq = *told, shard, seq
	l.Open = open
	if inTime {
		l.pending = open
	}
}

// copyOpen copies what belongs to the record. The old slice is not written to: a reader or
// the pending side may hold it.
func copyOpen(old, open []ledger.OpenTransaction) []ledger.OpenTransaction {
	if len(open) == 0 {
		return nil
	}
	if slices.EqualFunc(old, open, equalOpen) {
		return old
	}
	open = slices.Clone(open)
	for i := range open {
		open[i].Rows = slices.Clone(open[i].Rows)
	}
	return open
}

func equalOpen(a, b ledger.OpenTransaction) bool {
	return a.ProducerID == b.ProducerID && a.First == b.First && a.Since == b.Since && slices.Equal(a.Rows, b.Rows)
}

// startSourceAnew forgets positions: __consumer_offsets was deleted and made again, and
// counts from 0.
func (c *cluster) startSourceAnew(shard string) {
	maps.DeleteFunc(c.capture.lines, func(_ int32, l *line) bool { return l.Shard == shard })
	for _, g := range c.groups {
		g.cells(func(_ *groupTopic, cl *cell) { cl.position = noPosition })
	}
}

// foldGap notes a gap. If the source partition lost its end, the positions in the range are
// given out again: rows that stood there no longer rank before what comes.
func (c *cluster) foldGap(rec *ledger.Record) {
	ev := &rec.Event
	if ev.Gap == nil {
		return
	}
	gap := Gap{Gap: *ev.Gap, Seq: rec.Seq, Time: ev.Time, Group: ev.Group, Cause: ev.Cause, Reason: ev.Reason}
	for i := range ev.Offsets {
		gap.Keys = append(gap.Keys, ledger.TopicPartition{Topic: ev.Offsets[i].Topic, Partition: ev.Offsets[i].Partition})
	}
	c.capture.addGap(&gap)
	if gap.OfGroup || ev.Cause != ledger.CauseTruncated {
		return
	}
	for _, g := range c.groups {
		if g.tailed && g.line == gap.SourcePartition {
			g.cells(func(_ *groupTopic, cl *cell) {
				if cl.position >= gap.First {
					cl.position = gap.First - 1
					cl.flags |= flagTruncated
				}
			})
		}
	}
}

func (k *capture) addGap(gap *Gap) {
	if k.lineGaps == nil {
		k.lineGaps = map[int32]*gaps{}
	}
	if k.groupGaps == nil {
		k.groupGaps = map[string]*gaps{}
	}
	of := k.lineGaps[gap.SourcePartition]
	if gap.OfGroup {
		of = k.groupGaps[gap.Group]
	}
	if of == nil {
		of = &gaps{}
		if gap.OfGroup {
			k.groupGaps[gap.Group] = of
		} else {
			k.lineGaps[gap.SourcePartition] = of
		}
	}
	of.add(gap)
}

// caughtUp reports whether a source partition was once read to its end. Before that, what
// follows in the log may explain what came before: compaction has left only the last record
// of each key.
func (k *capture) caughtUp(partition int32) bool {
	l := k.lines[partition]
	return l != nil && l.CompleteThrough.Known()
}

// through is the least moment that all source partitions have come to, by what of says of each.
func (k *capture) through(of func(*line) ledger.Time) ledger.Time {
	if len(k.lines) == 0 {
		return k.polled
	}
	if !k.allLines {
		return ledger.Time{}
	}
	least := ledger.Time{}
	for _, l := range k.lines {
		t := of(l)
		if !t.Known() {
			return ledger.Time{}
		}
		if !least.Known() || t.Before(least) {
			least = t
		}
	}
	return least
}

func (k *capture) sortedLines() []Line {
	lines := make([]Line, 0, len(k.lines))
	for _, l := range k.lines {
		lines = append(lines, l.Line)
	}
	slices.SortFunc(lines, func(a, b Line) int { return cmp.Compare(a.Partition, b.Partition) })
	return lines
}
