package replay

import (
	"context"
	"errors"
	"fmt"
	"sort"

	"github.com/offsetledger/offsetledger/ledger"
)

// ErrNoCheckpoint is a checkpoint that the scope does not have.
var ErrNoCheckpoint = errors.New("no such checkpoint")

// Resolve turns a point that only the log can find into a sequence: an append time into the
// last sequence stored by then, a checkpoint of the scope's group into its sequence, of
// several of that name the last. Other points are returned as they are.
func Resolve(ctx context.Context, r Reader, p Point, sc Scope) (Point, error) {
	switch {
	case p.Appended.Known():
		seq, err := appendedBy(ctx, r, p.Appended)
		if err == nil && seq == 0 {
			err = errors.New("the log begins later")
		}
		if err != nil {
			return Point{}, fmt.Errorf("resolve %s: %w", p, err)
		}
		return Point{Seq: seq}, nil
	case p.Checkpoint != "":
		seq, err := checkpoint(ctx, r, p.Checkpoint, sc)
		if err != nil {
			return Point{}, fmt.Errorf("resolve %s: %w", p, err)
		}
		return Point{Seq: seq}, nil
	}
	return p, nil
}

// appendedBy returns the last sequence stored by t, 0 if there is none. Append times never
// go back by more than a clock correction, so halving finds it with few reads.
func appendedBy(ctx context.Context, r Reader, t ledger.Time) (uint64, error) {
	last, err := r.Last(ctx)
	if err != nil {
		return 0, err
	}
	n := sort.Search(int(last), func(i int) bool {
		if err != nil {
			return true
		}
		seq := uint64(i) + 1
		later := false
		for rec, e := range r.Read(ctx, seq, seq, ledger.Filter{}) {
			if e != nil {
				err = e
				return true
			}
			later = ledger.AtTime(rec.Appended).After(t)
		}
		return later
	})
	return uint64(n), err
}

func checkpoint(ctx context.Context, r Reader, name string, sc Scope) (uint64, error) {
	if !sc.ofGroup {
		return 0, errors.New("a checkpoint belongs to a group: name one")
	}
	last, err := r.Last(ctx)
	if err != nil || last == 0 {
		return 0, errors.Join(err, ErrNoCheckpoint)
	}
	found := uint64(0)
	f := ledger.Filter{Subjects: []string{ledger.GroupSubject(sc.cluster, sc.group, ledger.KindCheckpoint)}}
	for rec, err := range r.Read(ctx, 1, last, f) {
		if err != nil {
			return 0, err
		}
		if cp := rec.Event.Checkpoint; cp != nil && cp.Name == name {
			found = rec.Seq
		}
	}
	if found == 0 {
		return 0, ErrNoCheckpoint
	}
	return found, nil
}
