package projection

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/offsetledger/offsetledger/ledger"
)

// StateBackend is a place for small values under keys: what a [BackendStore] needs of a
// database. Keys consist of letters, digits and the bytes `_ / = - .`; they neither start nor
// end with a dot and have no two in a row. A backend is safe for concurrent use.
type StateBackend interface {
	// Get returns the value of a key, as the caller's own. It is false if there is none.
	Get(ctx context.Context, key string) ([]byte, bool, error)
	// Put keeps a value under a key, over the one it had. The value stays the caller's.
	Put(ctx context.Context, key string, value []byte) error
	// Delete removes a key, if it is there.
	Delete(ctx context.Context, key string) error
	// Keys yields, in any order, the keys that begin with prefix and were there when it was
	// called; prefix is empty or ends with a dot. An error ends it.
	Keys(ctx context.Context, prefix string) iter.Seq2[string, error]
}

// BackendStore is an [OffsetStore] over a [StateBackend]: one key a partition,
//
//	<cluster>.<group>.<topic>.<partition>
//
// with names as [ledger.Token] spells them, but for `=-` in place of `=~`, and a JSON object as
// its value. Several clusters can share a backend.
type BackendStore struct {
	backend StateBackend
	cluster string
}

// NewBackendStore returns a store of the offsets of one cluster.
func NewBackendStore(backend StateBackend, cluster string) *BackendStore {
	return &BackendStore{backend, cluster}
}

func (s *BackendStore) prefix(group string) string {
	return keyToken(s.cluster) + "." + keyToken(group) + "."
}

func (s *BackendStore) key(group string, tp ledger.TopicPartition) string {
	return s.prefix(group) + keyToken(tp.Topic) + "." + strconv.FormatInt(int64(tp.Partition), 10)
}

// keyToken is name as one token of a key. A tilde, which not all backends take in keys, stands in
// tokens that are cut and nowhere else.
func keyToken(name string) string { return strings.ReplaceAll(ledger.Token(name), "~", "-") }

// Store implements [OffsetStore], one Put after the other in the order of topic and partition.
func (s *BackendStore) Store(ctx context.Context, group string, offsets map[ledger.TopicPartition]OffsetInfo) error {
	order := slices.SortedFunc(maps.Keys(offsets), func(a, b ledger.TopicPartition) int {
		if n := strings.Compare(a.Topic, b.Topic); n != 0 {
			return n
		}
		return int(a.Partition) - int(b.Partition)
	})
	for _, tp := range order {
		value := encodeStored(stored{s.cluster, group, tp, offsets[tp]})
		if err := s.backend.Put(ctx, s.key(group, tp), value); err != nil {
			return fmt.Errorf("store offset of %q %s/%d: %w", group, tp.Topic, tp.Partition, err)
		}
	}
	return nil
}

// Get implements [OffsetStore]. A value that is none of this store's is [ledger.ErrDamaged]:
// the mend is [Restock].
func (s *BackendStore) Get(ctx context.Context, group string, tp ledger.TopicPartition) (OffsetInfo, bool, error) {
	v, ok, err := s.get(ctx, s.key(group, tp))
	if err != nil {
		return OffsetInfo{}, false, fmt.Errorf("get offset of %q %s/%d: %w", group, tp.Topic, tp.Partition, err)
	}
	return v.info, ok, nil
}

func (s *BackendStore) get(ctx context.Context, key string) (stored, bool, error) {
	b, ok, err := s.backend.Get(ctx, key)
	if err != nil || !ok {
		return stored{}, false, err
	}
	v, err := decodeStored(b)
	if err == nil && (s.cluster != v.cluster || s.key(v.group, v.tp) != key) {
		err = &ledger.DamagedError{Field: "stored offset", Detail: "it is that of another partition"}
	}
	if err != nil {
		return stored{}, false, fmt.Errorf("key %s: %w", key, err)
	}
	return v, true, nil
}

// All implements [OffsetStore]. Partitions that are stored or deleted meanwhile may be among
// the offsets or not. A value that is none of this store's is [ledger.ErrDamaged].
func (s *BackendStore) All(ctx context.Context, group string) (map[ledger.TopicPartition]OffsetInfo, error) {
	out := map[ledger.TopicPartition]OffsetInfo{}
	for key, err := range s.backend.Keys(ctx, s.prefix(group)) {
		if err != nil {
			return nil, fmt.Errorf("list offsets of %q: %w", group, err)
		}
		v, ok, err := s.get(ctx, key)
		if err != nil {
			return nil, fmt.Errorf("list offsets of %q: %w", group, err)
		}
		if ok {
			out[v.tp] = v.info
		}
	}
	return out, nil
}

// Delete implements [OffsetStore].
func (s *BackendStore) Delete(ctx context.Context, group string, tp ledger.TopicPartition) error {
	if err := s.backend.Delete(ctx, s.key(group, tp)); err != nil {
		return fmt.Errorf("delete offset of %q %s/%d: %w", group, tp.Topic, tp.Partition, err)
	}
	return nil
}

// Clear implements [OffsetStore]. Values that cannot be read go too.
func (s *BackendStore) Clear(ctx context.Context, group string) error {
	for key, err := range s.backend.Keys(ctx, s.prefix(group)) {
		if err == nil {
			err = s.backend.Delete(ctx, key)
		}
		if err != nil {
			return fmt.Errorf("clear offsets of %q: %w", group, err)
		}
	}
	return nil
}

// MemoryBackend is a [StateBackend] in memory. The zero MemoryBackend is empty and ready to
// use.
type MemoryBackend struct {
	mu     sync.RWMutex
	values map[string][]byte
}

// Get implements [StateBackend]. It never fails.
func (m *MemoryBackend) Get(_ context.Context, key string) ([]byte, bool, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	v, ok := m.values[key]
	return slices.Clone(v), ok, nil
}

// Put implements [StateBackend]. It never fails.
func (m *MemoryBackend) Put(_ context.Context, key string, value []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.values == nil {
		m.values = map[string][]byte{}
	}
	m.values[key] = slices.Clone(value)
	return nil
}

// Delete implements [StateBackend]. It never fails.
func (m *MemoryBackend) Delete(_ context.Context, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.values, key)
	return nil
}

// Keys implements [StateBackend]. It never fails, and may be changed while it is iterated over.
func (m *MemoryBackend) Keys(_ context.Context, prefix string) iter.Seq2[string, error] {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var found []string
	for key := range m.values {
		if strings.HasPrefix(key, prefix) {
			found = append(found, key)
		}
	}
	return func(yield func(string, error) bool) {
		for _, key := range found {
			if !yield(key, nil) {
				return
			}
		}
	}
}
