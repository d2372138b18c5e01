package ledger

import (
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
	strings [][]byte // the one other column of byte strings: metadata, group
	packed  [17][]byte
	runs    []decodedRun
}

type decodedRun struct {
	topic string
	id    uuid.UUID
	rows  int
}

func (c *rowColumns) reset() {
	*c = rowColumns{topics: c.topics[:0], ids: c.ids[:0], strings: c.strings[:0], runs: c.runs[:0]}
}

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
		c.packed[f.num] = f.once()
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

// column returns the elements of a packed column of n rows, and nil when all are one: that
// element is returned instead.
func (d *Decoder) column(f *fields, num protowire.Number, n int) (each []uint64, all uint64) {
	b := d.columns.packed[num]
	if f.err != nil || len(b) == 0 {
		return nil, 0
	}
	if v, used := protowire.ConsumeVarint(b); used == len(b) {
		return nil, v
	}
	d.elements = slices.Grow(d.elements[:0], n)[:n]
	f.unpack(num, b, d.elements)
	return d.elements, 0
}

// runs reads the table of topics and the runs of c, so that they hold c.rows rows.
func (d *Decoder) runs(f *fields) {
	c := &d.columns
	if c.rows == 0 {
		if len(c.topics) > 0 || len(c.packed[keyPartition]) > 0 {
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
	lengths, topics := c.packed[keyRunRows], c.packed[keyRunTopic]
	if len(lengths) == 0 {
		if len(c.topics) != 1 {
			f.num = keyTopic
			f.fail("%d topics and no run_rows", len(c.topics))
			return
		}
		d.addRun(f, 0, c.rows)
		return
	}
	left := c.rows
	for i := uint64(0); len(lengths) > 0; i++ {
		length, n := protowire.ConsumeVarint(lengths)
		if n < 0 || length == 0 || length > uint64(left) {
			f.num = keyRunRows
			f.fail("run %d is cut, empty or over the end", i)
			return
		}
		lengths = lengths[n:]
		topic := i
		if c.packed[keyRunTopic] != nil {
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
	r := decodedRun{topic: d.names.of(c.topics[topic]), rows: rows}
	if len(c.ids) > 0 {
		f.num = keyTopicID
		r.id = f.asUUID(c.ids[topic])
	}
	c.runs = append(c.runs, r)
}

// text returns the elements of a column of byte strings in the way of column.
func (d *Decoder) text(f *fields, num protowire.Number, table *interned) (each bool, all string) {
	c := &d.columns
	switch len(c.strings) {
	case 0:
	case 1:
		all = table.of(c.strings[0])
	case c.rows:
		return true, ""
	default:
		f.num = num
		f.fail("%d elements for %d rows", len(c.strings), c.rows)
	}
	return false, all
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
			c.packed[f.num] = f.once()
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
// column, what they do not.
func (d *Decoder) fillRows(f *fields, e *Event, rows []Offset, base int64) {
	c, n := &d.columns, len(rows)
	ats, at := d.column(f, 8, n)
	all := Offset{At: base + int64(at)}
	at = 0
	for _, r := range c.runs {
		all.Topic, all.TopicID = r.topic, r.id
		for i := range rows[at : int(at)+r.rows] {
			rows[int(at)+i] = all
		}
		at += uint64(r.rows)
	}
	for i, v := range ats {
		rows[i].At = base + int64(v)
	}
	d.partitions(f, n, func(i int, p int32) { rows[i].Partition = p })
	epochs, epoch := d.column(f, 9, n)
	for i := range rows {
		if epochs != nil {
			epoch = epochs[i]
		}
		rows[i].LeaderEpoch = Epoch{int32(uint32(epoch))}
	}
	each, text := d.text(f, 10, &d.texts)
	for i := range rows {
		if each {
			text = d.texts.of(c.strings[i])
		}
		rows[i].Metadata = text
	}
	d.times(f, 11, n, e.Time, e.Time, func(i int, t Time) { rows[i].Effective = t })
	commits, commit := d.column(f, 12, n)
	for i := range rows {
		if commits != nil {
			commit = commits[i]
		}
		rows[i].CommitTime = rows[i].Effective.plus(protowire.DecodeZigZag(commit))
	}
	if expires, expire := d.column(f, 13, n); len(c.packed[13]) > 0 {
		for i := range rows {
			if expires != nil {
				expire = expires[i]
			}
			rows[i].ExpireTime = rows[i].CommitTime.plus(protowire.DecodeZigZag(expire))
		}
	}
	sources, source := d.column(f, 14, n)
	step := sourceStep(&e.Source)
	for i := range rows {
		if sources != nil {
			source = sources[i]
		}
		rows[i].SourceOffset = e.Source.Offset + int64(i)*step + protowire.DecodeZigZag(source)
	}
	codes, code := d.column(f, 15, n)
	for i := range rows {
		if codes != nil {
			code = codes[i]
		}
		v := unzigzag32(code)
		if int32(int16(v)) != v {
			f.num = 15
			f.fail("%d is no int16", v)
		}
		rows[i].ErrorCode = int16(v)
	}
	flags, flag := d.column(f, 16, n)
	for i := range rows {
		if flags != nil {
			flag = flags[i]
		}
		if flag > 0xFF {
			f.num = 16
			f.fail("%#x has more than 8 flags", flag)
		}
		rows[i].Flags = Flags(flag)
	}
}

// partitions reads the partitions of all runs.
func (d *Decoder) partitions(f *fields, n int, set func(int, int32)) {
	each, all := d.column(f, keyPartition, n)
	i := 0
	for _, r := range d.columns.runs {
		next := int32(0)
		for range r.rows {
			if each != nil {
				all = each[i]
			}
			p := next + unzigzag32(all)
			set(i, p)
			next = p + 1
			i++
		}
	}
}

// times reads a column of moments, see appendTimes.
func (d *Decoder) times(f *fields, num protowire.Number, n int, since, byDefault Time, set func(int, Time)) {
	each, all := d.column(f, num, n)
	t := byDefault
	if len(d.columns.packed[num]) > 0 && each == nil {
		t = since.plus(protowire.DecodeZigZag(all))
	}
	for i := range n {
		if each != nil {
			since = since.plus(protowire.DecodeZigZag(each[i]))
			t = since
		}
		set(i, t)
	}
}
