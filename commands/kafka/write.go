package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/offsetledger/offsetledger/ledger"
)

// appendJob is what one append stores, and what is true once it is stored.
type appendJob struct {
	// batch has a cursor as its last event, or is empty: then only the status changes.
	batch   *batch
	lines   []LineStatus
	reached ledger.Time
	ready   bool
	counts  Counts
	stored  chan uint64 // gets the sequence of the last cursor once it is stored; may be nil
}

// append stores batches one after the other, each on the condition that the cursor before it
// is still the last one. While the log is away it keeps trying with the same batch, so that
// nothing is skipped; meanwhile the reading goroutine stands still.
func (t *Tail) append(ctx context.Context) error {
	seq := t.cfg.Resume.Seq
	var stored, appends uint64
	for {
		var job *appendJob
		select {
		case job = <-t.toAppend:
		case <-ctx.Done():
			return ctx.Err()
		}
		if !job.batch.empty() {
			receipt, err := t.store(ctx, job.batch.events, seq)
			if err != nil {
				return err
			}
			seq = receipt.Last
			stored += uint64(len(job.batch.events))
			appends++
		}
		job.batch.reset()
		t.spare <- job.batch
		if job.stored != nil {
			job.stored <- seq
		}
		t.board.update(func(s *Status) {
			s.Lines, s.Reached, s.Seq, s.Counts = job.lines, job.reached, seq, job.counts
			s.Counts.Events, s.Counts.Appends = stored, appends
			s.Ready = s.Ready || job.ready
			s.LogError = nil
		})
	}
}

// store appends events until they are stored. A conflict after an attempt that failed may be
// with that attempt: then the ledger has to be asked, which only our user can.
func (t *Tail) store(ctx context.Context, events []ledger.Event, seq uint64) (ledger.Receipt, error) {
	expect := ledger.Expect{Filter: ledger.CursorSubject(t.cfg.Cluster, ledger.CursorShardAll), Seq: seq}
	var before error
	for wait := newBackoff(); ; {
		received := t.tellSlowAppend()
		receipt, err := t.appendOnce(ctx, events, expect)
		received()
		switch {
		case err == nil:
			return receipt, nil
		case ctx.Err() != nil:
			return ledger.Receipt{}, ctx.Err()
		case errors.Is(err, ledger.ErrConflict) && before != nil:
			return ledger.Receipt{}, fmt.Errorf("%w: %w, after %w", ErrUncertain, err, before)
		case errors.Is(err, ledger.ErrConflict), errors.Is(err, ledger.ErrInvalid), errors.Is(err, ledger.ErrTooLarge):
			return ledger.Receipt{}, err
		}
		before = err
		t.cfg.Logger.Warn("capture cannot store", "cluster", t.cfg.Cluster, "err", err)
		t.board.update(func(s *Status) { s.LogError = err })
		if err := wait.sleep(ctx); err != nil {
			return ledger.Receipt{}, err
		}
	}
}

// slowAppend is how long an append may take before it is told: the log tries for longer by itself,
// as when a disk is full, and nobody should have to wait for the end of that.
const slowAppend = 3 * time.Second

// tellSlowAppend makes the status tell of an append that takes long. What it returns has to be
// called when the append has ended.
func (t *Tail) tellSlowAppend() (received func()) {
	ended := false // guarded by the board
	timer := time.AfterFunc(slowAppend, func() {
		t.board.update(func(s *Status) {
			if !ended && s.LogError == nil {
				s.LogError = fmt.Errorf("the ledger has not taken an append for %s", slowAppend)
			}
		})
	})
	return func() {
		timer.Stop()
		t.board.update(func(*Status) { ended = true })
	}
}

// appendGrace is how long an append that is on its way when capture has to stop may take to
// end. Cut off, it could still be stored after somebody else has read where to go on.
const appendGrace = 5 * time.Second

func (t *Tail) appendOnce(ctx context.Context, events []ledger.Event, expect ledger.Expect) (ledger.Receipt, error) {
	patient, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(appendGrace)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel()
		case <-patient.Done():
		}
	})
	defer stop()
	return t.cfg.Log.Append(patient, events, expect)
}
