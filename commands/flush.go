package commands

import (
	"context"
	"errors"
	"slices"

	"github.com/offsetledger/offsetledger/ledger"
)

// Limits of the updates in one event. An event of more than 900 KiB is stored in parts, which
// costs ten times as much.
const (
	flushRows  = 1 << 15
	flushBytes = 700 << 10
	rowBytes   = 8 // what an update without metadata takes, about
)

// collected are the updates that were taken out of their cells and are not in an event yet. The
// holder of the turn owns it.
type collected struct {
	rest taken           // of the buffer that did not fit into the last event
	next int             // the cell to look into first
	rows []ledger.Offset // of the last event of updates
	free [][]int64       // buffers for cells
}

// taken is what a cell had buffered.
type taken struct {
	tp     ledger.TopicPartition
	buf    []int64
	extras []extra
	done   int   // updates that are in an event already
	cost   int64 // of the budget
}

// maxFree is how many buffers are kept for cells to use again.
const maxFree = 1024

// gather moves up to limit buffered updates into rows, which are valid until the next gather,
// and returns what they take of the budget. Updates of one partition stay in order.
func (m *Manager) gather(limit int, source int64, now ledger.Time) ([]ledger.Offset, int64) {
	w := &m.w.collected
	w.rows = w.rows[:0]
	size := flushBytes
	cost := w.fill(&w.rest, limit, &size, source, now)
	all := m.cells.list()
	for range all {
		if len(w.rows) == limit || size <= 0 || len(w.rest.buf) > 0 {
			break
		}
		if w.next >= len(all) {
			w.next = 0
		}
		c := all[w.next]
		w.next++
		if w.takeFrom(c) {
			cost += w.fill(&w.rest, limit, &size, source, now)
		}
	}
	return w.rows, cost
}

// takeFrom takes what c has buffered into rest. It is false if that is nothing.
func (w *collected) takeFrom(c *cell) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cost == 0 {
		return false
	}
	w.rest = taken{tp: c.tp, buf: c.buf, extras: c.extras, cost: c.cost}
	c.buf, c.extras, c.cost, c.credit = nil, nil, 0, 0
	if n := len(w.free); n > 0 {
		c.buf, w.free = w.free[n-1], w.free[:n-1]
	}
	return true
}

// fill makes rows of what is left in t.
func (w *collected) fill(t *taken, limit int, size *int, source int64, now ledger.Time) int64 {
	row := ledger.Offset{Topic: t.tp.Topic, Partition: t.tp.Partition, Effective: now, SourceOffset: source}
	for ; t.done < len(t.buf); t.done++ {
		if len(w.rows) == limit || *size <= 0 {
			return 0
		}
		row.At = t.buf[t.done]
		*size -= rowBytes
		if len(t.extras) > 0 && t.extras[0].i == t.done {
			r, e := row, &t.extras[0]
			r.LeaderEpoch, r.Metadata, r.CommitTime = e.epoch, e.metadata, e.eventTime
			*size -= len(e.metadata)
			t.extras = t.extras[1:]
			w.rows = append(w.rows, r)
			continue
		}
		w.rows = append(w.rows, row)
	}
	cost := t.cost
	if cap(t.buf) > 0 && len(w.free) < maxFree {
		w.free = append(w.free, t.buf[:0])
	}
	*t = taken{}
	return cost
}

// flush records one event of buffered updates, after what is left over from before. It returns
// how many there were.
func (m *Manager) flush(ctx context.Context) (int, error) {
	if err := m.drain(ctx); err != nil {
		return 0, err
	}
	o, err := m.event(ledger.KindUpdated)
	if err != nil {
		return 0, err
	}
	rows, cost := m.gather(flushRows, o.event.Source.Offset, o.event.Time)
	if len(rows) == 0 {
		m.budget.used.Add(-cost) // credit that nobody used
		return 0, nil
	}
	o.event.Offsets, o.cost = rows, cost
	return len(rows), m.write(ctx, o)
}

// flushAll records all that is buffered when it is called.
func (m *Manager) flushAll(ctx context.Context) error {
	for most := m.budget.used.Load(); ; {
		n, err := m.flush(ctx)
		if most -= int64(n); n == 0 || err != nil || most <= 0 && n < flushRows {
			return err
		}
	}
}

// flushDown records what is buffered until it is less than so much of the budget.
func (m *Manager) flushDown(ctx context.Context, less int64) error {
	for m.budget.used.Load() >= less {
		n, err := m.flush(ctx)
		if err != nil || n == 0 {
			return err
		}
	}
	return nil
}

// enough is called by the update that makes it worthwhile to record. If nobody runs Run it has
// to do that itself; a failure is for the next to see.
func (m *Manager) enough() {
	if m.running.now() {
		m.wake()
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), m.cfg.LogWait)
	defer cancel()
	if m.begin(ctx) != nil {
		return
	}
	defer m.end()
	_ = m.flushDown(ctx, m.budget.enough) // what failed is in doubt, or buffered
}

// makeRoom is called by an update for which the budget has no room.
func (m *Manager) makeRoom() error {
	ctx, cancel := context.WithTimeout(context.Background(), m.cfg.LogWait)
	defer cancel()
	if err := m.begin(ctx); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			m.away.Store(true) // whoever has the turn gets no answer
		}
		return err
	}
	defer m.end()
	return m.flushDown(ctx, m.budget.limit)
}

// keepUpdates puts updates of an event that was not stored into an event of their own.
func (m *Manager) keepUpdates(rows []ledger.Offset, cost int64) {
	if len(rows) == 0 {
		m.budget.used.Add(-cost)
		return
	}
	o, err := m.event(ledger.KindUpdated)
	if err != nil {
		m.budget.used.Add(-cost)
		m.lose(int64(len(rows)))
		return
	}
	o.event.Offsets, o.cost = slices.Clone(rows), cost
	for i := range o.event.Offsets {
		o.event.Offsets[i].SourceOffset = o.event.Source.Offset
	}
	m.leave(o)
}
