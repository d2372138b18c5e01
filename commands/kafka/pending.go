package kafka

import (
	"cmp"
	"slices"

	"github.com/offsetledger/offsetledger/ledger"
)

// pendingTable holds the rows of the open transactions of one source partition. The zero
// table is empty.
type pendingTable struct {
	open map[int64]*transaction // by producer id: a producer has one transaction at a time
}

// transaction is one open transaction, with its rows in log order.
type transaction struct {
	producerID int64
	first      int64
	since      ledger.Time
	rows       []pendingRow
	marked     bool // the replaced rows have their flag
	bytes      int  // estimate of the events that the rows become

	// Where the rows of a key stand that no tombstone stands behind, of those that were looked
	// through so far: none are before the first tombstone comes.
	alive  map[pendingKey][]int
	looked int
}

// pendingKey is what a tombstone deletes.
type pendingKey struct {
	group string
	ledger.TopicPartition
}

// pendingRow is a row that waits for its marker.
type pendingRow struct {
	group string
	row   ledger.Offset
	// dead: a tombstone stands behind it, so it will not apply. It is still told at the
	// marker, since somebody did commit it, but is no longer shown as pending.
	dead bool
}

// add takes a transactional row. It stays the first of its transaction if it is.
func (p *pendingTable) add(r *sourceRecord, group string, row ledger.Offset) {
	tx, ok := p.open[r.producerID]
	if !ok {
		tx = &transaction{producerID: r.producerID, first: r.offset, since: r.timestamp}
		if p.open == nil {
			p.open = map[int64]*transaction{}
		}
		p.open[r.producerID] = tx
	}
	tx.rows = append(tx.rows, pendingRow{group: group, row: row})
	tx.bytes += tx.rows[len(tx.rows)-1].size()
}

// size is an estimate of what the row adds to the events of its transaction, if it is the only
// one of its group.
func (r *pendingRow) size() int {
	return eventBytes + 2*len(r.group) + rowBytes + len(r.row.Topic) + len(r.row.Metadata)
}

// restore makes the open transactions of a cursor known, without their rows: those are to be
// read again from the lowest first position, which restore returns.
func (p *pendingTable) restore(open []ledger.OpenTransaction, next int64) (lowest int64) {
	lowest = next
	for _, o := range open {
		if p.open == nil {
			p.open = map[int64]*transaction{}
		}
		p.open[o.ProducerID] = &transaction{producerID: o.ProducerID, first: o.First, since: o.Since}
		lowest = min(lowest, o.First)
	}
	return lowest
}

// waitsFor reports whether r belongs to a transaction that a cursor told of.
func (p *pendingTable) waitsFor(r *sourceRecord) bool {
	tx, ok := p.open[r.producerID]
	return ok && r.offset >= tx.first
}

// kill marks the pending rows of one key as overtaken by its tombstone.
func (p *pendingTable) kill(group, topic string, partition int32) {
	key := pendingKey{group, ledger.TopicPartition{Topic: topic, Partition: partition}}
	for _, tx := range p.open {
		for _, i := range tx.of(key) {
			tx.rows[i].dead = true
		}
		delete(tx.alive, key)
	}
}

// of returns the places of the rows of a key. Groups of many partitions are deleted while large
// transactions are open, so no row is looked at for each tombstone.
func (tx *transaction) of(key pendingKey) []int {
	if tx.alive == nil {
		tx.alive = map[pendingKey][]int{}
	}
	for ; tx.looked < len(tx.rows); tx.looked++ {
		r := &tx.rows[tx.looked]
		k := pendingKey{r.group, ledger.TopicPartition{Topic: r.row.Topic, Partition: r.row.Partition}}
		tx.alive[k] = append(tx.alive[k], tx.looked)
	}
	return tx.alive[key]
}

// moved says that rows do not stand where they stood.
func (tx *transaction) moved() { tx.alive, tx.looked = nil, 0 }

// What is given out of a transaction at once. Most are smaller by far; a larger one is given
// out in steps, so that each fits into an append. A row may take a step beyond its bytes.
const (
	stepGroups = 30
	stepBytes  = 512 << 10
)

// weight is an estimate of the next step of a producer's transaction, from above.
func (p *pendingTable) weight(producerID int64) int {
	tx, ok := p.open[producerID]
	if !ok {
		return 0
	}
	return min(tx.bytes, stepBytes+maxElementBytes+stepGroups*(eventBytes+2*maxNameBytes))
}

// maxNameBytes is the longest name that a record can hold.
const maxNameBytes = 1<<15 - 1

// committed marks the rows of a producer's transaction that a later row of the same key
// replaces. The transaction may be given out in many events, and whoever folds one of them
// cannot know what the next one holds.
func (p *pendingTable) committed(producerID int64) {
	tx, ok := p.open[producerID]
	if !ok || tx.marked {
		return
	}
	tx.marked = true
	later := map[string]*keySet{}
	for i := len(tx.rows) - 1; i >= 0; i-- {
		group, row := tx.rows[i].group, &tx.rows[i].row
		keys := later[group]
		if keys == nil {
			keys = &keySet{}
			later[group] = keys
		}
		if keys.has(row.Topic, row.Partition) {
			row.Flags |= ledger.FlagReplaced
			continue
		}
		keys.add(row.Topic, row.Partition)
	}
}

// take removes the next step of a producer's transaction, whose marker has come, and reports
// whether it was the last.
func (p *pendingTable) take(producerID int64) (rows []pendingRow, last bool) {
	tx, ok := p.open[producerID]
	if !ok {
		return nil, true
	}
	n, size, groups := 0, 0, map[string]struct{}{}
	for ; n < len(tx.rows) && size < stepBytes; n++ {
		row := &tx.rows[n]
		groups[row.group] = struct{}{}
		if len(groups) > stepGroups {
			break
		}
		size += rowBytes + len(row.row.Topic) + len(row.row.Metadata)
	}
	if n == len(tx.rows) {
		delete(p.open, producerID)
		return tx.rows, true
	}
	rows, tx.rows = tx.rows[:n], tx.rows[n:]
	tx.moved()
	for i := range rows {
		tx.bytes -= rows[i].size()
	}
	tx.first = tx.rows[0].row.SourceOffset // after a restart only the rest is read again
	return rows, false
}

// oldest returns since when the oldest open transaction has been open.
func (p *pendingTable) oldest() (since ledger.Time, ok bool) {
	for _, tx := range p.open {
		since = ledger.MinTime(since, tx.since)
	}
	return since, len(p.open) > 0
}

// truncate forgets what stood at or above position.
func (p *pendingTable) truncate(position int64) {
	for id, tx := range p.open {
		if tx.first >= position {
			delete(p.open, id)
			continue
		}
		tx.rows = slices.DeleteFunc(tx.rows, func(r pendingRow) bool { return r.row.SourceOffset >= position })
		tx.moved()
		tx.marked = false // what replaced a row may be gone
		for i := range tx.rows {
			tx.rows[i].row.Flags &^= ledger.FlagReplaced
		}
	}
}

// groupRows are the rows of one group, in log order.
type groupRows struct {
	group string
	rows  []ledger.Offset
}

// byGroup returns rows by group, groups in the order of their first rows.
func byGroup(rows []pendingRow) []groupRows {
	var groups []groupRows
	at := map[string]int{}
	for i := range rows {
		g, ok := at[rows[i].group]
		if !ok {
			g = len(groups)
			at[rows[i].group] = g
			groups = append(groups, groupRows{group: rows[i].group})
		}
		groups[g].rows = append(groups[g].rows, rows[i].row)
	}
	return groups
}

// cursorRoom is how many bytes of pending rows a cursor lists. They are there to be shown; a
// restart reads all of them from the log again.
const cursorRoom = 256 << 10

// cursor returns the open transactions as a cursor tells them, by first position. It takes
// what it lists from room.
func (p *pendingTable) cursor(room *int) []ledger.OpenTransaction {
	if len(p.open) == 0 {
		return nil
	}
	open := make([]ledger.OpenTransaction, 0, len(p.open))
	for _, tx := range p.open {
		open = append(open, ledger.OpenTransaction{ProducerID: tx.producerID, First: tx.first, Since: tx.since})
	}
	slices.SortFunc(open, func(a, b ledger.OpenTransaction) int { return cmp.Compare(a.First, b.First) })
	for i := range open {
		for _, r := range p.open[open[i].ProducerID].rows {
			size := rowBytes + len(r.group) + len(r.row.Topic)
			if r.dead || size > *room {
				continue
			}
			*room -= size
			open[i].Rows = append(open[i].Rows, ledger.PendingOffset{
				Group: r.group, Topic: r.row.Topic, Partition: r.row.Partition, At: r.row.At, Position: r.row.SourceOffset,
			})
		}
	}
	return open
}
