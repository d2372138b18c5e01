package ledgertest

import (
	"context"
	"sync"

	"github.com/offsetledger/offsetledger/ledger"
)

// Appender is what [Faulty] stands before: *stream.Log, or another Faulty.
type Appender interface {
	Append(ctx context.Context, events []ledger.Event, expects ...ledger.Expect) (ledger.Receipt, error)
}

// Faulty is an appender that fails on order. Its methods may be called from any goroutine.
type Faulty struct {
	to Appender

	mu     sync.Mutex
	faults []fault // the next ones, oldest first
}

type fault struct {
	err    error
	stored bool
}

// NewFaulty returns an appender that appends to the given one and does not fail until told.
func NewFaulty(to Appender) *Faulty { return &Faulty{to: to} }

// FailBefore makes the next append without an order fail with err and store nothing.
func (f *Faulty) FailBefore(err error) { f.order(fault{err: err}) }

// FailAfter makes the next append without an order store its events and fail with err then, as
// a writer sees it whose acknowledgement was lost for good.
func (f *Faulty) FailAfter(err error) { f.order(fault{err: err, stored: true}) }

func (f *Faulty) order(o fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, o)
}

// Append appends, or fails as ordered. An append that fails by itself uses up its order.
func (f *Faulty) Append(ctx context.Context, events []ledger.Event, expects ...ledger.Expect) (ledger.Receipt, error) {
	next, ordered := f.take()
	if ordered && !next.stored {
		return ledger.Receipt{}, next.err
	}
	r, err := f.to.Append(ctx, events, expects...)
	if err == nil && ordered {
		return ledger.Receipt{}, next.err
	}
	return r, err
}

func (f *Faulty) take() (fault, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.faults) == 0 {
		return fault{}, false
	}
	next := f.faults[0]
	f.faults = f.faults[1:]
	return next, true
}
