package bench

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/stream"
	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/replay"
	"github.com/offsetledger/offsetledger/replay/objstore"
)

// measureReady stops and starts everything, and waits until the present can be asked for, with the
// newest snapshot as old as the daemon ever lets it become. The limit is a consumer that reads
// everything and folds nothing.
func measureReady(ctx context.Context, dir string, offsets int) (Row, error) {
	_, err := restart(ctx, dir, func(ctx context.Context, nc *nats.Conn, log *stream.Log) error {
		return takeSnapshot(ctx, nc, log)
	})
	if err != nil {
		return Row{}, err
	}
	bare, err := restart(ctx, dir, func(ctx context.Context, nc *nats.Conn, _ *stream.Log) error {
		_, err := consumeBare(ctx, nc, offsets/rowsPerEvent)
		return err
	})
	if err != nil {
		return Row{}, err
	}
	took, err := restart(ctx, dir, followToEnd)
	if err != nil {
		return Row{}, err
	}
	return Row{
		Name: "ready", Value: took.Seconds(), Unit: "s", Limit: bare.Seconds(),
		Ratio: took.Seconds() / bare.Seconds(), Goal: "value <= 2 for 20 million offsets",
	}, nil
}

func restart(ctx context.Context, dir string, until func(context.Context, *nats.Conn, *stream.Log) error) (took time.Duration, err error) {
	began := time.Now()
	srv, log, err := openLedger(ctx, dir)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, srv.Close()) }()
	if err := until(ctx, srv.Conn(), log); err != nil {
		return 0, err
	}
	return time.Since(began), nil
}

// staleBytes is how much of the log the daemon lets come before it takes the next snapshot, of a
// state of this size.
const staleBytes = 8 << 20

// takeSnapshot takes a snapshot of the state of staleBytes ago.
func takeSnapshot(ctx context.Context, nc *nats.Conn, log *stream.Log) error {
	size, err := log.Size(ctx)
	if err != nil || size.Events == 0 {
		return err
	}
	seq := size.Events - min(size.Events-1, size.Events*staleBytes/max(size.Bytes, 1))
	snapshots, err := openSnapshots(ctx, nc, log)
	if err != nil {
		return err
	}
	view := projection.NewView()
	if err := view.Run(ctx, log.Read(ctx, 1, seq, ledger.Filter{})); err != nil {
		return err
	}
	_, err = snapshots.Take(ctx, replay.Taking{Read: view.ReadIncidents, Now: time.Now(), LogBytes: size.Bytes})
	return err
}

func openSnapshots(ctx context.Context, nc *nats.Conn, log *stream.Log) (*replay.Snapshots, error) {
	bucket, err := objstore.New(nc, objstore.Config{})
	if err != nil {
		return nil, err
	}
	return replay.OpenSnapshots(ctx, replay.SnapshotConfig{Store: bucket, Incarnation: log.Incarnation()})
}

// followToEnd has a view follow the log, from the newest snapshot on, until it has folded all that
// is there, as the daemon does.
func followToEnd(ctx context.Context, nc *nats.Conn, log *stream.Log) error {
	snapshots, err := openSnapshots(ctx, nc, log)
	if err != nil {
		return err
	}
	last, err := log.Last(ctx)
	if err != nil {
		return err
	}
	following, stop := context.WithCancel(ctx)
	defer stop()
	view := projection.NewView()
	state, incidents, ok, err := snapshots.Newest(ctx, log)
	if err != nil {
		return err
	}
	if ok {
		view.Resume(state, incidents)
	}
	var g errgroup.Group
	g.Go(func() error { return view.Run(following, log.Follow(following, view.Seq()+1, ledger.Filter{})) })
	if err := view.WaitFor(ctx, last); err != nil {
		return err
	}
	stop()
	if err := g.Wait(); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
