// Package bench measures what a machine makes of a ledger on its own disk: how fast events are
// stored, read again and captured, and how long a restart takes. Each figure stands beside its
// limit, which the same run measures with the same bytes and the same server options, so that
// a slow or busy machine shows in both.
//
// It works in a directory of its own, which it removes, and touches no ledger.
package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/offsetledger/offsetledger/ledger/embedded"
	"github.com/offsetledger/offsetledger/ledger/stream"
)

// Row is one figure.
type Row struct {
	Name  string  `json:"name"`  // append, replay, ready or drain
	Value float64 `json:"value"` // what was measured
	Unit  string  `json:"unit"`
	Limit float64 `json:"limit"` // the same of the bare part below, in the same unit and run
	Ratio float64 `json:"ratio"` // Value / Limit
	Goal  string  `json:"goal"`  // what the project holds itself to
}

// Config says how much is measured and where. The zero Config measures what the goals speak
// of, on the disk of the directory for temporary files.
type Config struct {
	Dir     string // the disk to measure; empty is os.TempDir
	Offsets int    // rows of offsets to append and replay; 0 is 20 million
	Drain   int    // rows of offsets to capture from a Kafka in this process; 0 is 1 million
}

// Validate returns every fault of c at once.
func (c Config) Validate() error {
	var faults []error
	if c.Offsets < 0 || c.Offsets%batchRows != 0 {
		faults = append(faults, fmt.Errorf("%d offsets: want a multiple of %d", c.Offsets, batchRows))
	}
	if c.Drain < 0 || c.Drain%rowsPerEvent != 0 {
		faults = append(faults, fmt.Errorf("%d offsets to drain: want a multiple of %d", c.Drain, rowsPerEvent))
	}
	return errors.Join(faults...)
}

// Run measures and hands each figure to report as soon as there is one.
func Run(ctx context.Context, cfg Config, report func(Row)) (err error) {
	if err := cfg.Validate(); err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	cfg.Offsets = cmp.Or(cfg.Offsets, 20_000_000)
	cfg.Drain = cmp.Or(cfg.Drain, 1_000_000)
	dir, err := os.MkdirTemp(cfg.Dir, "offsetledger-bench-")
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	ledgerDir := filepath.Join(dir, "ledger")
	for _, step := range []func() (Row, error){
		func() (Row, error) { return measureAppend(ctx, ledgerDir, filepath.Join(dir, "raw"), cfg.Offsets) },
		func() (Row, error) { return measureReplay(ctx, ledgerDir, cfg.Offsets) },
		func() (Row, error) { return measureReady(ctx, ledgerDir, cfg.Offsets) },
		func() (Row, error) { return measureDrain(ctx, filepath.Join(dir, "drain"), cfg.Drain) },
	} {
		row, err := step()
		if err != nil {
			return fmt.Errorf("bench: %w", err)
		}
		report(row)
	}
	return nil
}

// Fsync returns the median time that the disk of dir takes to sync a page that was written;
// empty is the disk of temporary files.
func Fsync(dir string) (took time.Duration, err error) {
	f, err := os.CreateTemp(dir, "offsetledger-fsync-")
	if err != nil {
		return 0, fmt.Errorf("measure fsync: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	page := make([]byte, 4096)
	var times []time.Duration
	for range 51 {
		began := time.Now()
		if _, err := f.Write(page); err != nil {
			return 0, fmt.Errorf("measure fsync: %w", err)
		}
		if err := f.Sync(); err != nil {
			return 0, fmt.Errorf("measure fsync: %w", err)
		}
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	return times[len(times)/2], nil
}

// rate is a figure where more is better.
func rate(name string, rows int, took, limit time.Duration, goal string) Row {
	r := Row{Name: name, Unit: "offsets/s", Goal: goal}
	r.Value = float64(rows) / took.Seconds()
	r.Limit = float64(rows) / limit.Seconds()
	r.Ratio = r.Value / r.Limit
	return r
}

// openLedger starts a server on dir and opens the ledger in it, which it makes if there is none.
func openLedger(ctx context.Context, dir string) (*embedded.Server, *stream.Log, error) {
	srv, err := embedded.Start(ctx, embedded.Config{Dir: dir})
	if err != nil {
		return nil, nil, err
	}
	log, err := openOrCreate(ctx, srv.Conn())
	if err != nil {
		return nil, nil, errors.Join(err, srv.Close())
	}
	return srv, log, nil
}

func openOrCreate(ctx context.Context, nc *nats.Conn) (*stream.Log, error) {
	log, err := stream.Open(ctx, nc, stream.Config{})
	if errors.Is(err, stream.ErrNotFound) {
		return stream.Create(ctx, nc, stream.Config{})
	}
	return log, err
}
