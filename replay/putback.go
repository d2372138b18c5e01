package replay

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// PutBacks are the restores of a cluster, as far as incidents were made or put back by them. They are
// read when they are asked for, and again only if there are more. Safe for use by several
// goroutines.
type PutBacks struct {
	mu       sync.Mutex // guards all below
	from     operators
	restores []RestoreRecord // oldest first
	goals    map[string]goal // of the plans that they carried out, by digest
}

// goal is what a plan is to put back: an incident, or whole groups to a point; zero: nothing.
type goal struct {
	incident string
	groups   []string
	point    Point
}

// NewPutBacks returns the restores that r holds of a cluster.
func NewPutBacks(r Reader, cluster string) *PutBacks {
	return &PutBacks{from: operators{reader: r, cluster: cluster}, goals: map[string]goal{}}
}

// Through takes in what is stored up to a sequence at least.
func (x *PutBacks) Through(ctx context.Context, seq uint64) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	reader, cluster := x.from.reader, x.from.cluster
	before, more := x.from.through, false
	note := func(rec *ledger.Record) {
		action := rec.Event.Operation.Action
		more = more || action == OperationApply || action == OperationApplied
	}
	err := x.from.read(ctx, seq, "", note)
	if err == nil && more {
		err = x.renew(ctx, reader, cluster)
	}
	if err != nil {
		x.from.through = before
		return fmt.Errorf("read what was put back: %w", err)
	}
	return nil
}

// renew reads the restores, and the plans of those that it does not know yet.
func (x *PutBacks) renew(ctx context.Context, r Reader, cluster string) (err error) {
	if x.restores, err = Restores(ctx, r, cluster); err != nil {
		return err
	}
	missing := map[string]goal{}
	for i := range x.restores {
		digest := x.restores[i].Digest
		if _, known := x.goals[digest]; !known {
			missing[digest] = goal{}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	for sp, err := range Plans(ctx, r, cluster) {
		if errors.Is(err, ErrPlanFile) {
			continue // its restore says less
		}
		if err != nil {
			return err
		}
		if _, carriedOut := missing[sp.Plan.Digest]; carriedOut {
			missing[sp.Plan.Digest] = sp.Plan.goal()
		}
	}
	maps.Copy(x.goals, missing)
	return nil
}

func (p *Plan) goal() goal {
	if p.Command != CommandRestore || p.Incident != "" {
		return goal{incident: p.Incident}
	}
	made, _ := p.Made.Std()
	at, err := ParsePoint(p.Point, made)
	if err != nil { // an undo, which says itself what it takes back
		return goal{}
	}
	out := goal{point: at}
	for i := range p.Groups {
		if len(p.Groups[i].Untouched) == 0 {
			out.groups = append(out.groups, p.Groups[i].Group)
		}
	}
	return out
}

// Of returns the restore that an incident came of, and the last that put it back and was not taken
// back itself; nil if there is none. One puts an incident back if its plan was made for that, or
// takes the whole group to a moment before it, or if the restore that the incident came of is
// what it takes back.
func (x *PutBacks) Of(in *projection.Incident) (made, by *RestoreRecord) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for i := range x.restores {
		r := &x.restores[i]
		if in.Plan != "" && r.Plan == in.Plan && r.Seq < in.Seq {
			made = r
		}
	}
	for i := range x.restores {
		r := &x.restores[i]
		if r.Until != 0 && r.Seq > in.LastSeq && !x.undone(r) && x.covers(r, in, made) {
			by = r
		}
	}
	return made, by
}

func (x *PutBacks) undone(r *RestoreRecord) bool {
	return slices.ContainsFunc(x.restores, func(u RestoreRecord) bool { return u.Undoes == r.Restore && u.Until != 0 && !x.undone(&u) })
}

func (x *PutBacks) covers(r *RestoreRecord, in *projection.Incident, made *RestoreRecord) bool {
	if r.Undoes != "" {
		return made != nil && made.Restore == r.Undoes
	}
	g := x.goals[r.Digest]
	if g.incident != "" {
		return g.incident == in.ID()
	}
	before := g.point.Seq > 0 && g.point.Seq < in.Seq || g.point.Time.Known() && g.point.Time.Before(in.Time)
	return before && slices.Contains(g.groups, in.Group)
}
