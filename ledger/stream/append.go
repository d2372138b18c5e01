package stream

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/offsetledger/offsetledger/ledger"
)

// Append stores events, together and in order or not at all, if every expectation holds, and
// returns when they are stored. Whatever others append at the same time shares the server's
// work, and comes before or after but not between.
//
// Events without ID get one, and an event of more than 900 KiB is stored in parts; the slice
// and its events stay as they are. It fails with [ledger.ErrInvalid] for events that must not
// be stored, with [ledger.ErrTooLarge] for more than 1,000 messages or 8 MiB, with
// [*ledger.ConflictError] when an expectation did not hold, and with [ErrOutcomeUnknown] when
// no answer came in time or ctx ended while the events were on their way. In all cases but the
// last nothing is stored.
//
// An answer that is lost on the way back is no failure: Append finds out whether the events
// are stored, and stores them if they are not.
func (l *Log) Append(ctx context.Context, events []ledger.Event, expects ...ledger.Expect) (ledger.Receipt, error) {
	t, err := newTransaction(events, expects)
	if err != nil {
		return ledger.Receipt{}, fmt.Errorf("append: %w", err)
	}
	if err := l.append(ctx, t); err != nil {
		return ledger.Receipt{}, fmt.Errorf("append: %w", err)
	}
	return t.receipt, nil
}

// appender gathers what callers append at the same time. There is no goroutine behind it: the
// caller that finds nobody writing becomes the leader and writes everything that is waiting as
// one batch, its own included. When that is done it makes the first of those that have come
// meanwhile the next leader.
type appender struct {
	id processID

	mu      sync.Mutex
	queue   []*transaction // waiting, oldest first
	writing bool           // there is a leader

	batches uint64    // count of batches; the leader's
	looked  time.Time // when a leader last looked who else writes; the leader's
}

// state is where a transaction stands. It is guarded by appender.mu.
type state int

const (
	waiting  state = iota // in the queue
	leading               // at the head of the queue, and its caller has to write now
	inFlight              // in a leader's batch
	finished              // receipt and err are set
)

// append queues t and returns when it is finished, or when ctx ends and t's caller is free to
// go: a leader is not, as long as others depend on it.
func (l *Log) append(ctx context.Context, t *transaction) error {
	a := &l.appender
	if err := ctx.Err(); err != nil {
		return err
	}
	a.mu.Lock()
	a.queue = append(a.queue, t)
	if !a.writing {
		a.writing = true
		a.queue[0].enter(leading)
	}
	a.mu.Unlock()

	for {
		select {
		case now := <-t.entered:
			switch now {
			case leading:
				l.lead(ctx)
			case finished:
				return t.err
			}
		case <-ctx.Done():
			if left, err := a.leave(t, ctx.Err()); left {
				return err
			}
			// t has become finished or leading in the same moment, and entered says which.
		}
	}
}

// enter moves t on and tells its caller. The caller of enter holds appender.mu.
func (t *transaction) enter(s state) {
	t.state = s
	if s == leading || s == finished {
		t.entered <- s // has room for both
	}
}

// leave takes t out of the appender after its caller has lost patience. It is false when t is
// finished or leading: then its caller has to see to that.
func (a *appender) leave(t *transaction, cause error) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch t.state {
	case waiting:
		a.queue = slices.DeleteFunc(a.queue, func(q *transaction) bool { return q == t })
		return true, cause
	case inFlight:
		return true, fmt.Errorf("%w: the events are on their way: %w", ErrOutcomeUnknown, cause)
	default:
		return false, nil
	}
}

// lead writes one batch and hands over. A batch with others in it is written to its end, in the
// time that appends have, even when the leader's own ctx ends.
func (l *Log) lead(ctx context.Context) {
	a := &l.appender
	batch := a.take()
	if len(batch) > 1 {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, l.cfg.AppendTimeout)
	defer cancel()
	l.store(ctx, batch)

	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range batch {
		t.enter(finished)
	}
	if len(a.queue) == 0 {
		a.writing = false
		return
	}
	a.queue[0].enter(leading)
}

// take removes from the head of the queue what fits into one batch.
func (a *appender) take() []*transaction {
	a.mu.Lock()
	defer a.mu.Unlock()
	var messages, bytes int
	n := 0
	for n < len(a.queue) {
		t := a.queue[n]
		messages += len(t.messages)
		bytes += t.bytes
		if n > 0 && (messages > maxMessages || bytes > maxBytes || dependsOn(t, a.queue[:n])) {
			break
		}
		t.enter(inFlight)
		n++
	}
	batch := slices.Clone(a.queue[:n])
	a.queue = slices.Delete(a.queue, 0, n)
	return batch
}

// dependsOn reports whether an expectation of t is about a message of the earlier ones. Then t
// has to wait for the next batch: the server checks the expectations of a batch against what
// was stored before it, and not against what comes earlier in it.
func dependsOn(t *transaction, earlier []*transaction) bool {
	for _, x := range t.expects {
		matches := matcher(x.Filter)
		for _, e := range earlier {
			for i := range e.messages {
				if matches(e.messages[i].subject) {
					return true
				}
			}
		}
	}
	return false
}

// matcher returns ledger.MatchSubject for one filter. The usual filters, a subject and all of a
// group, are asked of every message in a batch, so they have a short way.
func matcher(filter string) func(subject string) bool {
	prefix, open := strings.CutSuffix(filter, ">")
	switch {
	case strings.ContainsAny(prefix, "*>"):
		return func(subject string) bool { return ledger.MatchSubject(filter, subject) }
	case open && strings.HasSuffix(prefix, "."):
		return func(subject string) bool { return len(subject) > len(prefix) && strings.HasPrefix(subject, prefix) }
	case open:
		return func(subject string) bool { return ledger.MatchSubject(filter, subject) }
	}
	return func(subject string) bool { return subject == filter }
}
