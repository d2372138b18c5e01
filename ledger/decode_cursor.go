package ledger

import (
	"google.golang.org/protobuf/encoding/protowire"
)

func (d *Decoder) watermarks(b []byte, w *Watermarks) (unknown []byte, err error) {
	c := &d.columns
	c.reset()
	f := fields{schema: &watermarksSchema, rest: b}
	for f.next() {
		switch {
		case c.key(&f):
		case f.num == 7:
			w.Shard = f.int32()
		case f.num == 8:
			w.Complete = f.bool()
		case f.num >= 9 && f.num <= 13:
			c.pack(&f)
		case f.num == 14:
			w.Unanswered = append(w.Unanswered, TopicPartitions{})
			if err := d.topicPartitions(f.bytes(), &w.Unanswered[len(w.Unanswered)-1]); err != nil {
				return nil, err
			}
		default:
			unknown = append(unknown, f.raw...)
		}
	}
	if f.err != nil || !d.claimRows(&f, keyRows, c.rows) {
		return nil, f.err
	}
	d.runs(&f)
	if f.err != nil || c.rows == 0 {
		return unknown, f.err
	}
	rows := make([]Watermark, c.rows)
	at := 0
	for _, r := range c.runs {
		for i := range rows[at : at+r.rows] {
			rows[at+i].Topic, rows[at+i].TopicID = r.topic, r.id
		}
		at += r.rows
	}
	n := len(rows)
	d.partitions(&f, n, func(i int, p int32) { rows[i].Partition = p })
	for i, v := range d.offsets(&f, 9, 10, n) {
		rows[i].LogEnd = int64(v)
	}
	d.every(&f, 13, n, func(i int, v uint64) { rows[i].LogEnd += int64(v * endUnit) })
	d.every(&f, 11, n, func(i int, v uint64) { rows[i].LastStable = rows[i].LogEnd - protowire.DecodeZigZag(v) })
	d.every(&f, 12, n, func(i int, v uint64) { rows[i].LogStart = int64(v) })
	w.Rows = rows
	return unknown, f.err
}

func (d *Decoder) cursor(b []byte, e *Event, cur *Cursor) (unknown []byte, err error) {
	c := &d.columns
	c.reset()
	var open, holes [][]byte
	f := fields{schema: &cursorSchema, rest: b}
	for f.next() {
		switch f.num {
		case 1:
			cur.Shard = d.names.of(f.bytes())
		case 2:
			cur.KafkaClusterID = d.names.of(f.bytes())
		case 3:
			cur.TopicID = f.uuid()
		case 4:
			cur.Complete = f.bool()
		case 5:
			c.rows = int(min(f.uint(), MaxRows+1))
		case 6, 7, 8, 9, 10, 11:
			c.pack(&f)
		case 12:
			open = append(open, f.bytes())
		case 13:
			holes = append(holes, f.bytes())
		default:
			unknown = append(unknown, f.raw...)
		}
	}
	if f.err != nil || !d.claimRows(&f, 5, c.rows) {
		return nil, f.err
	}
	switch n := c.rows; {
	case n > 0:
		cur.Lines = make([]SourceLine, n)
		d.lines(&f, e, cur.Lines)
	case c.have != 0:
		f.num = 5
		f.fail("columns without lines")
	}
	if f.err != nil {
		return nil, f.err
	}
	for _, b := range open {
		if err := d.open(b, e, cur.Lines); err != nil {
			return nil, err
		}
	}
	for _, b := range holes {
		if err := hole(b, e, cur.Lines); err != nil {
			return nil, err
		}
	}
	return unknown, nil
}

func (d *Decoder) lines(f *fields, e *Event, lines []SourceLine) {
	n := len(lines)
	d.every(f, 6, n, func(i int, v uint64) { lines[i].Partition = int32(i) + unzigzag32(v) })
	for i, v := range d.offsets(f, 7, 8, n) {
		lines[i].Next = int64(v)
	}
	d.every(f, 9, n, func(i int, v uint64) { lines[i].LeaderEpoch = Epoch{int32(uint32(v))} })
	d.times(f, 10, n, e.Time, Time{}, func(i int, t Time) { lines[i].MaxEffective = t })
	d.times(f, 11, n, e.Time, Time{}, func(i int, t Time) { lines[i].CompleteThrough = t })
}

// open decodes an open transaction and adds it to its line.
func (d *Decoder) open(b []byte, e *Event, lines []SourceLine) error {
	c := &d.columns
	c.reset()
	var o OpenTransaction
	var line uint64
	f := fields{schema: &openSchema, rest: b}
	for f.next() {
		switch {
		case f.num != keyTopicID && c.key(&f):
		case f.num == 7:
			line = f.uint()
		case f.num == 8:
			o.ProducerID = f.sint64()
		case f.num == 9:
			o.First = f.int64()
		case f.num == 10:
			o.Since = e.Time.plus(f.sint64())
		case f.num == 11:
			c.strings = append(c.strings, f.bytes())
		case f.num >= 12 && f.num <= 14:
			c.pack(&f)
		default:
			o.unknown = append(o.unknown, f.raw...)
		}
	}
	if f.err == nil && line >= uint64(len(lines)) {
		f.num = 7
		f.fail("line %d of %d", line, len(lines))
	}
	if f.err != nil || !d.claimRows(&f, keyRows, c.rows) {
		return f.err
	}
	d.runs(&f)
	if n := c.rows; f.err == nil && n > 0 {
		o.Rows = make([]PendingOffset, n)
		d.pending(&f, &o)
	}
	lines[line].Open = append(lines[line].Open, o)
	return f.err
}

// hole decodes a hole and gives it to its line.
func hole(b []byte, e *Event, lines []SourceLine) error {
	var h Hole
	var line uint64
	f := fields{schema: &holeSchema, rest: b}
	for f.next() {
		switch f.num {
		case 1:
			line = f.uint()
		case 2:
			h.First = f.int64()
		case 3:
			h.Last = f.int64()
		case 4:
			h.Until = f.int64()
		case 5:
			h.From = e.Time.plus(f.sint64())
		case 6:
			h.Removed = f.bool()
		default:
			h.unknown = append(h.unknown, f.raw...)
		}
	}
	if f.err != nil {
		return f.err
	}
	f.num = 1
	switch {
	case line >= uint64(len(lines)):
		f.fail("line %d of %d", line, len(lines))
	case lines[line].Hole != nil:
		f.fail("line %d has two", line)
	default:
		lines[line].Hole = &h
	}
	return f.err
}

func (d *Decoder) pending(f *fields, o *OpenTransaction) {
	rows := o.Rows
	n := len(rows)
	i := 0
	for _, r := range d.columns.runs {
		for range r.rows {
			rows[i].Topic = r.topic
			i++
		}
	}
	d.partitions(f, n, func(i int, p int32) { rows[i].Partition = p })
	group, vary := d.text(f, 11, d.names.of)
	for i := range rows {
		if vary {
			group = d.names.of(d.columns.strings[i])
		}
		rows[i].Group = group
	}
	for i, v := range d.offsets(f, 12, 13, n) {
		rows[i].At = int64(v)
	}
	d.every(f, 14, n, func(i int, v uint64) {
		rows[i].Position = o.First + int64(i) + protowire.DecodeZigZag(v)
	})
}
