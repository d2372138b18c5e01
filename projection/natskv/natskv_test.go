package natskv_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/embedded"
	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/projection/natskv"
	"github.com/offsetledger/offsetledger/projection/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func server(t *testing.T) *embedded.Server {
	t.Helper()
	srv, err := embedded.Start(t.Context(), embedded.Config{Dir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	return srv
}

func TestBucketKeepsTheContractOfStores(t *testing.T) {
	srv := server(t)
	n := 0
	storetest.Run(t, func(t *testing.T) projection.OffsetStore {
		n++
		b, err := natskv.Create(t.Context(), srv.Conn(), natskv.Config{Bucket: fmt.Sprintf("b%d", n)})
		require.NoError(t, err)
		return projection.NewBackendStore(b, "prod.eu *>")
	})
}

func TestOpenNeverMakesABucket(t *testing.T) {
	srv := server(t)
	_, err := natskv.Open(t.Context(), srv.Conn(), natskv.Config{})
	require.ErrorIs(t, err, natskv.ErrNotFound)
	made, err := natskv.Create(t.Context(), srv.Conn(), natskv.Config{})
	require.NoError(t, err)
	require.NoError(t, made.Put(t.Context(), "a.b", []byte("1")))

	_, err = natskv.Create(t.Context(), srv.Conn(), natskv.Config{})
	require.NoError(t, err, "the same again is opened")
	_, err = natskv.Create(t.Context(), srv.Conn(), natskv.Config{Replicas: 3})
	require.Error(t, err)
	opened, err := natskv.Open(t.Context(), srv.Conn(), natskv.Config{})
	require.NoError(t, err)
	v, ok, err := opened.Get(t.Context(), "a.b")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "1", string(v))
}

// More keys than the client buffers, and a reader that stops after the first: nobody is left
// waiting, which the end of the tests checks.
func TestReaderOfKeysMayStop(t *testing.T) {
	srv := server(t)
	b, err := natskv.Create(t.Context(), srv.Conn(), natskv.Config{})
	require.NoError(t, err)
	for i := range 600 {
		require.NoError(t, b.Put(t.Context(), fmt.Sprintf("k.%d", i), nil))
	}
	seen := 0
	for _, err := range b.Keys(t.Context(), "k.") {
		require.NoError(t, err)
		if seen++; seen == 1 {
			break
		}
	}
	all := 0
	for key, err := range b.Keys(t.Context(), "k.") {
		require.NoError(t, err)
		require.NoError(t, b.Delete(t.Context(), key))
		all++
	}
	require.Equal(t, 600, all)
	for key := range b.Keys(t.Context(), "") {
		t.Errorf("%s is left", key)
	}
}

// A list that the end of a context or connection cut short is an error, never a short list: a
// group would look as if it had committed less than it did.
func TestKeysThatCannotAllBeListedAreAnError(t *testing.T) {
	srv := server(t)
	b, err := natskv.Create(t.Context(), srv.Conn(), natskv.Config{})
	require.NoError(t, err)
	require.NoError(t, b.Put(t.Context(), "k.1", nil))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for key, err := range b.Keys(ctx, "k.") {
		require.Empty(t, key)
		require.ErrorIs(t, err, context.Canceled)
	}
	require.NoError(t, srv.Close())
	errs := 0
	for key, err := range b.Keys(t.Context(), "k.") {
		require.Empty(t, key)
		require.Error(t, err)
		errs++
	}
	require.Equal(t, 1, errs)
	store := projection.NewBackendStore(b, "prod")
	_, err = store.All(t.Context(), "billing")
	require.ErrorIs(t, err, nats.ErrConnectionClosed)
	_, _, err = store.Get(t.Context(), "billing", ledger.TopicPartition{Topic: "orders"})
	require.ErrorIs(t, err, nats.ErrConnectionClosed)
}

// The bucket is lost, as a machine that loses power can lose it: a replay brings it back.
func TestLosingTheBucketCostsAReplay(t *testing.T) {
	srv := server(t)
	s := projection.NewState()
	for i, at := range []int64{76, 77} {
		_, err := s.Apply(ledger.Record{Seq: uint64(i + 1), Event: ledger.Event{
			Kind: ledger.KindCommitted, Cluster: "prod", Group: "billing", Time: ledger.AtMillis(1000 + int64(i)),
			Source:  ledger.Source{Kind: ledger.SourceManager},
			Offsets: []ledger.Offset{{Topic: "orders", Partition: 3, At: at, Metadata: "m", LeaderEpoch: ledger.EpochOf(2)}},
		}})
		require.NoError(t, err)
	}
	b, err := natskv.Create(t.Context(), srv.Conn(), natskv.Config{})
	require.NoError(t, err)
	store := projection.NewBackendStore(b, "prod")
	stale := map[ledger.TopicPartition]projection.OffsetInfo{{Topic: "gone"}: {Offset: 5}}
	require.NoError(t, store.Store(t.Context(), "billing", stale))

	require.NoError(t, projection.Restock(t.Context(), store, "billing", s.Offsets("prod", "billing")))
	got, err := store.All(t.Context(), "billing")
	require.NoError(t, err)
	require.Equal(t, map[ledger.TopicPartition]projection.OffsetInfo{
		{Topic: "orders", Partition: 3}: {Offset: 77, Metadata: "m", LeaderEpoch: ledger.EpochOf(2), LastUpdated: ledger.AtMillis(1001)},
	}, got)
}

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "natskv")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	srv, err := embedded.Start(ctx, embedded.Config{Dir: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	bucket, err := natskv.Create(ctx, srv.Conn(), natskv.Config{Bucket: "offsets"})
	if err != nil {
		fmt.Println(err)
		return
	}
	var store projection.OffsetStore = projection.NewBackendStore(bucket, "prod")
	orders := ledger.TopicPartition{Topic: "orders", Partition: 3}
	err = store.Store(ctx, "billing", map[ledger.TopicPartition]projection.OffsetInfo{
		orders: {Offset: 1215, HighWatermark: projection.Value{At: 1219, Exists: true}},
	})
	info, ok, getErr := store.Get(ctx, "billing", orders)
	if err = errors.Join(err, getErr, srv.Close()); err != nil {
		fmt.Println(err)
		return
	}
	lag, _ := info.Lag()
	fmt.Println(ok, info.Offset, "lag", lag)
	// Output: true 1215 lag 4
}
