package stream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/offsetledger/offsetledger/ledger"
)

// store writes a batch and sets the outcome of each of its transactions. When expectations
// failed, those transactions are taken out and the others are written again in order: the
// server refuses a batch as a whole and does not say for whose sake.
func (l *Log) store(ctx context.Context, batch []*transaction) {
	for len(batch) > 0 {
		first, err := l.publish(ctx, batch)
		switch {
		case err == nil:
			l.receipts(batch, first)
			return
		case errors.Is(err, errRefused):
			if batch, err = l.dropLosers(ctx, batch); err == nil {
				continue
			}
		}
		for _, t := range batch {
			t.err = err
		}
		return
	}
}

func (l *Log) receipts(batch []*transaction, first uint64) {
	next := first
	for _, t := range batch {
		t.receipt = ledger.Receipt{First: next, Last: next + uint64(len(t.messages)) - 1}
		next = t.receipt.Last + 1
	}
	l.seen.Store(next - 1)
}

// dropLosers fails the transactions whose expectations differ from what is stored and returns
// the others. That nobody lost is possible: a replicated stream also refuses what another
// writer is about to store.
func (l *Log) dropLosers(ctx context.Context, batch []*transaction) ([]*transaction, error) {
	var rest []*transaction
	for _, t := range batch {
		conflict, err := l.conflict(ctx, t)
		if err != nil {
			return batch, err
		}
		if conflict == nil {
			rest = append(rest, t)
			continue
		}
		t.err = conflict
	}
	if len(rest) == len(batch) {
		return rest, pause(ctx, retryPause)
	}
	return rest, nil
}

// conflict returns which expectation of t does not hold, nil if all of them do.
func (l *Log) conflict(ctx context.Context, t *transaction) (*ledger.ConflictError, error) {
	for _, x := range t.expects {
		found, err := l.LastOf(ctx, x.Filter)
		if err != nil {
			return nil, err
		}
		if found != x.Seq {
			return &ledger.ConflictError{Filter: x.Filter, Wanted: x.Seq, Found: found}, nil
		}
	}
	return nil, nil
}

// How long publish waits for an answer before it goes to look, and between tries. The server
// knows an append by its id for duplicateWindow, so that it has to be tried again within.
const (
	answerWait = 4 * time.Second
	retryPause = 50 * time.Millisecond
)

// errRefused: an expectation of the batch did not hold.
var errRefused = errors.New("expectation refused")

// publish sends a batch until its outcome is known, and returns the sequence of its first
// message. It fails with errRefused when nothing was stored for the sake of an expectation.
//
// After an answer was lost the batch can be stored, or be on its way, or be gone. So publish
// looks for it first, and sends it again only if it is not there; should it be stored between
// the two, the server recognises what comes second by id or expectation and refuses it.
func (l *Log) publish(ctx context.Context, batch []*transaction) (uint64, error) {
	msgs := l.compose(batch)
	first := batch[0].messages[0]
	lost := false // an earlier try may have been stored
	for {
		out := l.send(ctx, msgs)
		switch out.kind {
		case outcomeStored:
			if seen := l.seen.Load(); out.first <= seen {
				return 0, fmt.Errorf("%w: sequence %d was there already and was given out again", ErrReplaced, out.first)
			}
			return out.first, nil
		case outcomeFailed:
			return 0, out.err
		case outcomeRefused:
			if !lost {
				return 0, errRefused
			}
		case outcomeLost, outcomeDuplicate:
			lost = true
		}
		if lost {
			seq, err := l.find(ctx, first)
			if err != nil || seq != 0 {
				return seq, err
			}
			if out.kind == outcomeRefused {
				return 0, errRefused
			}
		}
		if err := pause(ctx, retryPause); err != nil {
			return 0, unknownIf(lost, errors.Join(out.err, err))
		}
	}
}

// unknownIf says of err whether it leaves the outcome open.
func unknownIf(lost bool, err error) error {
	if lost {
		return fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
	}
	return fmt.Errorf("nothing was stored: %w", err)
}

// find looks for an event of ours above the last sequence that was known to be stored before
// it was sent, and returns its sequence, 0 if it is not there. It asks until it has an answer.
func (l *Log) find(ctx context.Context, m message) (uint64, error) {
	for {
		seq, err := l.lookFor(ctx, m)
		switch {
		case err == nil:
			return seq, nil
		case errors.Is(err, ErrNotFound), errors.Is(err, ErrReplaced), errors.Is(err, nats.ErrConnectionClosed):
			return 0, unknownIf(true, err)
		}
		if wait := pause(ctx, retryPause); wait != nil {
			return 0, unknownIf(true, errors.Join(err, wait))
		}
	}
}

func (l *Log) lookFor(ctx context.Context, m message) (uint64, error) {
	if _, err := l.checked(ctx, 0); err != nil {
		return 0, err
	}
	var dec ledger.Decoder
	var e ledger.Event
	for next := l.seen.Load() + 1; ; {
		got, err := l.leaderGet(ctx, getRequest{Seq: next, NextBySubject: m.subject})
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		if dec.Decode(got.Data, &e) == nil && e.ID == m.id && e.Part == m.part {
			return got.Seq, nil
		}
		next = got.Seq + 1
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
