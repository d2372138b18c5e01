package main

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/replay"
	"github.com/offsetledger/offsetledger/replay/objstore"
)

// large is a commit that takes at least so many bytes.
func large(i int64, bytes int) ledger.Event {
	at := ledger.AtMillis(1_764_598_800_000 + i*5000)
	return ledger.Event{ID: uuid.Must(uuid.NewV7()), Kind: ledger.KindCommitted, Cluster: "prod", Group: "billing", Time: at,
		Source:  ledger.Source{Kind: ledger.SourceTail, Partition: 3, Offset: i},
		Offsets: []ledger.Offset{{Topic: "orders", At: 1000 - i, SourceOffset: i, CommitTime: at, Effective: at, Metadata: strings.Repeat("m", bytes)}}}
}

// folded opens the ledger in a directory as the daemon does, and calls look with it.
func folded(t *testing.T, dir string, create bool, look func(*service)) {
	t.Helper()
	logger := slog.New(slog.DiscardHandler)
	st, err := openStore(t.Context(), storeConfig{dir: dir, create: create, logger: logger})
	require.NoError(t, err)
	s := &service{store: st, logger: logger}
	ctx, stop := context.WithCancel(t.Context())
	var g errgroup.Group
	require.NoError(t, s.fold(ctx, &g))
	look(s)
	stop()
	require.ErrorIs(t, g.Wait(), context.Canceled)
	require.NoError(t, s.close())
}

// The daemon takes a snapshot when the log has grown, and not again before it has grown more.
// Started again it goes on from there: with the state and the incidents that it had.
func TestTheDaemonTakesSnapshotsAndBeginsWithThem(t *testing.T) {
	dir := t.TempDir()
	before := func(s *service) (p projection.Partition, incidents int) {
		s.view.ReadIncidents(func(st *projection.State, in *projection.Incidents) {
			p, _ = st.Partition("prod", "billing", "orders", 0)
			for range in.All("prod") {
				incidents++
			}
		})
		return p, incidents
	}
	var want projection.Partition
	folded(t, dir, true, func(s *service) {
		require.NoError(t, s.takeIfDue(t.Context()))
		require.Empty(t, s.snapshots.List(), "of nothing there is none")
		for i := range int64(20) {
			_, err := s.log.Append(t.Context(), []ledger.Event{large(i, 450_000)})
			require.NoError(t, err)
		}
		require.NoError(t, s.view.WaitFor(t.Context(), 20))
		require.NoError(t, s.takeIfDue(t.Context()))
		require.Len(t, s.snapshots.List(), 1)
		_, err := s.log.Append(t.Context(), []ledger.Event{large(20, 10)})
		require.NoError(t, err)
		require.NoError(t, s.view.WaitFor(t.Context(), 21))
		require.NoError(t, s.takeIfDue(t.Context()))
		require.Len(t, s.snapshots.List(), 1, "it is not due again")
		var incidents int
		want, incidents = before(s)
		require.Equal(t, 20, incidents)
	})
	folded(t, dir, false, func(s *service) {
		require.EqualValues(t, 20, s.snapshots.List()[0].Seq)
		got, incidents := before(s)
		require.Equal(t, want, got)
		require.Equal(t, 20, incidents)
		require.NoError(t, s.snapshots.Delete(t.Context(), "s20"))
	})
	folded(t, dir, false, func(s *service) {
		require.Empty(t, s.snapshots.List())
		got, incidents := before(s)
		require.Equal(t, want, got)
		require.Equal(t, 20, incidents)
	})
}

// Somebody asks a ledger whose daemon is away. What of its snapshots cannot be used is told, and the
// answer comes from the events.
func TestACommandTellsOfASnapshotThatCannotBeUsed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "night")
	writeLedger(t, "night", dir)
	l, err := openLedger(t.Context(), dir, nil)
	require.NoError(t, err)
	m, err := l.snapshots.Take(t.Context(), replay.Taking{Read: l.view.ReadIncidents, Now: time.Now()})
	require.NoError(t, err)
	bucket, err := objstore.New(l.conn, objstore.Config{})
	require.NoError(t, err)
	require.NoError(t, bucket.Put(t.Context(), m.ID()+"/capture", []byte("something else")))
	require.NoError(t, l.close())

	var out strings.Builder
	a, stderr := program(t, &out)
	require.Equal(t, exitDone, a.execute(t.Context(), []string{"snapshot", "list", "--data-dir", dir}), stderr)
	require.Contains(t, stderr.String(), `level=WARN msg="snapshot is not used" snapshot=`+m.ID()+` err="it cannot be used: part capture is damaged`)
	require.Contains(t, stderr.String(), "no snapshot can be used: everything is read from the first event")
}
