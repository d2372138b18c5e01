package commands

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// Manager keeps the offsets of one consumer group: what was updated, what is committed. Its
// methods may be called from any goroutine.
//
// An update says how far a partition was processed; the last one wins, whatever came before, as
// long as it does not go back behind the committed offset. A commit makes the last updates of
// all partitions the committed offsets. A commit that fails leaves them pending, to go with the
// next one.
type Manager struct {
	cfg      Config
	log      Log
	instance string // a UUID; the source of all that this manager writes
	claims   string // subject of the claims of the group

	cells  cells
	budget budget
	broker atomic.Pointer[Broker]

	// stopped is why the manager takes nothing any more; nil while it does.
	stopped atomic.Pointer[stop]
	away    atomic.Bool // the last try to write to the ledger got no answer

	clock   clock
	counted atomic.Int64 // updates since the last commit, for EveryN
	nudge   chan struct{}
	running running

	turn  chan struct{} // holds a token while somebody writes, and owns w
	w     writer
	stats counters
}

type stop struct{ err error }

// NewManager returns a manager of a group. Without commits to Kafka it takes the group over at
// once, by a claim in the ledger: another manager of the group gets [ledger.ErrConflict] when it
// next writes, and stops. It does not read the history: [Manager.Restore] does.
func NewManager(ctx context.Context, log Log, cfg Config) (*Manager, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("offset manager: %w", err)
	}
	id, err := uuid.NewV7()
	if err != nil {
		return nil, fmt.Errorf("offset manager: %w", err)
	}
	m := &Manager{
		cfg: cfg, log: log, instance: id.String(), claims: ledger.GroupSubject(cfg.Cluster, cfg.Group, ledger.KindClaim),
		nudge: make(chan struct{}, 1), turn: make(chan struct{}, 1), running: newRunning(),
	}
	m.budget.limit = int64(cfg.BufferLimit)
	m.budget.enough = min(flushRows, m.budget.limit/2)
	if !cfg.KafkaCommits {
		if err := m.claim(ctx); err != nil {
			return nil, fmt.Errorf("offset manager of %s/%s: %w", cfg.Cluster, cfg.Group, err)
		}
	}
	return m, nil
}

// Instance identifies this manager: it is the source instance of the events that it writes.
func (m *Manager) Instance() string { return m.instance }

// Bind sets who commits to Kafka. Until it is called a manager with [Config.KafkaCommits]
// commits nothing.
func (m *Manager) Bind(b Broker) { m.broker.Store(&b) }

// Offset returns the committed offset of a partition: the next to read. It is false if nothing
// was committed by this manager, nor restored.
func (m *Manager) Offset(topic string, partition int32) (int64, bool) {
	c := m.cells.find(topic, partition)
	if c == nil {
		return 0, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.committed.at, c.hasCommitted
}

// OffsetInfo returns what is known of the committed offset of a partition, as [Manager.Offset].
func (m *Manager) OffsetInfo(topic string, partition int32) (projection.OffsetInfo, bool) {
	c := m.cells.find(topic, partition)
	if c == nil {
		return projection.OffsetInfo{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.hasCommitted {
		return projection.OffsetInfo{}, false
	}
	return c.info(&c.committed), true
}

// Committed returns all committed offsets, as the caller's own. It is not one moment of all
// partitions: a commit that ends meanwhile can be in it in part.
func (m *Manager) Committed() map[ledger.TopicPartition]projection.OffsetInfo {
	out := map[ledger.TopicPartition]projection.OffsetInfo{}
	for _, c := range m.cells.list() {
		c.mu.Lock()
		if c.hasCommitted {
			out[c.tp] = c.info(&c.committed)
		}
		c.mu.Unlock()
	}
	return out
}

// Pending returns the offsets that are not committed yet, those of a commit under way included.
func (m *Manager) Pending() map[ledger.TopicPartition]projection.OffsetInfo {
	out := map[ledger.TopicPartition]projection.OffsetInfo{}
	for _, c := range m.cells.list() {
		c.mu.Lock()
		if mark, ok := c.newest(); ok {
			out[c.tp] = c.info(mark)
		}
		c.mu.Unlock()
	}
	return out
}

// begin takes the turn to write. Whoever gets no error has to call end.
func (m *Manager) begin(ctx context.Context) error {
	if err := m.stop(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case m.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := m.stop(); err != nil {
		m.end()
		return err
	}
	return nil
}

func (m *Manager) end() { <-m.turn }

// stop is why the manager takes nothing any more, nil if it does.
func (m *Manager) stop() error {
	if s := m.stopped.Load(); s != nil {
		return s.err
	}
	return nil
}

// fenced is why the manager may not even write what it has taken: the group is not its own any
// more. Nil if it may.
func (m *Manager) fenced() error {
	if err := m.stop(); !errors.Is(err, ErrClosed) {
		return err
	}
	return nil
}

// fence stops the manager since somebody else has taken the group over. The caller has the turn.
func (m *Manager) fence(err error) error {
	m.stopped.Store(&stop{err})
	return err
}

// clock tells the time. While Run runs it is read by Run alone, every few milliseconds, since
// asking the system takes longer than an update.
type clock struct{ coarse atomic.Int64 } // milliseconds; 0: ask

// millis is the time in milliseconds.
func (m *Manager) millis() int64 {
	if now := m.clock.coarse.Load(); now != 0 {
		return now
	}
	return m.cfg.Clock().UnixMilli()
}

// time is the moment of an event: never before that of the event before.
func (m *Manager) time() ledger.Time {
	now := ledger.MaxTime(ledger.AtTime(m.cfg.Clock()), m.w.last)
	m.w.last = now
	return now
}
