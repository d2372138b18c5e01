package replay

import (
	"context"
	"fmt"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// Difference is what became of the groups of a scope from one point to a later one.
type Difference struct {
	From, To *projection.State
	Groups   []GroupDiff // see [Diff]
}

// DiffBetween finds the states at two points and what happened between them, of one cluster or
// one group of it; partitions has every partition told apart. What happened at from itself is
// not among it, what happened at to is. Both points have to be resolved, see [Resolve].
func DiffBetween(ctx context.Context, r Reader, from, to Point, sc Scope, partitions bool) (Difference, error) {
	return (*Snapshots)(nil).DiffBetween(ctx, r, from, to, sc, partitions)
}

// DiffBetween is the function of that name, and begins with the newest snapshot that can be used.
func (s *Snapshots) DiffBetween(ctx context.Context, r Reader, from, to Point, sc Scope, partitions bool) (Difference, error) {
	var d Difference
	var err error
	if d.From, err = s.StateAt(ctx, r, from, sc); err != nil {
		return Difference{}, err
	}
	if d.To, err = s.StateAt(ctx, r, to, sc); err != nil {
		return Difference{}, err
	}
	between := &Between{Partitions: partitions}
	if err := s.gather(ctx, r, from, to, d.To.Seq(), sc, between); err != nil {
		return Difference{}, fmt.Errorf("what happened between %s and %s: %w", from, to, err)
	}
	d.Groups = Diff(d.From, d.To, sc.cluster, between)
	return d, nil
}

// gather adds what happened between two points, up to sequence end. It has to fold from where
// nothing is later than from: by time, a row of before it can stand after one that is later.
func (s *Snapshots) gather(ctx context.Context, r Reader, from, to Point, end uint64, sc Scope, between *Between) error {
	least := end
	if from.Seq > 0 {
		least = min(end, from.Seq)
	}
	st, ok, err := s.start(ctx, r, from, least, &sc)
	if err != nil {
		return err
	}
	h := NewHistory(sc)
	if ok {
		h.state = st
	}
	if h.state.Seq() >= end {
		return nil
	}
	var in []projection.Change
	for e, err := range h.Tell(s.records(ctx, r, h.state.Seq(), end, sc, false)) {
		if err != nil {
			return err
		}
		in = in[:0]
		for i := range e.Changes {
			if ch := &e.Changes[i]; after(e.Record, ch, from) && !after(e.Record, ch, to) {
				in = append(in, *ch)
			}
		}
		between.Add(e.State, e.Record, in)
	}
	return nil
}

// after reports whether a Change is not yet part of the state at a point.
func after(rec *ledger.Record, ch *projection.Change, p Point) bool {
	switch {
	case p.Seq > 0:
		return ch.Seq > p.Seq
	case p.Time.Known():
		return ch.Moment(rec).After(p.Time)
	}
	return false
}
