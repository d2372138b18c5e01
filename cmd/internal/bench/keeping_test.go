//go:build linux || darwin

package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/stream"
	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/replay"
	"github.com/offsetledger/offsetledger/replay/objstore"
)

// keeping is a ledger of which snapshots are taken as the daemon takes them.
type keeping struct {
	dir       string
	log       *stream.Log
	view      *projection.View
	snapshots *replay.Snapshots
}

func startKeeping(b *testing.B) *keeping {
	b.Helper()
	k := &keeping{dir: b.TempDir(), view: projection.NewView()}
	srv, log, err := openLedger(b.Context(), k.dir)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, srv.Close()) })
	k.log = log
	trail := projection.NewTrail(0)
	k.view.Leave(trail)
	bucket, err := objstore.New(srv.Conn(), objstore.Config{})
	require.NoError(b, err)
	k.snapshots, err = replay.OpenSnapshots(b.Context(), replay.SnapshotConfig{Store: bucket, Incarnation: log.Incarnation(), Trail: trail, Pick: log.Pick})
	require.NoError(b, err)
	following, stop := context.WithCancel(b.Context())
	var g errgroup.Group
	g.Go(func() error { return k.view.Run(following, log.Follow(following, 1, ledger.Filter{})) })
	b.Cleanup(func() {
		stop()
		require.ErrorIs(b, g.Wait(), context.Canceled)
	})
	return k
}

// snapshot takes one if it is due.
func (k *keeping) snapshot(b *testing.B) {
	b.Helper()
	size, err := k.log.Size(b.Context())
	require.NoError(b, err)
	require.NoError(b, k.view.WaitFor(b.Context(), size.Events))
	if now := time.Now(); k.snapshots.Due(now, size.Events, size.Bytes) {
		_, err = k.snapshots.Take(b.Context(), replay.Taking{Read: k.view.ReadIncidents, Now: now, LogBytes: size.Bytes})
		require.NoError(b, err)
	}
}

// one returns the rows of a group at a moment as psql prints them, and how long it took to have them.
func (k *keeping) one(b *testing.B, group string, at ledger.Time) ([]string, time.Duration) {
	b.Helper()
	began := time.Now()
	st, err := k.snapshots.StateAt(b.Context(), k.log, replay.Point{Time: at}, replay.OfGroup(clusterName, group))
	require.NoError(b, err)
	rows := st.Partitions(clusterName, group)
	took := time.Since(began)
	var lines []string
	for _, r := range rows {
		if r.Committed.Exists {
			lines = append(lines, fmt.Sprintf("%s|%d|%d", r.Topic, r.Partition, r.Committed.At))
		}
	}
	return lines, took
}

// all returns how many rows all groups have at a moment and the sum of them, as psql prints it.
func (k *keeping) all(b *testing.B, at ledger.Time) (line string, took time.Duration) {
	b.Helper()
	began := time.Now()
	st, err := k.snapshots.StateAt(b.Context(), k.log, replay.Point{Time: at}, replay.OfCluster(clusterName))
	require.NoError(b, err)
	var count, sum int64
	for group := range st.GroupNames(clusterName) {
		for _, r := range st.Partitions(clusterName, group) {
			if r.Committed.Exists {
				count, sum = count+1, sum+r.Committed.At
			}
		}
	}
	return fmt.Sprintf("%d|%d", count, sum), time.Since(began)
}

// disk is how many bytes the files of the log have, and those of the snapshots of it.
func (k *keeping) disk(b *testing.B) (log, snapshots float64) {
	b.Helper()
	require.NoError(b, filepath.WalkDir(k.dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // the server has replaced it
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case strings.Contains(path, "OBJ_OFFSETLEDGER_SNAPSHOTS"):
			snapshots += float64(info.Size())
		default:
			log += float64(info.Size())
		}
		return nil
	}))
	return log, snapshots
}

// cursor says that everything made so far was read.
func (c *commits) cursor() ledger.Event {
	cur := &ledger.Cursor{Shard: ledger.CursorShardAll, Complete: true}
	for p, next := range c.source {
		cur.Lines = append(cur.Lines, ledger.SourceLine{Partition: int32(p), Next: next, MaxEffective: c.clock, CompleteThrough: c.clock})
	}
	return ledger.Event{ID: uuid.Must(uuid.NewV7()), Kind: ledger.KindCursor, Cluster: clusterName, Time: c.clock, Source: ledger.Source{Kind: ledger.SourceTail}, Cursor: cur}
}
