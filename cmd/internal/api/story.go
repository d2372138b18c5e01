package api

import (
	"context"
	"iter"

	"github.com/offsetledger/offsetledger/projection"
)

// defaultAround is how many events are next to a sequence if nobody says more.
const defaultAround = 50

// story tells the events that an answer shows, of those that n finds, and has counted all of
// these in totals when it ends. Few events are in memory at one time, however many are shown.
func (s *server) story(ctx context.Context, n *narrator, f *frame, totals *History) iter.Seq2[event, error] {
	found := n.found(ctx, f.seq, totals)
	limit := n.sel.q.Limit
	if n.sel.q.Around == 0 && (limit == nil || uint64(*limit) >= f.seq) {
		return found
	}
	return func(yield func(event, error) bool) {
		k := n.sel.keeper()
		for e, err := range found {
			if err != nil {
				yield(event{}, err)
				return
			}
			k.add(e)
		}
		if !k.full {
			for _, e := range k.get() {
				if !yield(e, nil) {
					return
				}
			}
			return
		}
		// They are too many to hold: what was counted the first time is found again.
		skip, shown := k.window()
		for e, err := range s.narrator(n.sel, f.cluster).found(ctx, f.seq, &History{}) {
			switch {
			case err != nil:
				yield(event{}, err)
				return
			case skip > 0:
				skip--
				continue
			case shown == 0 || !yield(e, nil):
				return
			}
			shown--
		}
	}
}

// found tells the events of which something was asked for, and counts all in totals.
func (n *narrator) found(ctx context.Context, to uint64, totals *History) iter.Seq2[event, error] {
	return func(yield func(event, error) bool) {
		for e, err := range n.stored(ctx, to) {
			if err != nil {
				yield(event{}, err)
				return
			}
			totals.Commits += e.commits
			if e.size() == 0 {
				continue
			}
			totals.TotalEvents++
			if !yield(e, nil) {
				return
			}
		}
	}
}

// mostKept is how many rows a keeper holds.
const mostKept = 20_000

// keeper holds on to the events that an answer shows while more are being found: the newest,
// or those next to a sequence. Once their rows are more than it may hold it only counts, and
// they have to be found again.
type keeper struct {
	around uint64 // 0: the newest
	before int    // how many to show before around, or at all
	from   int    // and from around on

	older, later []event
	rows         int                   // in both
	spare        [][]projection.Change // of events that were dropped
	passed, came int                   // how many there were, before around and from it on
	full         bool
}

func (sel *selection) keeper() *keeper {
	if sel.q.Around == 0 {
		return &keeper{before: *sel.q.Limit}
	}
	limit := defaultAround
	if sel.q.Limit != nil {
		limit = *sel.q.Limit
	}
	return &keeper{around: sel.q.Around, before: limit / 2, from: limit - limit/2}
}

func (k *keeper) add(e event) {
	if k.around == 0 || e.seq < k.around {
		k.passed++
		if k.full {
			return
		}
		k.older = append(k.older, k.copied(e))
	} else {
		k.came++
		if k.full || len(k.later) == k.from {
			return
		}
		k.later = append(k.later, k.copied(e))
	}
	k.rows += e.size()
	tooMany := k.rows > mostKept
	if tooMany || len(k.older) > 2*k.before {
		k.drop()
	}
	if tooMany && k.rows > mostKept/2 { // so much that dropping would not help for long
		k.older, k.later, k.spare, k.rows, k.full = nil, nil, nil, 0, true
	}
}

// copied is e with changes of its own.
func (k *keeper) copied(e event) event {
	var own []projection.Change
	if n := len(k.spare); n > 0 && len(e.changes) > 0 {
		own, k.spare = k.spare[n-1], k.spare[:n-1]
	}
	e.changes = append(own, e.changes...)
	return e
}

// drop forgets the events that will not be shown.
func (k *keeper) drop() {
	drop := max(0, len(k.older)-k.before)
	for _, e := range k.older[:drop] {
		if e.changes != nil {
			k.spare = append(k.spare, e.changes[:0])
		}
	}
	n := copy(k.older, k.older[drop:])
	clear(k.older[n:])
	k.older = k.older[:n]
	k.rows = 0
	for _, list := range [][]event{k.older, k.later} {
		for i := range list {
			k.rows += list[i].size()
		}
	}
}

// get returns the events to show, in order, of a keeper that is not full.
func (k *keeper) get() []event {
	k.drop()
	return append(k.older, k.later...)
}

// window is how many of the events that were added come before those to show, and how many
// are to be shown.
func (k *keeper) window() (skip, shown int) {
	skip = max(0, k.passed-k.before)
	return skip, k.passed - skip + min(k.came, k.from)
}
