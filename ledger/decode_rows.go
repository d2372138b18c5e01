package ledger

import (
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// rows decodes a list of rows into dst.
func (d *Decoder) rows(b []byte, e *Event, dst []Offset) (rows []Offset, unknown []byte, err error) {
	c := &d.columns
	c.reset()
	f := fields{schema: &rowsSchema, rest: b}
	for f.next() {
		switch {
		case c.key(&f):
		case f.num == 10:
			c.strings = append(c.strings, f.bytes())
		case f.num >= 7 && f.num <= 16:
			c.pack(&f)
		default:
			unknown = append(unknown, f.raw...)
		}
	}
	if f.err != nil || !d.claimRows(&f, keyRows, c.rows) {
		return nil, nil, f.err
	}
	d.runs(&f)
	if f.err != nil {
		return nil, nil, f.err
	}
	dst = slices.Grow(dst[:0], c.rows)[:c.rows]
	d.fillRows(&f, e, dst)
	return dst, unknown, f.err
}

// fillRows writes every row once with all that the rows have in common, and then, column by
// column, what they do not. It is long because it is the one place that knows every column,
// in the order in which they depend on each other.
func (d *Decoder) fillRows(f *fields, e *Event, rows []Offset) {
	c, n := &d.columns, len(rows)
	epoch, epochVary := c.shared(9)
	effective, effectiveVary := c.shared(11)
	commit, commitVary := c.shared(12)
	expire, expireVary := c.shared(13)
	source, sourceVary := c.shared(14)
	code, codeVary := c.shared(15)
	flag, flagVary := c.shared(16)
	all := Offset{
		LeaderEpoch:  Epoch{int32(uint32(epoch))},
		Effective:    e.Time.plus(protowire.DecodeZigZag(effective)),
		SourceOffset: e.Source.Offset + protowire.DecodeZigZag(source),
		ErrorCode:    f.errorCode(code),
		Flags:        f.flags(flag),
	}
	all.CommitTime = all.Effective.plus(protowire.DecodeZigZag(commit))
	if c.has(13) {
		all.ExpireTime = all.CommitTime.plus(protowire.DecodeZigZag(expire))
	}
	metadata, metadataVary := d.text(f, 10, d.texts.of)
	all.Metadata = metadata
	d.fillShared(e, rows, all)

	if _, vary := c.shared(keyPartition); vary {
		d.partitions(f, n, func(i int, p int32) { rows[i].Partition = p })
	}
	for i, v := range d.offsets(f, 7, 8, n) {
		rows[i].At = int64(v)
	}
	if epochVary {
		for i, v := range d.each(f, 9, n) {
			rows[i].LeaderEpoch = Epoch{int32(uint32(v))}
		}
	}
	if metadataVary {
		for i, b := range c.strings {
			rows[i].Metadata = d.texts.of(b)
		}
	}
	if effectiveVary {
		d.times(f, 11, n, e.Time, e.Time, func(i int, t Time) { rows[i].Effective = t })
	}
	if effectiveVary || commitVary {
		d.every(f, 12, n, func(i int, v uint64) {
			rows[i].CommitTime = rows[i].Effective.plus(protowire.DecodeZigZag(v))
		})
	}
	if c.has(13) && (effectiveVary || commitVary || expireVary) {
		d.every(f, 13, n, func(i int, v uint64) {
			rows[i].ExpireTime = rows[i].CommitTime.plus(protowire.DecodeZigZag(v))
		})
	}
	if sourceVary {
		step := sourceStep(&e.Source)
		for i, v := range d.each(f, 14, n) {
			rows[i].SourceOffset = e.Source.Offset + int64(i)*step + protowire.DecodeZigZag(v)
		}
	}
	if codeVary {
		for i, v := range d.each(f, 15, n) {
			rows[i].ErrorCode = f.errorCode(v)
		}
	}
	if flagVary {
		for i, v := range d.each(f, 16, n) {
			rows[i].Flags = f.flags(v)
		}
	}
}

// fillShared writes what is common to all rows, or follows from the row before.
func (d *Decoder) fillShared(e *Event, rows []Offset, all Offset) {
	partition, _ := d.columns.shared(keyPartition)
	between, step := unzigzag32(partition), sourceStep(&e.Source)
	position := all.SourceOffset
	for _, r := range d.columns.runs {
		all.Topic, all.TopicID = r.topic, r.id
		repeat(rows[:r.rows], all)
		next := between
		for i := range rows[:r.rows] {
			rows[i].Partition, rows[i].SourceOffset = next, position
			next += 1 + between
			position += step
		}
		rows = rows[r.rows:]
	}
}

// repeat fills rows with copies of one. Doubling what is there takes half the time of copying
// them one by one.
func repeat(rows []Offset, one Offset) {
	rows[0] = one
	for n := 1; n < len(rows); n *= 2 {
		copy(rows[n:], rows[:n])
	}
}

func (f *fields) errorCode(element uint64) int16 {
	v := unzigzag32(element)
	if int32(int16(v)) != v {
		f.num = 15
		f.fail("%d is no int16", v)
	}
	return int16(v)
}

func (f *fields) flags(element uint64) Flags {
	if element > math.MaxUint8 {
		f.num = 16
		f.fail("%#x has more than 8 flags", element)
	}
	return Flags(element)
}
