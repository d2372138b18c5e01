package stream

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/offsetledger/offsetledger/ledger"
)

// Read returns the events with sequences from to to that f selects, in order. To 0 is the last
// sequence as of the call; from 0 is 1.
//
// A sequence that should be there and is not ends the iteration with [ledger.ErrMissing]:
// inside the range when f selects all, and at its ends always. So does a range that reaches
// beyond the last sequence. A record that cannot be decoded ends it with [ledger.ErrDamaged],
// and a stream that is no longer the one that was opened with [ErrReplaced].
//
// A record is valid until the next step of the iteration; [ledger.Record.Clone] keeps it.
func (l *Log) Read(ctx context.Context, from, to uint64, f ledger.Filter) iter.Seq2[ledger.Record, error] {
	return func(yield func(ledger.Record, error) bool) {
		from = max(from, 1)
		end, err := l.readEnd(ctx, from, to, f)
		if err == nil && end < from {
			return
		}
		if err == nil {
			r := reader{log: l, filter: f, next: from, end: end}
			err = r.run(ctx, yield)
		}
		if err != nil {
			yield(ledger.Record{}, fmt.Errorf("read %s: %w", l.cfg.Name, err))
		}
	}
}

// readEnd returns the sequence of the last event that a Read has to return; below from when
// there is none. That it is known beforehand is what makes a Read end: the server does not
// tell when nothing more comes.
func (l *Log) readEnd(ctx context.Context, from, to uint64, f ledger.Filter) (uint64, error) {
	info, err := l.checked(ctx, from-1)
	if err != nil {
		return 0, missingIf(err, from-1)
	}
	last := info.State.LastSeq
	if to > last {
		return 0, fmt.Errorf("sequences %d to %d: %w", last+1, to, ledger.ErrMissing)
	}
	if to == 0 {
		to = last
	}
	if len(f.Subjects) == 0 {
		return to, nil
	}
	var end uint64
	for _, s := range f.Subjects {
		of, err := l.LastOf(ctx, s)
		if err != nil {
			return 0, err
		}
		end = max(end, of)
	}
	return min(end, to), nil
}

// Follow returns the events from sequence from on that f selects, in order, and goes on with
// those that are appended until ctx ends. It goes on where it was when the server or the
// connection went away and came back. From may be one beyond the last sequence; from 0 is 1.
//
// It ends with an error as [Log.Read] does, and with [ErrReplaced] or [ErrNotFound] when the
// stream was deleted, made again or emptied meanwhile, also while nothing is appended; noticing
// that can take some seconds. When ctx ends its error is the last thing returned.
func (l *Log) Follow(ctx context.Context, from uint64, f ledger.Filter) iter.Seq2[ledger.Record, error] {
	return func(yield func(ledger.Record, error) bool) {
		from = max(from, 1)
		r := reader{log: l, filter: f, next: from, live: true}
		if err := r.run(ctx, yield); err != nil {
			yield(ledger.Record{}, fmt.Errorf("follow %s: %w", l.cfg.Name, err))
		}
	}
}

// missingIf adds to an error about a stream that has become too short that events are missing.
func missingIf(err error, seq uint64) error {
	if errors.Is(err, ErrReplaced) {
		return fmt.Errorf("sequence %d: %w: %w", seq, ledger.ErrMissing, err)
	}
	return err
}

// errStopped: the caller of the iteration wants no more.
var errStopped = errors.New("stopped")

// reader is one iteration. Its consumers come and go; what it keeps is the sequence to go on
// with, and a consumer is made anew at it whenever anything is in doubt.
type reader struct {
	log    *Log
	filter ledger.Filter
	next   uint64 // lowest sequence that has not been passed
	end    uint64 // last sequence to return, when not live
	live   bool
	stalls int // signs of life since the last delivery

	dec ledger.Decoder
	rec ledger.Record
}

func (r *reader) run(ctx context.Context, yield func(ledger.Record, error) bool) error {
	for {
		c, err := r.open(ctx)
		if err != nil {
			return err
		}
		err = r.consume(ctx, c, yield)
		c.close()
		switch {
		case errors.Is(err, errRenew):
			r.log.cfg.Logger.Debug("reading on with a new consumer", "stream", r.log.cfg.Name, "from", r.next, "reason", err)
		case errors.Is(err, errStopped):
			return nil
		default:
			return err
		}
	}
}

// open makes a consumer at r.next, after making sure that the stream is still the one that was
// opened. It tries for as long as ctx allows, since a server that restarts comes back.
func (r *reader) open(ctx context.Context) (*consumer, error) {
	for {
		c, err := r.tryOpen(ctx)
		switch {
		case err == nil:
			return c, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case !passing(err):
			return nil, err
		}
		if err := pause(ctx, retryPause); err != nil {
			return nil, err
		}
	}
}

func (r *reader) tryOpen(ctx context.Context) (*consumer, error) {
	if _, err := r.log.checked(ctx, r.next-1); err != nil {
		return nil, missingIf(err, r.next-1)
	}
	return r.log.newConsumer(ctx, r.next, r.filter)
}

// consume hands on what the consumer delivers. It returns nil when the end was reached and
// errRenew when the reader has to go on with another consumer.
func (r *reader) consume(ctx context.Context, c *consumer, yield func(ledger.Record, error) bool) error {
	for {
		m, err := c.next(ctx)
		if errors.Is(err, errIdle) {
			err = r.idle(ctx)
		}
		if err != nil {
			return err
		}
		if m.data == nil {
			continue
		}
		if len(r.filter.Subjects) == 0 && m.seq != r.next {
			return fmt.Errorf("sequences %d to %d: %w", r.next, m.seq-1, ledger.ErrMissing)
		}
		if !r.live && m.seq > r.end {
			return nil
		}
		if err := r.dec.Decode(m.data, &r.rec.Event); err != nil {
			return fmt.Errorf("sequence %d: %w", m.seq, err)
		}
		r.rec.Seq, r.rec.Appended = m.seq, m.stored
		r.next, r.stalls = m.seq+1, 0
		if !yield(r.rec, nil) {
			return errStopped
		}
		if !r.live && m.seq >= r.end {
			return nil
		}
	}
}

// maxStalls is how often a Read tries again with another consumer when the server does not
// deliver what is known to be stored, before it says that it is missing.
const maxStalls = 2

// idle looks after a stream from which nothing has come for a while.
func (r *reader) idle(ctx context.Context) error {
	info, err := r.log.checked(ctx, r.next-1)
	switch {
	case passing(err):
		return errRenew
	case err != nil:
		return missingIf(err, r.next-1)
	case !r.live && r.stalls < maxStalls:
		r.stalls++ // a replica that lags may have to catch up
		return errRenew
	case !r.live:
		return fmt.Errorf("sequence %d, or one before it down to %d: %w", r.end, r.next, ledger.ErrMissing)
	case len(r.filter.Subjects) == 0 && info.State.LastSeq >= r.next:
		// It is there and does not come, or it was stored this moment: a new consumer tells.
		return errRenew
	}
	return nil
}

// passing reports whether err is one of a server that may come back, or that has no consumer to
// grant until somebody else has done with one.
func passing(err error) bool {
	var api *jetstream.APIError
	switch {
	case err == nil, errors.Is(err, ErrNotFound), errors.Is(err, ErrReplaced), errors.Is(err, ErrNoJetStream):
		return false
	case errors.As(err, &api):
		return api.Code == 503 || api.ErrorCode == jetstream.JSErrCodeMaximumConsumersLimit
	}
	return isTransport(err)
}
