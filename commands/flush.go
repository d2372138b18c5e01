package commands

import (
	"context"
	"slices"
	"time"

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
	name string          // the topic of the last of them
}

// taken is what a cell had buffered.
type taken struct {
	c      *cell
	buf    []int64
	extras []extra
	done   int   // updates that are in an event already
	extra  int   // and extras
	cost   int64 // of the budget
}

// gather moves up to limit buffered updates into rows, which are valid until the next gather,
// and returns what they take of the budget. Updates of one partition stay in order.
func (m *Manager) gather(limit int, source int64, now ledger.Time) ([]ledger.Offset, int64) {
	w := &m.w.collected
	w.rows, w.name = w.rows[:0], ""
	size := flushBytes
	cost := w.fill(&w.rest, limit, &size, source, now)
	all := m.cells.list()
	for range all {
		if len(w.rows) == limit || size <= 0 || w.rest.c != nil {
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
	w.rest = taken{c: c, buf: c.buf, extras: c.extras, cost: c.cost}
	c.buf, c.spare, c.extras, c.spareExtras, c.cost, c.credit = c.spare, nil, c.spareExtras, nil, 0, 0
	return true
}

// fill makes rows of what is left in t, and returns what t took of the budget when all of it is
// in rows.
func (w *collected) fill(t *taken, limit int, size *int, source int64, now ledger.Time) int64 {
	if t.c == nil {
		return 0
	}
	row := ledger.Offset{Topic: t.c.tp.Topic, Partition: t.c.tp.Partition, Effective: now, SourceOffset: source}
	if len(t.buf) > 0 && row.Topic != w.name {
		w.name = row.Topic
		*size -= len(w.name)
	}
	for ; t.done < len(t.buf); t.done++ {
		if len(w.rows) == limit || *size <= 0 {
			return 0
		}
		row.At = t.buf[t.done]
		*size -= rowBytes
		if t.extra < len(t.extras) && t.extras[t.extra].i == t.done {
			r, e := row, &t.extras[t.extra]
			r.LeaderEpoch, r.Metadata, r.CommitTime = e.epoch, e.metadata, e.eventTime
			*size -= len(e.metadata)
			t.extra++
			w.rows = append(w.rows, r)
			continue
		}
		w.rows = append(w.rows, row)
	}
	cost := t.cost
	t.c.giveBack(t.buf, t.extras)
	*t = taken{}
	return cost
}

// giveBack lets the cell use its buffers again, unless one is much larger than what was in it: a
// burst must not take memory for ever.
func (c *cell) giveBack(buf []int64, extras []extra) {
	clear(extras) // of their metadata
	c.mu.Lock()
	defer c.mu.Unlock()
	if wellUsed(buf) {
		c.spare = buf[:0]
	}
	if wellUsed(extras) {
		c.spareExtras = extras[:0]
	}
}

func wellUsed[T any](buf []T) bool {
	const small = 64
	return cap(buf) <= small || cap(buf) <= 4*len(buf)
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

// flushTo records what is buffered when it is called, but for about so much of it. What comes
// meanwhile is not waited for, so that it ends.
func (m *Manager) flushTo(ctx context.Context, rest int64) error {
	for most := m.budget.used.Load(); most > rest; {
		n, err := m.flush(ctx)
		if err != nil || n == 0 {
			return err
		}
		most -= int64(n)
	}
	return nil
}

// flushAll records all that is buffered when it is called, after what is left over from before.
func (m *Manager) flushAll(ctx context.Context) error {
	if err := m.drain(ctx); err != nil {
		return err
	}
	return m.flushTo(ctx, 0)
}

// enough is called by the update that makes it worthwhile to record. If nobody runs Run, nor
// writes, it has to do that itself; a failure is for the next to see.
func (m *Manager) enough() {
	if m.running.now() {
		m.wake()
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), m.cfg.LogWait)
	defer cancel()
	select {
	case m.turn <- struct{}{}:
		defer m.end()
		_, _ = m.flush(ctx) // what failed is in doubt, or still buffered
	default:
	}
}

// roomWait is how often an update that waits for its turn looks whether there is room already.
const roomWait = 5 * time.Millisecond

// makeRoom returns when there is room in the budget, recording updates for that if nobody else
// does. It fails if that takes longer than LogWait: then the ledger counts as away.
func (m *Manager) makeRoom() error {
	ctx, cancel := context.WithTimeout(context.Background(), m.cfg.LogWait)
	defer cancel()
	for {
		step, cancel := context.WithTimeout(ctx, roomWait)
		err := m.begin(step)
		cancel()
		switch {
		case err == nil:
			defer m.end()
			if m.budget.used.Load() < m.budget.limit {
				return nil
			}
			_, err := m.flush(ctx)
			return err
		case m.budget.used.Load() < m.budget.limit:
			return nil
		case ctx.Err() != nil:
			m.away.Store(true) // whoever has the turn gets no answer
			return err
		case m.stop() != nil:
			return err
		}
	}
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
