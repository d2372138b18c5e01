package ledger

import (
	"github.com/google/uuid"
	"google.golang.org/protobuf/encoding/protowire"
)

func (e *Event) appendWatermarks(b []byte, w *Watermarks) []byte {
	b, mark := open(b, 22)
	rows, n := w.Rows, len(w.Rows)
	k := newKeys()
	ends := k.offsets(n)
	for i := range rows {
		k.add(rows[i].Topic, &rows[i].TopicID, rows[i].Partition)
		ends[i] = rows[i].LogEnd
	}
	b = k.append(b)
	b = putInt(b, 7, int64(w.Shard))
	b = putBool(b, 8, w.Complete)
	if n > 0 {
		stable := func(i int) uint64 { return protowire.EncodeZigZag(rows[i].LogEnd - rows[i].LastStable) }
		start := func(i int) uint64 { return uint64(rows[i].LogStart) }
		if n < manyEnds {
			b = appendBased(b, 9, 10, ends, k.runs)
		} else {
			low := func(i int) uint64 { return uint64(ends[i]) % endUnit }
			b = appendColumn(b, 10, count(n, low), low)
		}
		b = appendColumn(b, 11, count(n, stable), stable)
		b = appendColumn(b, 12, count(n, start), start)
	}
	if n >= manyEnds {
		high := func(i int) uint64 { return uint64(ends[i]) / endUnit }
		b = appendColumn(b, 13, count(n, high), high)
	}
	for i := range w.Unanswered {
		b = appendTopicPartitions(b, 14, &w.Unanswered[i])
	}
	k.release()
	return shut(append(b, e.unknownOf(22)...), mark)
}

// From manyEnds rows on, log ends are written in two columns: what is below endUnit, which is
// another number at every observation, and how many units are above, which mostly stays. So a
// stream that compresses finds all of the second in the event before. An element of the first
// takes two bytes.
const (
	manyEnds = 64
	endUnit  = 1 << 14
)

func (e *Event) appendCursor(b []byte, c *Cursor) []byte {
	b, mark := open(b, 23)
	b = putString(b, 1, c.Shard)
	b = putString(b, 2, c.KafkaClusterID)
	b = putUUID(b, 3, c.TopicID)
	b = putBool(b, 4, c.Complete)
	if len(c.Lines) > 0 {
		b = e.appendLines(b, c.Lines)
	}
	for i := range c.Lines {
		for j := range c.Lines[i].Open {
			b = e.appendOpen(b, i, &c.Lines[i].Open[j])
		}
	}
	for i := range c.Lines {
		if h := c.Lines[i].Hole; h != nil {
			b = e.appendHole(b, i, h)
		}
	}
	return shut(append(b, e.unknownOf(23)...), mark)
}

func (e *Event) appendLines(b []byte, lines []SourceLine) []byte {
	n := len(lines)
	k := newKeys()
	nexts := k.offsets(n)
	for i := range lines {
		nexts[i] = lines[i].Next
	}
	partition := func(i int) uint64 { return zigzag32(lines[i].Partition - int32(i)) }
	epoch := func(i int) uint64 { return uint64(uint32(lines[i].LeaderEpoch.plusOne)) }
	effective := func(i int) Time { return lines[i].MaxEffective }
	through := func(i int) Time { return lines[i].CompleteThrough }
	b = putUint(b, 5, uint64(n))
	b = appendColumn(b, 6, count(n, partition), partition)
	b = appendBased(b, 7, 8, nexts, nil)
	b = appendColumn(b, 9, count(n, epoch), epoch)
	b = appendTimes(b, 10, count(n, effective), e.Time, Time{}, effective)
	b = appendTimes(b, 11, count(n, through), e.Time, Time{}, through)
	k.release()
	return b
}

func (e *Event) appendOpen(b []byte, line int, o *OpenTransaction) []byte {
	b, mark := open(b, 12)
	rows, n := o.Rows, len(o.Rows)
	k := newKeys()
	ats := k.offsets(n)
	for i := range rows {
		k.add(rows[i].Topic, &uuid.Nil, rows[i].Partition)
		ats[i] = rows[i].At
	}
	b = k.append(b)
	b = putUint(b, 7, uint64(line))
	b = putSint(b, 8, o.ProducerID)
	b = putInt(b, 9, o.First)
	b = putTime(b, 10, o.Since, e.Time)
	if n > 0 {
		group := func(i int) string { return rows[i].Group }
		position := func(i int) uint64 {
			return protowire.EncodeZigZag(rows[i].Position - o.First - int64(i))
		}
		b = appendStrings(b, 11, count(n, group), group)
		b = appendBased(b, 12, 13, ats, k.runs)
		b = appendColumn(b, 14, count(n, position), position)
	}
	k.release()
	return shut(append(b, o.unknown...), mark)
}

func (e *Event) appendHole(b []byte, line int, h *Hole) []byte {
	b, mark := open(b, 13)
	b = putUint(b, 1, uint64(line))
	b = putInt(b, 2, h.First)
	b = putInt(b, 3, h.Last)
	b = putInt(b, 4, h.Until)
	b = putTime(b, 5, h.From, e.Time)
	b = putBool(b, 6, h.Removed)
	return shut(append(b, h.unknown...), mark)
}
