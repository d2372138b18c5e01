package ledger

import (
	"math"
	"slices"

	"github.com/google/uuid"
	"google.golang.org/protobuf/encoding/protowire"
)

// rowColumns are the columns of one list of rows as they were found: the lists of byte
// strings in full, the packed numbers by field number. It is scratch memory of a Decoder.
type rowColumns struct {
	rows    int
	topics  [][]byte
	ids     [][]byte
	strings [][]byte   // the one other column of byte strings: metadata, group
	packed  [17][]byte // valid if have says so
	have    uint32     // a bit for every field of packed
	runs    []decodedRun
}

type decodedRun struct {
	topic string
	id    uuid.UUID
	rows  int
}

func (c *rowColumns) reset() {
	c.rows, c.have = 0, 0
	c.topics, c.ids, c.strings, c.runs = c.topics[:0], c.ids[:0], c.strings[:0], c.runs[:0]
}

// pack takes the present field as a packed column. An empty one is as good as none.
func (c *rowColumns) pack(f *fields) {
	if b := f.once(); len(b) > 0 {
		c.packed[f.num] = b
		c.have |= 1 << f.num
	}
}

// has reports whether the packed column is there.
func (c *rowColumns) has(num protowire.Number) bool { return c.have&(1<<num) != 0 }

// key takes the present field if it is one of the columns that every list of rows has.
func (c *rowColumns) key(f *fields) bool {
	switch f.num {
	case keyRows:
		c.rows = int(min(f.uint(), MaxRows+1))
	case keyTopic:
		c.topics = append(c.topics, f.bytes())
	case keyTopicID:
		c.ids = append(c.ids, f.bytes())
	case keyRunRows, keyRunTopic, keyPartition:
		c.pack(f)
	default:
		return false
	}
	return true
}

// claim takes n rows from what the event may have.
func (d *Decoder) claimRows(f *fields, num protowire.Number, n int) bool {
	if n > d.budget {
		f.num = num
		f.fail("more than %d rows in one event", MaxRows)
		return false
	}
	d.budget -= n
	return true
}

// shared returns the element that all rows have in a packed column, or that they differ.
func (c *rowColumns) shared(num protowire.Number) (element uint64, vary bool) {
	if !c.has(num) {
		return 0, false
	}
	element, n := varint(c.packed[num])
	return element, n != len(c.packed[num])
}

// each returns the elements of a packed column that varies. They are good until the next call.
func (d *Decoder) each(f *fields, num protowire.Number, n int) []uint64 {
	d.elements = slices.Grow(d.elements[:0], n)[:n]
	f.unpack(num, d.columns.packed[num], d.elements)
	return d.elements
}

// every calls set with the element of every row.
func (d *Decoder) every(f *fields, num protowire.Number, n int, set func(int, uint64)) {
	if element, vary := d.columns.shared(num); !vary {
		for i := range n {
			set(i, element)
		}
		return
	}
	for i, element := range d.each(f, num, n) {
		set(i, element)
	}
}

// runs reads the table of topics and the runs of c, so that they hold c.rows rows.
func (d *Decoder) runs(f *fields) {
	c := &d.columns
	if c.rows == 0 {
		if len(c.topics) > 0 || c.have != 0 {
			f.num = keyRows
			f.fail("columns without rows")
		}
		return
	}
	if len(c.ids) != 0 && len(c.ids) != len(c.topics) {
		f.num = keyTopicID
		f.fail("%d ids for %d topics", len(c.ids), len(c.topics))
		return
	}
	if !c.has(keyRunRows) {
		if len(c.topics) != 1 {
			f.num = keyTopic
			f.fail("%d topics and no run_rows", len(c.topics))
			return
		}
		d.addRun(f, 0, c.rows)
		return
	}
	lengths, topics, left := c.packed[keyRunRows], c.packed[keyRunTopic], c.rows
	if !c.has(keyRunTopic) {
		topics = nil
	}
	for i := uint64(0); len(lengths) > 0; i++ {
		length, n := protowire.ConsumeVarint(lengths)
		if n < 0 || length == 0 || length > uint64(left) {
			f.num = keyRunRows
			f.fail("run %d is cut, empty or over the end", i)
			return
		}
		lengths = lengths[n:]
		topic := i
		if c.has(keyRunTopic) {
			if topic, n = protowire.ConsumeVarint(topics); n < 0 {
				f.num = keyRunTopic
				f.fail("run %d is cut", i)
				return
			}
			topics = topics[n:]
		}
		if topic >= uint64(len(c.topics)) {
			f.num = keyRunTopic
			f.fail("run %d has topic %d of %d", i, topic, len(c.topics))
			return
		}
		d.addRun(f, int(topic), int(length))
		left -= int(length)
	}
	if left > 0 || len(topics) > 0 {
		f.num = keyRunRows
		f.fail("not one run for every row")
	}
}

func (d *Decoder) addRun(f *fields, topic, rows int) {
	c := &d.columns
	d.topic = d.names.again(c.topics[topic], d.topic)
	r := decodedRun{topic: d.topic, rows: rows}
	if len(c.ids) > 0 {
		f.num = keyTopicID
		r.id = f.asUUID(c.ids[topic])
	}
	c.runs = append(c.runs, r)
}

// text returns what all rows have in a column of byte strings, or that they differ.
func (d *Decoder) text(f *fields, num protowire.Number, table *interned) (all string, vary bool) {
	c := &d.columns
	switch len(c.strings) {
	case 0:
	case 1:
		all = table.of(c.strings[0])
	case c.rows:
		return "", true
	default:
		f.num = num
		f.fail("%d elements for %d rows", len(c.strings), c.rows)
	}
	return all, false
}

// rows decodes a list of rows into dst.
func (d *Decoder) rows(b []byte, e *Event, dst []Offset) (rows []Offset, unknown []byte, err error) {
	c := &d.columns
	c.reset()
	var base int64
	f := fields{schema: &rowsSchema, rest: b}
	for f.next() {
		switch {
		case c.key(&f):
		case f.num == 7:
			base = f.sint64()
		case f.num == 10:
			c.strings = append(c.strings, f.bytes())
		case f.num >= 8 && f.num <= 16:
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
	d.fillRows(&f, e, dst, base)
	return dst, unknown, f.err
}

// fillRows writes every row once with all that the rows have in common, and then, column by
// column, what they do not. It is long because it is the one place that knows every column,
// in the order in which they depend on each other.
func (d *Decoder) fillRows(f *fields, e *Event, rows []Offset, base int64) {
	c, n := &d.columns, len(rows)
	at, atVary := c.shared(8)
	epoch, epochVary := c.shared(9)
	effective, effectiveVary := c.shared(11)
	commit, commitVary := c.shared(12)
	expire, expireVary := c.shared(13)
	source, sourceVary := c.shared(14)
	code, codeVary := c.shared(15)
	flag, flagVary := c.shared(16)
	all := Offset{
		At:           base + int64(at),
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
	metadataVary := false
	all.Metadata, metadataVary = d.text(f, 10, &d.texts)
	d.fillShared(e, rows, all)

	if _, vary := c.shared(keyPartition); vary {
		d.partitions(f, n, func(i int, p int32) { rows[i].Partition = p })
	}
	if atVary {
		for i, v := range d.each(f, 8, n) {
			rows[i].At = base + int64(v)
		}
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

// partitions reads the partitions of all runs.
func (d *Decoder) partitions(f *fields, n int, set func(int, int32)) {
	end, run, next := 0, 0, int32(0)
	d.every(f, keyPartition, n, func(i int, v uint64) {
		if i == end {
			end += d.columns.runs[run].rows
			run, next = run+1, 0
		}
		next += unzigzag32(v)
		set(i, next)
		next++
	})
}

// times reads a column of moments, see appendTimes.
func (d *Decoder) times(f *fields, num protowire.Number, n int, since, byDefault Time, set func(int, Time)) {
	element, vary := d.columns.shared(num)
	if !vary {
		t := byDefault
		if d.columns.has(num) {
			t = since.plus(protowire.DecodeZigZag(element))
		}
		for i := range n {
			set(i, t)
		}
		return
	}
	t := since
	for i, v := range d.each(f, num, n) {
		t = t.plus(protowire.DecodeZigZag(v))
		set(i, t)
	}
}
