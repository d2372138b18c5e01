package projection

import (
	"context"
	"fmt"
	"maps"
	"sync"

	"github.com/offsetledger/offsetledger/ledger"
)

// OffsetStore keeps the committed offsets of the groups of one cluster where others can read
// them.
//
// A store is a cache. What it holds was committed to the ledger first, so that losing it costs
// a replay and never data: see [Restock]. It is safe for concurrent use. Group and topic names
// can be any bytes, the empty group among them.
type OffsetStore interface {
	// Store keeps the offsets of partitions, over what it had of them. When it fails, some of
	// them may have been kept.
	Store(ctx context.Context, group string, offsets map[ledger.TopicPartition]OffsetInfo) error
	// Get returns the offset of one partition. It is false if there is none.
	Get(ctx context.Context, group string, tp ledger.TopicPartition) (OffsetInfo, bool, error)
	// All returns the offsets of a group, as the caller's own; empty if there are none.
	All(ctx context.Context, group string) (map[ledger.TopicPartition]OffsetInfo, error)
	// Delete removes the offset of one partition, if there is one.
	Delete(ctx context.Context, group string, tp ledger.TopicPartition) error
	// Clear removes the offsets of a group.
	Clear(ctx context.Context, group string) error
}

// Restock makes a store hold exactly the given offsets of a group, most often those of
// [State.Offsets] after a replay. A reader sees each partition's old or new offset meanwhile,
// and never an empty group; run again after an error or a crash it finishes.
func Restock(ctx context.Context, to OffsetStore, group string, offsets map[ledger.TopicPartition]OffsetInfo) error {
	if err := to.Store(ctx, group, offsets); err != nil {
		return fmt.Errorf("restock offsets of %q: %w", group, err)
	}
	have, err := to.All(ctx, group)
	if err != nil {
		return fmt.Errorf("restock offsets of %q: %w", group, err)
	}
	for tp := range have {
		if _, ok := offsets[tp]; ok {
			continue
		}
		if err := to.Delete(ctx, group, tp); err != nil {
			return fmt.Errorf("restock offsets of %q: %w", group, err)
		}
	}
	return nil
}

// MemoryStore is an [OffsetStore] in memory. The zero MemoryStore is empty and ready to use.
type MemoryStore struct {
	mu     sync.RWMutex
	groups map[string]map[ledger.TopicPartition]OffsetInfo
}

// Store implements [OffsetStore]. It never fails.
func (m *MemoryStore) Store(_ context.Context, group string, offsets map[ledger.TopicPartition]OffsetInfo) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.groups == nil {
		m.groups = map[string]map[ledger.TopicPartition]OffsetInfo{}
	}
	if m.groups[group] == nil {
		m.groups[group] = make(map[ledger.TopicPartition]OffsetInfo, len(offsets))
	}
	maps.Copy(m.groups[group], offsets)
	return nil
}

// Get implements [OffsetStore]. It never fails.
func (m *MemoryStore) Get(_ context.Context, group string, tp ledger.TopicPartition) (OffsetInfo, bool, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	info, ok := m.groups[group][tp]
	return info, ok, nil
}

// All implements [OffsetStore]. It never fails.
func (m *MemoryStore) All(_ context.Context, group string) (map[ledger.TopicPartition]OffsetInfo, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	out := make(map[ledger.TopicPartition]OffsetInfo, len(m.groups[group]))
	maps.Copy(out, m.groups[group])
	return out, nil
}

// Delete implements [OffsetStore]. It never fails.
func (m *MemoryStore) Delete(_ context.Context, group string, tp ledger.TopicPartition) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.groups[group], tp)
	return nil
}

// Clear implements [OffsetStore]. It never fails.
func (m *MemoryStore) Clear(_ context.Context, group string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.groups, group)
	return nil
}
