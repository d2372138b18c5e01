package ledger

import (
	"slices"

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
		b = e.appendColumns(b, rows)
	}
	return shut(append(b, unknown...), mark)
}

// appendColumns writes the columns of at least one row. It looks at all rows once; mostly
// nothing varies but partitions and offsets.
func (e *Event) appendColumns(b []byte, rows []Offset) []byte {
	n, first, step := len(rows), &rows[0], sourceStep(&e.Source)
	k := newKeys()
	ats := k.offsets(n)
	sourceOffset, other := first.SourceOffset, uint64(0)
	for i := range rows {
		r := &rows[i]
		if !k.follows(r.Topic, &r.TopicID, r.Partition) {
			k.addOther(r.Topic, &r.TopicID, r.Partition)
		}
		ats[i] = r.At
		other |= (r.Effective.biased ^ first.Effective.biased) |
			(r.CommitTime.biased ^ first.CommitTime.biased) |
			(r.ExpireTime.biased ^ first.ExpireTime.biased) |
			uint64(r.SourceOffset^sourceOffset) |
			uint64(uint32(r.LeaderEpoch.plusOne^first.LeaderEpoch.plusOne)) |
			uint64(uint16(r.ErrorCode^first.ErrorCode)) | uint64(r.Flags^first.Flags) |
			uint64(len(r.Metadata)^len(first.Metadata))
		if len(r.Metadata) > 0 && r.Metadata != first.Metadata {
			other = 1
		}
		sourceOffset += step
	}
	b = k.append(b)
	b = appendBased(b, 7, 8, ats, k.runs)
	k.release()
	return e.appendOthers(b, rows, other != 0)
}

// appendOthers writes the columns of rows other than partitions and offsets. If not vary, each
// is the same in all rows.
func (e *Event) appendOthers(b []byte, rows []Offset, vary bool) []byte {
	n, step := len(rows), sourceStep(&e.Source)
	if !vary {
		n = 1 // to look at
	}
	epoch := func(i int) uint64 { return uint64(uint32(rows[i].LeaderEpoch.plusOne)) }
	metadata := func(i int) string { return rows[i].Metadata }
	effective := func(i int) Time { return rows[i].Effective }
	commit := func(i int) uint64 { return protowire.EncodeZigZag(rows[i].CommitTime.diff(rows[i].Effective)) }
	expire := func(i int) uint64 { return protowire.EncodeZigZag(rows[i].ExpireTime.diff(rows[i].CommitTime)) }
	source := func(i int) uint64 {
		return protowire.EncodeZigZag(rows[i].SourceOffset - e.Source.Offset - int64(i)*step)
	}
	code := func(i int) uint64 { return zigzag32(int32(rows[i].ErrorCode)) }
	flags := func(i int) uint64 { return uint64(rows[i].Flags) }

	b = appendColumn(b, 9, count(n, epoch), epoch)
	b = appendStrings(b, 10, count(n, metadata), metadata)
	b = appendTimes(b, 11, count(n, effective), e.Time, e.Time, effective)
	b = appendColumn(b, 12, count(n, commit), commit)
	if slices.ContainsFunc(rows[:n], func(r Offset) bool { return r.ExpireTime.Known() }) {
		b = appendElements(b, 13, count(n, expire), expire) // its default is unknown
	}
	b = appendColumn(b, 14, count(n, source), source)
	b = appendColumn(b, 15, count(n, code), code)
	return appendColumn(b, 16, count(n, flags), flags)
}

// sourceStep is how far apart the source offsets of neighbouring rows are expected: rows of
// a tail are neighbouring records.
func sourceStep(s *Source) int64 {
	if s.Kind == SourceTail {
		return 1
	}
	return 0
}

// count is the number of elements that a column of n rows needs: one if all are the same.
func count[T comparable](n int, element func(int) T) int {
	first := element(0)
	for i := 1; i < n; i++ {
		if element(i) != first {
			return n
		}
	}
	return 1
}

// appendColumn writes n elements, or nothing when there is only one and it is 0.
func appendColumn(b []byte, num protowire.Number, n int, element func(int) uint64) []byte {
	if n == 1 && element(0) == 0 {
		return b
	}
	return appendElements(b, num, n, element)
}

func appendElements(b []byte, num protowire.Number, n int, element func(int) uint64) []byte {
	b, mark := open(b, num)
	for i := range n {
		b = protowire.AppendVarint(b, element(i))
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
