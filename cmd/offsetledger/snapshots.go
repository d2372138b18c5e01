package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/replay"
	"github.com/offsetledger/offsetledger/replay/objstore"
)

// openSnapshots finds the snapshots of the ledger, beside it on its NATS server. Without them
// everything is answered from the log: so what is wrong with them is no reason to fail.
func (s *store) openSnapshots(ctx context.Context, cfg storeConfig) {
	logger := cmp.Or(cfg.logger, cfg.unused)
	bucket, err := objstore.New(s.conn, objstore.Config{})
	if err == nil {
		s.snapshots, err = replay.OpenSnapshots(ctx, replay.SnapshotConfig{Store: bucket, Incarnation: s.log.Incarnation(), Logger: logger, Trail: s.trail, Pick: s.pick})
	}
	if err != nil && logger != nil {
		logger.Warn("there are no snapshots: everything is read from the beginning", "err", err)
	}
}

// pick reads single records of the log, and fails at once while the NATS server is away.
func (s *store) pick(ctx context.Context, seqs []uint64) iter.Seq2[ledger.Record, error] {
	if s.away() {
		return s.unreadable()
	}
	return s.log.Pick(ctx, seqs)
}

// unreadable is what is read of a log that cannot be reached.
func (s *store) unreadable() iter.Seq2[ledger.Record, error] {
	return func(yield func(ledger.Record, error) bool) {
		yield(ledger.Record{}, fmt.Errorf("%w: the NATS server at %s is away", api.ErrAway, s.at))
	}
}

// resume has the view begin with the newest snapshot, if one can be used.
func (s *store) resume(ctx context.Context) error {
	state, incidents, ok, err := s.snapshots.Newest(ctx, s.log)
	if err != nil || !ok {
		return err
	}
	s.view.Resume(state, incidents)
	return nil
}

// How often it is looked whether a snapshot is due, and how long nothing is tried after one that
// failed.
const (
	snapshotLook  = 10 * time.Second
	snapshotPause = time.Minute
)

// keepSnapshots takes a snapshot whenever one is due, until ctx ends.
func (s *service) keepSnapshots(ctx context.Context) {
	for wait := snapshotLook; pause(ctx, wait) == nil; {
		wait = snapshotLook
		err := s.takeIfDue(ctx)
		if err != nil && ctx.Err() == nil && !errors.Is(err, replay.ErrHalfRead) {
			s.logger.Warn("no snapshot is taken", "err", err)
			wait = snapshotPause
		}
	}
}

func (s *service) takeIfDue(ctx context.Context) error {
	if s.snapshots == nil || s.away() {
		return nil
	}
	size, err := s.log.Size(ctx)
	if err != nil {
		return fmt.Errorf("is a snapshot due: %w", err)
	}
	began := time.Now()
	if !s.snapshots.Due(began, s.view.Seq(), size.Bytes) {
		return nil
	}
	m, err := s.snapshots.Take(ctx, replay.Taking{Read: s.view.ReadIncidents, Now: began, LogBytes: size.Bytes})
	if err != nil {
		return err
	}
	s.logger.Info("snapshot taken", "snapshot", m.ID(), "partitions", m.Partitions, "bytes", m.Bytes(), "took", time.Since(began).Round(time.Millisecond))
	return nil
}
