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

// claimRows takes n rows from what the event may have.
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

// offsets returns the offsets of a column that is written as differences to a base, one for
// all rows or one for each run. They are good until the next call.
func (d *Decoder) offsets(f *fields, base, num protowire.Number, n int) []uint64 {
	c := &d.columns
	from, byRun := c.shared(base)
	if byRun {
		d.bases = slices.Grow(d.bases[:0], len(c.runs))[:len(c.runs)]
		f.unpack(base, c.packed[base], d.bases)
	}
	offsets, vary := c.shared(num)
	if vary {
		d.each(f, num, n)
	} else {
		d.elements = slices.Grow(d.elements[:0], n)[:n]
		for i := range d.elements {
			d.elements[i] = offsets
		}
	}
	switch rest := d.elements; {
	case byRun:
		for i, r := range c.runs {
			add(rest[:r.rows], uint64(protowire.DecodeZigZag(d.bases[i])))
			rest = rest[r.rows:]
		}
	case from != 0:
		add(rest, uint64(protowire.DecodeZigZag(from)))
	}
	return d.elements
}

func add(offsets []uint64, base uint64) {
	for i := range offsets {
		offsets[i] += base
	}
}

// runs reads the table of topics and the runs of c, so that they hold c.rows rows.
func (d *Decoder) runs(f *fields) {
	c := &d.columns
	if c.rows == 0 {
		if len(c.topics)+len(c.ids)+len(c.strings) > 0 || c.have != 0 {
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
func (d *Decoder) text(f *fields, num protowire.Number, of func([]byte) string) (all string, vary bool) {
	c := &d.columns
	switch len(c.strings) {
	case 0:
	case 1:
		all = of(c.strings[0])
	case c.rows:
		return "", true
	default:
		f.num = num
		f.fail("%d elements for %d rows", len(c.strings), c.rows)
	}
	return all, false
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
