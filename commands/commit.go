package commands

import (
	"context"
	"fmt"
	"time"

	"github.com/offsetledger/offsetledger/ledger"
)

// Limits of one commit event. What is more becomes several.
const (
	commitRows    = 1 << 15
	commitBytes   = 4 << 20
	commitUpdates = 1 << 14 // updates that a commit carries in its own event
)

// Commit makes what is pending the committed offsets, and returns of how many partitions. It is
// one event in the ledger, with the updates that are not recorded yet; only more than 32,768
// partitions, or 4 MiB, are several. With nothing pending nothing is written.
//
// If it fails, what was pending stays pending, unless something newer has come. If ctx ends on
// the way, Commit takes up to [Config.LogWait] to find out what became of it. With an error that
// is not [ErrOutcomeUnknown] no more is committed than it says. After [ErrOutcomeUnknown] the
// next call finds out first.
//
// With commits to Kafka the broker's answer counts: rows that it refused are a
// [*RefusedError], and recorded as failed. [ErrLogAway] beside a number above 0 says that Kafka
// has the commit and the ledger will get it later.
func (m *Manager) Commit(ctx context.Context) (int, error) {
	return m.commitWhat(ctx, everything{})
}

// CommitPartitions is Commit of some partitions only, as when they are taken away.
func (m *Manager) CommitPartitions(ctx context.Context, partitions ...ledger.TopicPartition) (int, error) {
	only := make(somePartitions, len(partitions))
	for _, tp := range partitions {
		only[tp] = struct{}{}
	}
	return m.commitWhat(ctx, only)
}

func (m *Manager) commitWhat(ctx context.Context, s selection) (int, error) {
	if err := m.begin(ctx); err != nil {
		return 0, fmt.Errorf("commit: %w", err)
	}
	defer m.end()
	n, err := m.commit(ctx, s)
	if err != nil {
		return n, fmt.Errorf("commit: %w", err)
	}
	return n, nil
}

// selection says what of a cell that has something pending is to be committed, and how many of
// its waits that takes. The caller holds the cell's lock.
type selection interface {
	pick(c *cell) (m mark, waits int, ok bool)
}

type everything struct{}

func (everything) pick(c *cell) (mark, int, bool) { return c.pending, len(c.waits), true }

type somePartitions map[ledger.TopicPartition]struct{}

func (s somePartitions) pick(c *cell) (mark, int, bool) {
	_, ok := s[c.tp]
	return c.pending, len(c.waits), ok
}

// batch is a commit under way.
type batch struct {
	entries []entry
	rows    []ledger.Offset
	began   time.Time
	more    bool // something was left for the next
}

// entry is what a batch took from a cell. It has to be landed or put back.
type entry struct {
	c     *cell
	waits []wait
}

// commit commits what s selects. The caller has the turn.
func (m *Manager) commit(ctx context.Context, s selection) (int, error) {
	if m.cfg.KafkaCommits && m.broker.Load() == nil {
		return 0, ErrNoBroker
	}
	m.counted.Store(0)
	if err := m.prepare(ctx); err != nil {
		if m.somethingPending(s) {
			m.stats.failed()
		}
		return 0, err
	}
	total := 0
	for {
		b := m.collect(s)
		if len(b.entries) == 0 {
			m.running.committed()
			return total, nil
		}
		n, err := m.commitBatch(ctx, b)
		total += n
		if err != nil || !b.more {
			if err == nil {
				m.running.committed()
			}
			return total, err
		}
	}
}

// prepare settles what is left over from before. Where Kafka is committed to, a ledger that is
// away is no reason to wait.
func (m *Manager) prepare(ctx context.Context) error {
	if m.cfg.WhenLogAway != CommitAndMarkGap {
		return m.prepareLog(ctx)
	}
	if m.away.Load() && (m.running.now() || time.Since(m.w.tried) < 10*m.cfg.LogWait) {
		return nil // Run looks after it, or a later commit
	}
	m.w.tried = time.Now()
	wait, cancel := context.WithTimeout(ctx, m.cfg.LogWait)
	defer cancel()
	if err := m.prepareLog(wait); err != nil {
		m.away.Store(true)
	}
	return ctx.Err()
}

func (m *Manager) prepareLog(ctx context.Context) error {
	if err := m.drain(ctx); err != nil {
		return err
	}
	return m.flushTo(ctx, commitUpdates)
}

// somethingPending reports whether s would find something to commit, or something is in doubt.
func (m *Manager) somethingPending(s selection) bool {
	for _, c := range m.cells.list() {
		c.mu.Lock()
		_, _, ok := c.pick(s)
		ok = ok || c.hasInflight
		c.mu.Unlock()
		if ok {
			return true
		}
	}
	return false
}

// collect takes what is to be committed out of the cells.
func (m *Manager) collect(s selection) *batch {
	b := &batch{began: m.cfg.Clock()}
	all := m.cells.list()
	b.entries = make([]entry, 0, min(len(all), commitRows))
	b.rows = make([]ledger.Offset, 0, min(len(all), commitRows))
	size, topic := 0, ""
	for _, c := range all {
		if len(b.rows) == commitRows || size > commitBytes {
			b.more = true
			break
		}
		c.mu.Lock()
		if mark, waits, ok := c.pick(s); ok {
			b.entries = append(b.entries, entry{c: c, waits: c.start(mark, waits)})
			b.rows = append(b.rows, ledger.Offset{
				Topic: c.tp.Topic, Partition: c.tp.Partition, At: mark.at, LeaderEpoch: mark.epoch, Metadata: mark.metadata,
			})
			c.setFloor(m.cfg.AllowRewind)
			size += rowBytes + len(mark.metadata)
			if c.tp.Topic != topic {
				topic = c.tp.Topic
				size += len(topic)
			}
		}
		c.mu.Unlock()
	}
	return b
}

// pick is what s selects of c, if c has something to commit. The caller holds c.mu.
func (c *cell) pick(s selection) (mark, int, bool) {
	if !c.hasPending || c.refused || c.dropped {
		return mark{}, 0, false
	}
	return s.pick(c)
}

// start makes mark the commit under way, and returns the waits that it takes. The caller holds
// c.mu.
func (c *cell) start(m mark, waits int) []wait {
	c.inflight, c.hasInflight = m, true
	took := c.waits[:waits:waits]
	c.waits = c.waits[waits:]
	c.hasPending = len(c.waits) > 0
	return took
}

// land makes the commit under way the committed offset.
func (m *Manager) land(e entry, when int64) {
	c := e.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hasInflight {
		c.committed, c.hasCommitted = c.inflight, true
		c.committed.when = when
		c.inflight, c.hasInflight = mark{}, false
	}
	c.setFloor(m.cfg.AllowRewind)
}

// putBack makes the commit under way pending again, unless something newer is.
func (m *Manager) putBack(e entry, refused bool) {
	c := e.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hasInflight && !c.dropped {
		if !c.hasPending {
			c.pending, c.hasPending, c.refused = c.inflight, true, refused
		}
		c.waits = append(e.waits, c.waits...)
	}
	c.inflight, c.hasInflight = mark{}, false
	c.setFloor(m.cfg.AllowRewind)
}

// commitBatch commits b, or puts it back.
func (m *Manager) commitBatch(ctx context.Context, b *batch) (int, error) {
	if m.cfg.KafkaCommits {
		return m.commitToKafka(ctx, b)
	}
	o, err := m.commitEvent(b.rows, m.time(), true)
	if err != nil {
		m.settled(b, false, 0)
		return 0, err
	}
	when, _ := o.event.Time.Millis()
	updates, cost := o.event.Updates, o.cost
	o.then = func(stored bool) {
		if !stored {
			m.keepUpdates(updates, cost)
		}
		m.settled(b, stored, when)
	}
	if err := m.write(ctx, o); err != nil {
		return 0, err
	}
	return len(b.rows), nil
}

// commitEvent makes the event of a commit that came true at a moment.
func (m *Manager) commitEvent(rows []ledger.Offset, at ledger.Time, withUpdates bool) (*outgoing, error) {
	o, err := m.event(ledger.KindCommitted)
	if err != nil {
		return nil, err
	}
	ev := &o.event
	ev.Time = at
	for i := range rows {
		rows[i].CommitTime, rows[i].Effective, rows[i].SourceOffset = ev.Time, ev.Time, ev.Source.Offset
	}
	ev.Offsets = rows
	if withUpdates {
		ev.Updates, o.cost = m.gather(flushRows, ev.Source.Offset, ev.Time)
	}
	return o, nil
}

// settled ends a batch that was stored as a whole or not at all.
func (m *Manager) settled(b *batch, stored bool, when int64) {
	for _, e := range b.entries {
		if stored {
			m.land(e, when)
		} else {
			m.putBack(e, false)
		}
	}
	if stored {
		m.stats.succeeded(len(b.rows), m.cfg.Clock(), b.began)
	} else {
		m.stats.failed()
	}
}
