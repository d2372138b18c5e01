package objstore_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/embedded"
	"github.com/offsetledger/offsetledger/ledger/stream"
	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/replay"
	"github.com/offsetledger/offsetledger/replay/objstore"
)

var _ replay.Store = (*objstore.Bucket)(nil)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func connect(t testing.TB) *nats.Conn {
	t.Helper()
	srv, err := embedded.Start(t.Context(), embedded.Config{Dir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	return srv.Conn()
}

func TestObjects(t *testing.T) {
	nc := connect(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	b, err := objstore.New(nc, objstore.Config{})
	require.NoError(t, err)
	again, err := objstore.New(nc, objstore.Config{})
	require.NoError(t, err)

	names, err := b.Names(ctx)
	require.NoError(t, err)
	require.Empty(t, names)
	_, err = b.Get(ctx, "s1/manifest")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, b.Delete(ctx, "s1/manifest"))
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	_, err = js.ObjectStore(ctx, objstore.DefaultBucket)
	require.ErrorIs(t, err, jetstream.ErrBucketNotFound, "reading makes no bucket")

	large := bytes.Repeat([]byte("0123456789abcdef"), 1<<17) // 2 MiB, more than a message holds
	require.NoError(t, b.Put(ctx, "s1/g00", []byte("old")))
	require.NoError(t, b.Put(ctx, "s1/g00", large))
	require.NoError(t, b.Put(ctx, "s1/manifest", nil))
	got, err := again.Get(ctx, "s1/g00")
	require.NoError(t, err)
	require.Equal(t, large, got)
	got, err = b.Get(ctx, "s1/manifest")
	require.NoError(t, err)
	require.Empty(t, got)
	client, err := js.ObjectStore(ctx, objstore.DefaultBucket)
	require.NoError(t, err)
	got, err = client.GetBytes(ctx, "s1/g00")
	require.NoError(t, err)
	require.Equal(t, large, got, "any client reads it")
	names, err = b.Names(ctx)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"s1/g00", "s1/manifest"}, names)

	for _, name := range names {
		require.NoError(t, b.Delete(ctx, name))
	}
	s, err := js.Stream(ctx, "OBJ_"+objstore.DefaultBucket)
	require.NoError(t, err)
	require.Zero(t, s.CachedInfo().State.Msgs, "nothing is left of what was deleted")
}

// Snapshots of a real log in a real bucket: another process finds them, and answers the same.
func TestSnapshotsOfARealLog(t *testing.T) {
	nc := connect(t)
	log, err := stream.Create(t.Context(), nc, stream.Config{})
	require.NoError(t, err)
	for i := range int64(40) {
		at := ledger.AtMillis(1000 + i)
		_, err := log.Append(t.Context(), []ledger.Event{{ID: uuid.Must(uuid.NewV7()), Kind: ledger.KindCommitted, Cluster: "c", Group: fmt.Sprint("g", i%3), Time: at,
			Source: ledger.Source{Kind: ledger.SourceTail, Partition: 3}, Offsets: []ledger.Offset{{Topic: "t", At: i, SourceOffset: i, Effective: at}}}})
		require.NoError(t, err)
	}
	b, err := objstore.New(nc, objstore.Config{})
	require.NoError(t, err)
	cfg := replay.SnapshotConfig{Store: b, Incarnation: log.Incarnation()}
	s, err := replay.OpenSnapshots(t.Context(), cfg)
	require.NoError(t, err)
	half, err := replay.StateAt(t.Context(), log, replay.Point{Seq: 20}, replay.Scope{})
	require.NoError(t, err)
	_, err = s.Take(t.Context(), replay.Taking{Read: func(read func(*projection.State, *projection.Incidents)) { read(half, nil) }, Now: time.Now()})
	require.NoError(t, err)

	other, err := replay.OpenSnapshots(t.Context(), cfg)
	require.NoError(t, err)
	require.Len(t, other.List(), 1)
	for _, sc := range []replay.Scope{{}, replay.OfGroup("c", "g1")} {
		want, err := replay.StateAt(t.Context(), log, replay.Point{}, sc)
		require.NoError(t, err)
		got, err := other.StateAt(t.Context(), log, replay.Point{}, sc)
		require.NoError(t, err)
		require.Equal(t, want.AppendGroup(nil, "c", "g1"), got.AppendGroup(nil, "c", "g1"))
		require.Equal(t, want.AppendCapture(nil, "c"), got.AppendCapture(nil, "c"))
		require.Equal(t, want.Seq(), got.Seq())
	}
	require.Len(t, other.List(), 1, "it was used")
}
