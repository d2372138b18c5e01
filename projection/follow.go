package projection

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
)

// follower is one reader of live Changes. The fold never waits for it.
type follower struct {
	mu     sync.Mutex
	buffer []Change
	err    error
	wake   chan struct{} // holds a token when there is something to look at
}

func newFollower() *follower { return &follower{wake: make(chan struct{}, 1)} }

// offer hands over Changes, or ends the follower when it is too far behind.
func (f *follower) offer(changes []Change) {
	if len(changes) == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.err != nil:
		return
	case len(f.buffer)+len(changes) > maxFollowed && len(f.buffer) > 0:
		f.err = fmt.Errorf("%d changes behind record %d: %w", len(f.buffer), changes[0].Seq, ErrFollowerSlow)
	default:
		f.buffer = append(f.buffer, changes...)
	}
	f.poke()
}

func (f *follower) end(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
	}
	f.poke()
}

func (f *follower) poke() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// take swaps the buffer against an empty one. An error comes only with an empty buffer, so
// nothing that was offered before it is lost.
func (f *follower) take(empty []Change) ([]Change, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.buffer) == 0 {
		return nil, f.err
	}
	full := f.buffer
	f.buffer = empty[:0]
	return full, nil
}

// Changes yields the Changes of records folded from now on, in order. It begins when the
// iteration does, after the record that [View.Seq] then says. It ends with ctx and its
// error, with [ErrFollowerSlow] when the reader falls too far behind, and with the error of
// Run when that ends.
func (v *View) Changes(ctx context.Context) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		f := v.follow()
		defer v.unfollow(f)
		for batch, err := range f.batches(ctx) {
			if err != nil {
				yield(Change{}, err)
				return
			}
			for _, c := range batch {
				if !yield(c, nil) {
					return
				}
			}
		}
	}
}

// batches yields what is offered, as long as there is something at a time. It ends as
// [View.Changes] does. A batch is valid until the next step.
func (f *follower) batches(ctx context.Context) iter.Seq2[[]Change, error] {
	return func(yield func([]Change, error) bool) {
		var batch []Change
		for {
			var err error
			if batch, err = f.take(batch); err != nil {
				yield(nil, err)
				return
			}
			if len(batch) > 0 {
				if !yield(batch, nil) {
					return
				}
				continue
			}
			select {
			case <-f.wake:
			case <-ctx.Done():
				yield(nil, ctx.Err())
				return
			}
		}
	}
}

// follow registers a follower, between two records.
func (v *View) follow() *follower {
	v.mu.RLock()
	defer v.mu.RUnlock()
	v.wait.Lock()
	defer v.wait.Unlock()
	f := newFollower()
	v.followers = append(v.followers, f)
	if v.ended {
		f.end(v.endError())
	}
	return f
}

func (v *View) unfollow(f *follower) {
	v.wait.Lock()
	defer v.wait.Unlock()
	v.followers = slices.DeleteFunc(v.followers, func(o *follower) bool { return o == f })
}
