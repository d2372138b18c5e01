package commands

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/offsetledger/offsetledger/ledger"
)

// Clear deletes all committed offsets of the group, those of the ledger that this manager has
// not restored included, and forgets what is pending. It is a deleted event in the history, with
// the cause cleared, or where Kafka is captured what capture sees of it, with the reason "clear":
// what was committed before can still be read there.
func (m *Manager) Clear(ctx context.Context) error {
	if err := m.begin(ctx); err != nil {
		return fmt.Errorf("clear: %w", err)
	}
	defer m.end()
	if err := m.clear(ctx); err != nil {
		return fmt.Errorf("clear: %w", err)
	}
	return nil
}

func (m *Manager) clear(ctx context.Context) error {
	if err := m.drain(ctx); err != nil {
		return err
	}
	if err := m.flushAll(ctx); err != nil {
		return err
	}
	keys, err := m.keys(ctx)
	if err != nil {
		return err
	}
	if len(keys) == 0 {
		m.forgetAll()
		return nil
	}
	rows := make([]ledger.Offset, len(keys))
	for i, tp := range keys {
		rows[i] = ledger.Offset{Topic: tp.Topic, Partition: tp.Partition, At: noOffset}
	}
	plan, err := m.intend(ctx, rows, "clear")
	if err != nil {
		return err
	}
	if m.cfg.KafkaCommits {
		if err := (*m.broker.Load()).Delete(ctx, keys); err != nil {
			return fmt.Errorf("in Kafka: %w", err)
		}
	}
	return m.writeDeleted(ctx, rows, plan)
}

// noOffset stands in rows of which only the key means something.
const noOffset = -1

func (m *Manager) writeDeleted(ctx context.Context, rows []ledger.Offset, plan string) error {
	o, err := m.event(ledger.KindDeleted)
	if err != nil {
		return err
	}
	for i := range rows {
		rows[i].Effective, rows[i].CommitTime, rows[i].SourceOffset = o.event.Time, o.event.Time, o.event.Source.Offset
	}
	o.event.Offsets, o.event.Cause, o.event.Plan = rows, ledger.CauseCleared, plan
	if m.cfg.KafkaCommits {
		m.forgetAll()
		return m.record(ctx, o, true)
	}
	o.then = func(stored bool) {
		if stored {
			m.forgetAll()
		}
	}
	return m.write(ctx, o)
}

// keys are the partitions that have a committed offset, here or in the ledger, sorted.
func (m *Manager) keys(ctx context.Context) ([]ledger.TopicPartition, error) {
	s, err := m.fold(ctx)
	if err != nil {
		return nil, err
	}
	all := map[ledger.TopicPartition]struct{}{}
	for tp := range s.Offsets(m.cfg.Cluster, m.cfg.Group) {
		all[tp] = struct{}{}
	}
	for tp := range m.Committed() {
		all[tp] = struct{}{}
	}
	return slices.SortedFunc(maps.Keys(all), compare), nil
}

// forgetAll leaves no partition with an offset, committed or pending.
func (m *Manager) forgetAll() {
	for _, c := range m.cells.list() {
		c.mu.Lock()
		c.forget()
		c.committed, c.hasCommitted = mark{}, false
		c.setFloor(m.cfg.AllowRewind)
		c.mu.Unlock()
	}
}
