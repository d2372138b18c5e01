// Package storetest holds the contract of [projection.OffsetStore] as tests, for those who
// write a store or a backend of their own. It refuses to know how a store works.
package storetest

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

type offsets = map[ledger.TopicPartition]projection.OffsetInfo

// Run tests the stores that open returns, each of them empty and used by one test.
func Run(t *testing.T, open func(*testing.T) projection.OffsetStore) {
	t.Run("what was stored last is there", func(t *testing.T) { storedLast(t, open(t)) })
	t.Run("unknown stays unknown", func(t *testing.T) { unknown(t, open(t)) })
	t.Run("names never collide", func(t *testing.T) { names(t, open(t)) })
	t.Run("what is deleted is gone", func(t *testing.T) { deleted(t, open(t)) })
	t.Run("a group is restocked", func(t *testing.T) { restocked(t, open(t)) })
}

func tp(topic string, partition int32) ledger.TopicPartition {
	return ledger.TopicPartition{Topic: topic, Partition: partition}
}

func requireAll(t *testing.T, s projection.OffsetStore, group string, want offsets) {
	t.Helper()
	got, err := s.All(t.Context(), group)
	require.NoError(t, err)
	require.Equal(t, want, got)
	for key, info := range want {
		one, ok, err := s.Get(t.Context(), group, key)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, info, one)
	}
}

func storedLast(t *testing.T, s projection.OffsetStore) {
	_, ok, err := s.Get(t.Context(), "g", tp("orders", 0))
	require.NoError(t, err)
	require.False(t, ok)
	requireAll(t, s, "g", offsets{})

	full := projection.OffsetInfo{
		Offset: math.MaxInt64, LeaderEpoch: ledger.EpochOf(math.MaxInt32 - 1), HighWatermark: projection.Value{At: 12, Exists: true},
		Metadata: "any \x00\xff\" bytes", LastUpdated: ledger.AtMillis(-5),
	}
	require.NoError(t, s.Store(t.Context(), "g", offsets{tp("orders", 0): {Offset: 1}, tp("orders", 1): {Offset: 2}}))
	require.NoError(t, s.Store(t.Context(), "g", offsets{tp("orders", 1): full}))
	require.NoError(t, s.Store(t.Context(), "g", nil))
	requireAll(t, s, "g", offsets{tp("orders", 0): {Offset: 1}, tp("orders", 1): full})

	mine, err := s.All(t.Context(), "g")
	require.NoError(t, err)
	clear(mine) // it is the caller's own
	requireAll(t, s, "g", offsets{tp("orders", 0): {Offset: 1}, tp("orders", 1): full})
}

func unknown(t *testing.T, s projection.OffsetStore) {
	zero := offsets{
		tp("t", 0): {},
		tp("t", 1): {LeaderEpoch: ledger.EpochOf(0), HighWatermark: projection.Value{Exists: true}, LastUpdated: ledger.AtMillis(0)},
		tp("t", 2): {Offset: -5}, // Kafka stores it when it is sent it
	}
	require.NoError(t, s.Store(t.Context(), "g", zero))
	requireAll(t, s, "g", zero)
}

// names are pairs that a careless spelling of keys would take for one.
func names(t *testing.T, s projection.OffsetStore) {
	long := make([]byte, 1000) // too long to be spelled in a key
	groups := []string{
		"", "=0", "a", "a.b", "a/b", "a=2Fb", "a b", "a\x00b", "*", ">", "g.orders", "ü", "\xfc", `"a"`, "$SYS",
		string(long), string(long[:999]),
	}
	topics := []string{"orders", "orders.0", "a..b", ".x", "x.", "b", "=0", "\xff"}
	all := map[string]offsets{}
	n := int64(0)
	for _, g := range groups {
		all[g] = offsets{}
		for _, topic := range topics {
			for _, partition := range []int32{0, 1, 10, math.MaxInt32} {
				n++
				all[g][tp(topic, partition)] = projection.OffsetInfo{Offset: n}
			}
		}
		require.NoError(t, s.Store(t.Context(), g, all[g]))
	}
	for g, want := range all {
		requireAll(t, s, g, want)
	}
	require.NoError(t, s.Clear(t.Context(), "a"))
	all["a"] = offsets{}
	for g, want := range all {
		requireAll(t, s, g, want)
	}
}

func deleted(t *testing.T, s projection.OffsetStore) {
	require.NoError(t, s.Delete(t.Context(), "g", tp("orders", 0)), "nothing there")
	require.NoError(t, s.Clear(t.Context(), "g"), "nothing there")
	require.NoError(t, s.Store(t.Context(), "g", offsets{tp("a", 0): {Offset: 1}, tp("a", 1): {Offset: 2}, tp("b", 0): {Offset: 3}}))
	require.NoError(t, s.Delete(t.Context(), "g", tp("a", 1)))
	_, ok, err := s.Get(t.Context(), "g", tp("a", 1))
	require.NoError(t, err)
	require.False(t, ok)
	requireAll(t, s, "g", offsets{tp("a", 0): {Offset: 1}, tp("b", 0): {Offset: 3}})
	require.NoError(t, s.Store(t.Context(), "g", offsets{tp("a", 1): {Offset: 4}}), "it may come back")
	requireAll(t, s, "g", offsets{tp("a", 0): {Offset: 1}, tp("b", 0): {Offset: 3}, tp("a", 1): {Offset: 4}})
	require.NoError(t, s.Clear(t.Context(), "g"))
	requireAll(t, s, "g", offsets{})
}

func restocked(t *testing.T, s projection.OffsetStore) {
	require.NoError(t, s.Store(t.Context(), "other", offsets{tp("a", 0): {Offset: 9}}))
	require.NoError(t, s.Store(t.Context(), "g", offsets{tp("a", 0): {Offset: 1}, tp("gone", 1): {Offset: 2}}))
	want := offsets{tp("a", 0): {Offset: 7}, tp("new", 5): {Offset: 8}}
	require.NoError(t, projection.Restock(t.Context(), s, "g", want))
	requireAll(t, s, "g", want)
	require.NoError(t, projection.Restock(t.Context(), s, "g", nil))
	requireAll(t, s, "g", offsets{})
	requireAll(t, s, "other", offsets{tp("a", 0): {Offset: 9}})
}
