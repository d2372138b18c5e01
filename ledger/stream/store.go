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

// retryPause is how long to wait before trying something again.
const retryPause = 50 * time.Millisecond

// answerWait is how long a try waits for its answer before publish goes to look. The server
// knows an append by its id for duplicateWindow, and the next try has to come well within.
func (c Config) answerWait() time.Duration { return min(c.AppendTimeout/8, 2*duplicateWindow/5) }

// errRefused: an expectation of the batch did not hold.
var errRefused = errors.New("expectation refused")

// publish sends a batch until its outcome is known, and returns the sequence of its first
// message. It fails with errRefused when nothing was stored for the sake of an expectation.
//
// After an answer was lost the batch can be stored, or be on its way, or be gone. So publish
// looks for it first, and sends it again only if it is not there; should it be stored between
// the two, the server recognises what comes second by id or expectation and refuses it.
func (l *Log) publish(ctx context.Context, batch []*transaction) (uint64, error) {
	parcel := l.pack(batch)
	first := batch[0].messages[0]
	lost := false // an earlier try may have been stored
	for {
		if err := ctx.Err(); err != nil {
			return 0, unknownIf(lost, err)
		}
		out := l.send(ctx, parcel)
		switch out.kind {
		case outcomeStored:
			return out.first, l.stillOurs(ctx, out.first)
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

// strangersEvery is how often at most an append looks who else writes to the stream.
const strangersEvery = time.Second

// stillOurs fails with ErrReplaced when a batch has just been stored in another stream than the
// one that was opened. As long as sequences follow each other that cannot be; when they do not,
// somebody else writes to the stream, or it is another.
func (l *Log) stillOurs(ctx context.Context, first uint64) error {
	seen := l.seen.Load()
	if first == seen+1 {
		return nil
	}
	if first <= seen {
		return fmt.Errorf("%w: sequence %d was there already and was given out again", ErrReplaced, first)
	}
	if time.Since(l.appender.looked) < strangersEvery {
		return nil
	}
	l.appender.looked = time.Now()
	if _, err := l.checked(ctx, first); errors.Is(err, ErrReplaced) || errors.Is(err, ErrNotFound) {
		return err
	}
	return nil
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
