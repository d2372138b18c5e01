package ledger

import (
	"math"

	"github.com/google/uuid"
	"google.golang.org/protobuf/encoding/protowire"
)

// Rows are stored as columns. One rule holds for every column: it is absent when every
// element is 0, holds one element when all rows share it, and else one element per row.
// What an element is (a value, a difference to what was to be expected) is said with each.

// appendRows writes a list of rows as the field num of the event.
func (e *Event) appendRows(b []byte, num protowire.Number, rows []Offset) []byte {
	unknown := e.unknownOf(num)
	if len(rows) == 0 && len(unknown) == 0 {
		return b
	}
	b, mark := open(b, num)
	if len(rows) > 0 {
		b = appendKeys(b, len(rows), func(i int) (string, *uuid.UUID, int32) {
			r := &rows[i]
			return r.Topic, &r.TopicID, r.Partition
		})
		b = e.appendRowColumns(b, rows)
	}
	return shut(append(b, unknown...), mark)
}

// appendRowColumns looks at all rows once to see which columns vary, then writes those.
func (e *Event) appendRowColumns(b []byte, rows []Offset) []byte {
	first, step := &rows[0], sourceStep(&e.Source)
	least, most := first.At, first.At
	var epoch, effective, commit, expire, source, other uint64
	metadata := false
	for i := range rows {
		r := &rows[i]
		least, most = min(least, r.At), max(most, r.At)
		epoch |= uint64(uint32(r.LeaderEpoch.plusOne ^ first.LeaderEpoch.plusOne))
		effective |= r.Effective.biased ^ first.Effective.biased
		commit |= r.CommitTime.biased - r.Effective.biased ^ (first.CommitTime.biased - first.Effective.biased)
		expire |= r.ExpireTime.biased - r.CommitTime.biased ^ (first.ExpireTime.biased - first.CommitTime.biased)
		source |= uint64(r.SourceOffset-int64(i)*step) ^ uint64(first.SourceOffset)
		other |= uint64(uint16(r.ErrorCode^first.ErrorCode))<<8 | uint64(r.Flags^first.Flags)
		metadata = metadata || r.Metadata != first.Metadata
	}
	n := len(rows)
	b = appendBased(b, 7, 8, n, least, most, func(i int) int64 { return rows[i].At })
	b = appendColumn(b, 9, count(n, epoch != 0), func(i int) uint64 { return uint64(uint32(rows[i].LeaderEpoch.plusOne)) })
	b = appendStrings(b, 10, count(n, metadata), func(i int) string { return rows[i].Metadata })
	b = appendTimes(b, 11, count(n, effective != 0), e.Time, e.Time, func(i int) Time { return rows[i].Effective })
	b = appendColumn(b, 12, count(n, commit != 0), func(i int) uint64 {
		return protowire.EncodeZigZag(rows[i].CommitTime.diff(rows[i].Effective))
	})
	b = appendExpireTimes(b, rows, expire != 0)
	b = appendColumn(b, 14, count(n, source != 0), func(i int) uint64 {
		return protowire.EncodeZigZag(rows[i].SourceOffset - e.Source.Offset - int64(i)*step)
	})
	b = appendColumn(b, 15, count(n, other>>8 != 0), func(i int) uint64 { return zigzag32(int32(rows[i].ErrorCode)) })
	return appendColumn(b, 16, count(n, other&0xFF != 0), func(i int) uint64 { return uint64(rows[i].Flags) })
}

// appendExpireTimes differs from the rule in its default, which is unknown.
func appendExpireTimes(b []byte, rows []Offset, vary bool) []byte {
	known := false
	for i := range rows {
		if known = rows[i].ExpireTime.Known(); known {
			break
		}
	}
	if !known {
		return b
	}
	b, mark := open(b, 13)
	for i := range count(len(rows), vary) {
		b = protowire.AppendVarint(b, protowire.EncodeZigZag(rows[i].ExpireTime.diff(rows[i].CommitTime)))
	}
	return shut(b, mark)
}

// sourceStep is how far apart the source offsets of neighbouring rows are expected: rows of
// a tail are neighbouring records.
func sourceStep(s *Source) int64 {
	if s.Kind == SourceTail {
		return 1
	}
	return 0
}

// count is the number of elements of a column that varies, or does not.
func count(rows int, vary bool) int {
	if vary {
		return rows
	}
	return 1
}

// appendColumn writes n elements, or nothing when there is only one and it is 0.
func appendColumn(b []byte, num protowire.Number, n int, element func(int) uint64) []byte {
	if n == 1 && element(0) == 0 {
		return b
	}
	b, mark := open(b, num)
	for i := range n {
		b = protowire.AppendVarint(b, element(i))
	}
	return shut(b, mark)
}

// appendBased writes a column of offsets as differences to a base, which is the least offset
// if that makes them shorter, else 0. All rows alike need no column at all.
func appendBased(b []byte, base, num protowire.Number, n int, least, most int64, at func(int) int64) []byte {
	from := least
	if least >= 0 && least != most && protowire.SizeVarint(uint64(most-least)) == protowire.SizeVarint(uint64(most)) {
		from = 0
	}
	b = putSint(b, base, from)
	if least == most {
		return b
	}
	b, mark := open(b, num)
	for i := range n {
		b = protowire.AppendVarint(b, uint64(at(i)-from))
	}
	return shut(b, mark)
}

// appendTimes writes a column of moments: the first as the difference to since, the others to
// the row before. A single element is the moment of all rows, and none is the default.
func appendTimes(b []byte, num protowire.Number, n int, since, byDefault Time, at func(int) Time) []byte {
	if n == 1 && at(0) == byDefault {
		return b
	}
	b, mark := open(b, num)
	for i := range n {
		t := at(i)
		b = protowire.AppendVarint(b, protowire.EncodeZigZag(t.diff(since)))
		since = t
	}
	return shut(b, mark)
}

// appendStrings is appendColumn for byte strings; the default is the empty one.
func appendStrings(b []byte, num protowire.Number, n int, element func(int) string) []byte {
	if n == 1 && element(0) == "" {
		return b
	}
	for i := range n {
		b = protowire.AppendString(protowire.AppendTag(b, num, protowire.BytesType), element(i))
	}
	return b
}

func zigzag32(v int32) uint64 { return uint64(uint32(v<<1) ^ uint32(v>>31)) }

func unzigzag32(v uint64) int32 { return int32(uint32(v)>>1) ^ -int32(v&1) }

func (e *Event) appendWatermarks(b []byte, w *Watermarks) []byte {
	b, mark := open(b, 22)
	rows := w.Rows
	if len(rows) > 0 {
		b = appendKeys(b, len(rows), func(i int) (string, *uuid.UUID, int32) {
			return rows[i].Topic, &rows[i].TopicID, rows[i].Partition
		})
	}
	b = putInt(b, 7, int64(w.Shard))
	b = putBool(b, 8, w.Complete)
	if len(rows) > 0 {
		least, most := int64(math.MaxInt64), int64(math.MinInt64)
		stable, start := false, false
		for i := range rows {
			r := &rows[i]
			least, most = min(least, r.LogEnd), max(most, r.LogEnd)
			stable = stable || r.LogEnd-r.LastStable != rows[0].LogEnd-rows[0].LastStable
			start = start || r.LogStart != rows[0].LogStart
		}
		n := len(rows)
		b = appendBased(b, 9, 10, n, least, most, func(i int) int64 { return rows[i].LogEnd })
		b = appendColumn(b, 11, count(n, stable), func(i int) uint64 {
			return protowire.EncodeZigZag(rows[i].LogEnd - rows[i].LastStable)
		})
		b = appendColumn(b, 12, count(n, start), func(i int) uint64 { return uint64(rows[i].LogStart) })
	}
	return shut(append(b, e.unknownOf(22)...), mark)
}

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
	return shut(append(b, e.unknownOf(23)...), mark)
}

func (e *Event) appendLines(b []byte, lines []SourceLine) []byte {
	first, n := &lines[0], len(lines)
	least, most := first.Next, first.Next
	var partition, epoch, effective, through bool
	for i := range lines {
		l := &lines[i]
		least, most = min(least, l.Next), max(most, l.Next)
		partition = partition || l.Partition != first.Partition+int32(i)
		epoch = epoch || l.LeaderEpoch != first.LeaderEpoch
		effective = effective || l.MaxEffective != first.MaxEffective
		through = through || l.CompleteThrough != first.CompleteThrough
	}
	b = putUint(b, 5, uint64(n))
	b = appendColumn(b, 6, count(n, partition), func(i int) uint64 { return zigzag32(lines[i].Partition - int32(i)) })
	b = appendBased(b, 7, 8, n, least, most, func(i int) int64 { return lines[i].Next })
	b = appendColumn(b, 9, count(n, epoch), func(i int) uint64 { return uint64(uint32(lines[i].LeaderEpoch.plusOne)) })
	b = appendTimes(b, 10, count(n, effective), e.Time, Time{}, func(i int) Time { return lines[i].MaxEffective })
	return appendTimes(b, 11, count(n, through), e.Time, Time{}, func(i int) Time { return lines[i].CompleteThrough })
}

func (e *Event) appendOpen(b []byte, line int, o *OpenTransaction) []byte {
	b, mark := open(b, 12)
	rows := o.Rows
	if len(rows) > 0 {
		b = appendKeys(b, len(rows), func(i int) (string, *uuid.UUID, int32) {
			return rows[i].Topic, &uuid.Nil, rows[i].Partition
		})
	}
	b = putUint(b, 7, uint64(line))
	b = putSint(b, 8, o.ProducerID)
	b = putInt(b, 9, o.First)
	b = putTime(b, 10, o.Since, e.Time)
	if len(rows) > 0 {
		first, n := &rows[0], len(rows)
		least, most := first.At, first.At
		var group, position bool
		for i := range rows {
			r := &rows[i]
			least, most = min(least, r.At), max(most, r.At)
			group = group || r.Group != first.Group
			position = position || r.Position-int64(i) != first.Position
		}
		b = appendStrings(b, 11, count(n, group), func(i int) string { return rows[i].Group })
		b = appendBased(b, 12, 13, n, least, most, func(i int) int64 { return rows[i].At })
		b = appendColumn(b, 14, count(n, position), func(i int) uint64 {
			return protowire.EncodeZigZag(rows[i].Position - o.First - int64(i))
		})
	}
	return shut(append(b, o.unknown...), mark)
}
