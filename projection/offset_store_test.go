package projection_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/projection/storetest"
)

func TestMemoryStoreKeepsTheContractOfStores(t *testing.T) {
	storetest.Run(t, func(*testing.T) projection.OffsetStore { return &projection.MemoryStore{} })
}

func TestBackendStoreKeepsTheContractOfStores(t *testing.T) {
	storetest.Run(t, func(*testing.T) projection.OffsetStore {
		return projection.NewBackendStore(&projection.MemoryBackend{}, "prod")
	})
}

// Any two names, of clusters, groups and topics, have keys of their own, in the alphabet that
// every backend takes.
func TestKeysOfAnyNamesDiffer(t *testing.T) {
	name := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a./=~* ]{0,4}`), rapid.StringN(250, 300, -1))
	rapid.Check(t, func(t *rapid.T) {
		type full struct {
			cluster, group string
			tp             ledger.TopicPartition
		}
		draw := func(label string) full {
			return full{
				name.Draw(t, label+" cluster"), name.Draw(t, label+" group"),
				ledger.TopicPartition{Topic: name.Draw(t, label+" topic"), Partition: rapid.Int32Min(0).Draw(t, label+" partition")},
			}
		}
		a, b := draw("a"), draw("b")
		if a == b {
			t.Skip("the same")
		}
		backend := &projection.MemoryBackend{}
		for i, f := range []full{a, b} {
			err := projection.NewBackendStore(backend, f.cluster).Store(t.Context(), f.group, map[ledger.TopicPartition]projection.OffsetInfo{f.tp: {Offset: int64(i)}})
			require.NoError(t, err)
		}
		for i, f := range []full{a, b} {
			info, ok, err := projection.NewBackendStore(backend, f.cluster).Get(t.Context(), f.group, f.tp)
			require.NoError(t, err)
			require.True(t, ok)
			require.EqualValues(t, i, info.Offset)
		}
		for key := range backend.Keys(t.Context(), "") {
			require.Regexp(t, `^[A-Za-z0-9_/=-]+(\.[A-Za-z0-9_/=-]+){3}$`, key)
		}
	})
}

// What somebody else wrote into the bucket is told, and not taken for an offset; clearing the
// group mends it.
func TestDamagedValuesAreTold(t *testing.T) {
	for name, value := range map[string]string{
		"no JSON":                 "1200",
		"cut":                     `{"cluster":"prod","group":"billing","topic":"orders","par`,
		"no offset":               `{"cluster":"prod","group":"billing","topic":"orders","partition":3}`,
		"that of another":         `{"cluster":"prod","group":"billing","topic":"orders","partition":4,"offset":5}`,
		"another cluster":         `{"cluster":"test","group":"billing","topic":"orders","partition":3,"offset":5}`,
		"a name that is no quote": `{"cluster":"prod","group":"\"billing","topic":"orders","partition":3,"offset":5}`,
	} {
		t.Run(name, func(t *testing.T) {
			backend := &projection.MemoryBackend{}
			require.NoError(t, backend.Put(t.Context(), "prod.billing.orders.3", []byte(value)))
			store := projection.NewBackendStore(backend, "prod")
			_, _, err := store.Get(t.Context(), "billing", ledger.TopicPartition{Topic: "orders", Partition: 3})
			require.ErrorIs(t, err, ledger.ErrDamaged)
			require.ErrorContains(t, err, "prod.billing.orders.3")
			_, err = store.All(t.Context(), "billing")
			require.ErrorIs(t, err, ledger.ErrDamaged)
			require.NoError(t, store.Clear(t.Context(), "billing"))
			all, err := store.All(t.Context(), "billing")
			require.NoError(t, err)
			require.Empty(t, all)
		})
	}
}

// The value is pinned: other programs read it.
func TestValueOfABackend(t *testing.T) {
	backend := &projection.MemoryBackend{}
	store := projection.NewBackendStore(backend, "prod")
	orders := ledger.TopicPartition{Topic: "orders.eu", Partition: 3}
	require.NoError(t, store.Store(t.Context(), "we ird", map[ledger.TopicPartition]projection.OffsetInfo{orders: {
		Offset: 1200, LeaderEpoch: ledger.EpochOf(4), HighWatermark: projection.Value{At: 1300, Exists: true},
		Metadata: "\xff", LastUpdated: ledger.AtMillis(1_764_547_200_000),
	}}))
	v, ok, err := backend.Get(t.Context(), "prod.we=20ird.orders/eu.3")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, `{"cluster":"prod","group":"we ird","topic":"orders.eu","partition":3,"offset":1200,"leader_epoch":4,`+
		`"high_watermark":1300,"metadata":"\"\\xff\"","last_updated_ms":1764547200000}`, string(v))
}

func FuzzStoredValue(f *testing.F) {
	f.Add([]byte(`{"cluster":"c","group":"g","topic":"t","partition":0,"offset":5,"leader_epoch":-1,"high_watermark":null,"metadata":"","last_updated_ms":1}`))
	f.Add([]byte(`{"cluster":"c","group":"g","topic":"t","offset":-9223372036854775808,"metadata":"\"\\xff\""}`))
	f.Fuzz(func(t *testing.T, value []byte) {
		backend := &projection.MemoryBackend{}
		require.NoError(t, backend.Put(t.Context(), "c.g.t.0", value))
		store := projection.NewBackendStore(backend, "c")
		tp := ledger.TopicPartition{Topic: "t"}
		info, ok, err := store.Get(t.Context(), "g", tp)
		if err != nil {
			require.ErrorIs(t, err, ledger.ErrDamaged)
			return
		}
		require.True(t, ok)
		require.NoError(t, store.Store(t.Context(), "g", map[ledger.TopicPartition]projection.OffsetInfo{tp: info}))
		again, _, err := store.Get(t.Context(), "g", tp)
		require.NoError(t, err)
		require.Equal(t, info, again)
	})
}

func TestPRJ01LagOfAnOffsetInfo(t *testing.T) {
	hw := func(at int64) projection.Value { return projection.Value{At: at, Exists: true} }
	for _, c := range []struct {
		info  projection.OffsetInfo
		lag   int64
		known bool
	}{
		{projection.OffsetInfo{Offset: 1215, HighWatermark: hw(1219)}, 4, true},
		{projection.OffsetInfo{Offset: 144424, HighWatermark: hw(136204)}, 0, true},
		{projection.OffsetInfo{Offset: math.MaxInt64, HighWatermark: hw(10)}, 0, true},
		{projection.OffsetInfo{Offset: 1215}, 0, false},
		{projection.OffsetInfo{Offset: -5, HighWatermark: hw(10)}, 0, false},
		{projection.OffsetInfo{Offset: 5, HighWatermark: hw(-1)}, 0, false},
	} {
		lag, known := c.info.Lag()
		require.Equal(t, c.known, known, "%+v", c.info)
		require.Equal(t, c.lag, lag, "%+v", c.info)
	}
}

func ExampleRestock() {
	s := projection.NewState()
	_, err := s.Apply(ledger.Record{Seq: 1, Event: ledger.Event{
		Kind: ledger.KindCommitted, Cluster: "prod", Group: "billing", Time: ledger.AtMillis(1000),
		Source:  ledger.Source{Kind: ledger.SourceTail},
		Offsets: []ledger.Offset{{Topic: "orders", Partition: 0, At: 1200}},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	var store projection.MemoryStore // lost, and brought back from the fold
	if err := projection.Restock(ctx, &store, "billing", s.Offsets("prod", "billing")); err != nil {
		fmt.Println(err)
		return
	}
	info, _, _ := store.Get(ctx, "billing", ledger.TopicPartition{Topic: "orders"}) // never fails
	fmt.Println(info.Offset)
	// Output: 1200
}
