package projection

import (
	"math"

	"github.com/offsetledger/offsetledger/ledger"
)

// column is one fact of many rows. set is false for a number that the fact cannot be.
type column[T any] struct {
	get func(*T) int64
	set func(*T, int64) bool
}

// columnsOf goes over rows column by column. One whose rows are all alike is its first number;
// any other is the differences of each row to the one before, modulo 2^64.
func columnsOf[T any](x *coder, rows []T, columns []column[T]) {
	for _, col := range columns {
		alike := true
		first := col.get(&rows[0])
		for i := range rows {
			if alike = !x.reading && col.get(&rows[i]) == first; !alike {
				break
			}
		}
		x.flag(&alike)
		x.int(&first)
		last := first
		for i := range rows {
			if i > 0 && !alike {
				diff := int64(0)
				if !x.reading {
					diff = col.get(&rows[i]) - last
				}
				x.int(&diff)
				last += diff
			}
			if x.reading && !col.set(&rows[i], last) {
				x.fail("%d is out of range", last)
			}
			if x.err != nil {
				return
			}
		}
	}
}

// within sets a narrow field, and is false if v is too large for it.
func within[T ~int32 | ~uint8 | ~uint16 | ~uint32](dst *T, v int64) bool {
	*dst = T(v)
	return int64(*dst) == v
}

func instant(t ledger.Time) int64 {
	if ms, ok := t.Millis(); ok {
		return ms
	}
	return math.MinInt64 // which AtMillis makes unknown again
}

// cellColumns are all that a cell holds but its metadata. A column that refers to another comes
// after it.
var cellColumns = []column[cell]{
	{func(c *cell) int64 { return int64(c.partition) }, func(c *cell, v int64) bool { return within(&c.partition, v) }},
	{func(c *cell) int64 { return c.at }, func(c *cell, v int64) bool { c.at = v; return true }},
	{func(c *cell) int64 { return c.position }, func(c *cell, v int64) bool { c.position = v; return true }},
	{func(c *cell) int64 { return int64(c.seq) }, func(c *cell, v int64) bool { c.seq = uint64(v); return true }},
	{func(c *cell) int64 { return instant(c.effective) }, func(c *cell, v int64) bool { c.effective = ledger.AtMillis(v); return true }},
	{func(c *cell) int64 { return instant(c.commit) - instant(c.effective) },
		func(c *cell, v int64) bool { c.commit = ledger.AtMillis(v + instant(c.effective)); return true }},
	{func(c *cell) int64 { return int64(c.still) }, func(c *cell, v int64) bool { return within(&c.still, v) }},
	{func(c *cell) int64 { return int64(c.rate) }, func(c *cell, v int64) bool { return within(&c.rate, v) }},
	{func(c *cell) int64 { return int64(c.epoch.Kafka()) }, setEpoch},
	{func(c *cell) int64 { return int64(c.topicID) }, func(c *cell, v int64) bool { return within(&c.topicID, v) }},
	{func(c *cell) int64 { return int64(c.owner) }, func(c *cell, v int64) bool { return within(&c.owner, v) }},
	{func(c *cell) int64 { return int64(c.flags) }, func(c *cell, v int64) bool { return within(&c.flags, v) }},
	{func(c *cell) int64 { return int64(c.source) }, func(c *cell, v int64) bool { return within(&c.source, v) }},
	{func(c *cell) int64 { return int64(c.cause) }, func(c *cell, v int64) bool { return within(&c.cause, v) }},
	{func(c *cell) int64 { return int64(c.samples) }, func(c *cell, v int64) bool { return within(&c.samples, v) }},
}

func setEpoch(c *cell, v int64) bool {
	c.epoch = ledger.EpochOf(int32(v))
	return int64(c.epoch.Kafka()) == v
}

var markColumns = []column[mark]{
	{func(m *mark) int64 { return int64(m.partition) }, func(m *mark, v int64) bool { return within(&m.partition, v) }},
	{func(m *mark) int64 { return m.start }, func(m *mark, v int64) bool { m.start = v; return true }},
	{func(m *mark) int64 { return m.end }, func(m *mark, v int64) bool { m.end = v; return true }},
	{func(m *mark) int64 { return instant(m.told) }, func(m *mark, v int64) bool { m.told = ledger.AtMillis(v); return true }},
	{func(m *mark) int64 { return int64(m.unstable) }, func(m *mark, v int64) bool { return within(&m.unstable, v) }},
}

// code goes over the marks of a topic.
func (t *topic) codeMarks(x *coder) {
	if t.marks = rowsOf(x, t.marks); len(t.marks) == 0 {
		return
	}
	columnsOf(x, t.marks, markColumns)
	for i := 1; i < len(t.marks); i++ {
		if t.marks[i-1].partition >= t.marks[i].partition {
			x.fail("partitions out of order")
		}
	}
}

// code goes over the cells of a topic, and the distinct texts of their metadata.
func (t *groupTopic) codeCells(x *coder) {
	if t.cells = rowsOf(x, t.cells); len(t.cells) == 0 {
		return
	}
	columnsOf(x, t.cells, cellColumns)
	for i := range t.cells {
		if i > 0 && t.cells[i-1].partition >= t.cells[i].partition {
			x.fail("partitions out of order")
		}
		if int(t.cells[i].topicID) >= len(t.ids) {
			x.fail("topic id %d of %d", t.cells[i].topicID, len(t.ids))
		}
	}
	t.codeMetadata(x)
}

// codeMetadata goes over the distinct texts in the order in which they come, and then over which
// of them each cell has.
func (t *groupTopic) codeMetadata(x *coder) {
	var texts []string
	which := make([]int64, len(t.cells))
	if !x.reading {
		places := map[string]int64{}
		for i := range t.cells {
			text := t.cells[i].metadata
			if i > 0 && text == t.cells[i-1].metadata {
				which[i] = which[i-1]
				continue
			}
			at, ok := places[text]
			if !ok {
				at = int64(len(texts))
				places[text] = at
				texts = append(texts, text)
			}
			which[i] = at
		}
	}
	list(x, &texts, x.text)
	columnsOf(x, which, []column[int64]{{func(v *int64) int64 { return *v }, func(v *int64, n int64) bool {
		*v = n
		return n >= 0 && n < int64(len(texts))
	}}})
	if x.reading && x.err == nil {
		for i := range t.cells {
			t.cells[i].metadata = texts[which[i]]
		}
	}
}

// rowsOf makes room for rows when reading. Their partitions follow, a byte or more for each.
func rowsOf[T any](x *coder, rows []T) []T {
	n := x.count(len(rows))
	if !x.reading {
		return rows
	}
	if n == 0 {
		return nil
	}
	return make([]T, n)
}
