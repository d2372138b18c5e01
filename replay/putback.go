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

// PutBacks finds the restores of a cluster that incidents were made or put back by. They are read
// when they are asked for, and again only if there are more. Safe for use by several goroutines.
type PutBacks struct {
	mu    sync.Mutex // guards all below
	from  operators
	goals map[string]goal // of the plans that were carried out, by digest
	found *PutBack
}

// PutBack says of incidents which restores made them and put them back, up to some sequence. It does
// not change, and the zero PutBack knows of none.
type PutBack struct {
	restores []RestoreRecord // oldest first
	points   []Point         // that they went to; zero: to no point before which an incident could lie
	// Indexes of restores: by their plan all, the others of those that were carried out and not
	// undone: by what they put back, or undo.
	ofPlan, ofIncident, ofGroup, undoing map[string][]int
}

// goal is what a plan is to put back: an incident, or whole groups to a point; zero: nothing.
type goal struct {
	incident string
	groups   []string
	point    Point
}

// NewPutBacks returns the restores that r holds of a cluster.
func NewPutBacks(r Reader, cluster string) *PutBacks {
	return &PutBacks{from: operators{reader: r, cluster: cluster}, goals: map[string]goal{}, found: &PutBack{}}
}

// Through returns what is known up to a sequence at least.
func (x *PutBacks) Through(ctx context.Context, seq uint64) (*PutBack, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	before, more := x.from.through, false
	err := x.from.read(ctx, seq, "", func(rec *ledger.Record) {
		action := rec.Event.Operation.Action
		more = more || action == OperationApply || action == OperationApplied
	})
	if err == nil && more {
		err = x.renew(ctx, x.from.reader, x.from.cluster)
	}
	if err != nil {
		x.from.through = before
		return nil, fmt.Errorf("read what was put back: %w", err)
	}
	return x.found, nil
}

// renew reads the restores, and the plans of those that it does not know yet.
func (x *PutBacks) renew(ctx context.Context, r Reader, cluster string) error {
	restores, err := Restores(ctx, r, cluster)
	if err == nil {
		err = x.learn(ctx, r, cluster, restores)
	}
	if err == nil {
		x.found = indexed(restores, x.goals)
	}
	return err
}

// learn reads what the restores were to do of which that is not known yet.
func (x *PutBacks) learn(ctx context.Context, r Reader, cluster string, restores []RestoreRecord) error {
	missing, ids := map[string]goal{}, map[string]bool{}
	for i := range restores {
		digest := restores[i].Digest
		if _, known := x.goals[digest]; !known {
			missing[digest], ids[restores[i].Plan] = goal{}, true
		}
	}
	if len(missing) == 0 {
		return nil
	}
	for sp, err := range PlansOf(ctx, r, cluster, func(id string) bool { return ids[id] }) {
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

func indexed(restores []RestoreRecord, goals map[string]goal) *PutBack {
	x := &PutBack{
		restores: restores, points: make([]Point, len(restores)),
		ofPlan: map[string][]int{}, ofIncident: map[string][]int{}, ofGroup: map[string][]int{}, undoing: map[string][]int{},
	}
	undone := UndoneBy(restores)
	for i := range x.restores {
		r, g := &x.restores[i], goals[x.restores[i].Digest]
		x.points[i] = g.point
		x.ofPlan[r.Plan] = append(x.ofPlan[r.Plan], i)
		switch {
		case r.Until == 0 || undone[r.Restore] != "":
		case r.Undoes != "":
			x.undoing[r.Undoes] = append(x.undoing[r.Undoes], i)
		case g.incident != "":
			x.ofIncident[g.incident] = append(x.ofIncident[g.incident], i)
		default:
			for _, group := range g.groups {
				x.ofGroup[group] = append(x.ofGroup[group], i)
			}
		}
	}
	return x
}

// Of returns the restore that an incident came of, and the last that put it back and was not taken
// back itself; nil if there is none. One puts an incident back if its plan was made for that, or
// takes the whole group to a moment before it, or if the restore that the incident came of is
// what it takes back.
func (x *PutBack) Of(in *projection.Incident) (made, by *RestoreRecord) {
	last := func(among []int, fits func(i int) bool) *RestoreRecord {
		for _, i := range slices.Backward(among) {
			if fits(i) {
				return &x.restores[i]
			}
		}
		return nil
	}
	later := func(i int) bool { return x.restores[i].Seq > in.LastSeq }
	before := func(i int) bool {
		p := x.points[i]
		return later(i) && (p.Seq > 0 && p.Seq < in.Seq || p.Time.Known() && p.Time.Before(in.Time))
	}
	if in.Plan != "" {
		made = last(x.ofPlan[in.Plan], func(i int) bool { return x.restores[i].Seq < in.Seq })
	}
	found := []*RestoreRecord{last(x.ofIncident[in.ID()], later), last(x.ofGroup[in.Group], before)}
	if made != nil {
		found = append(found, last(x.undoing[made.Restore], later))
	}
	for _, r := range found {
		if r != nil && (by == nil || r.Seq > by.Seq) {
			by = r
		}
	}
	return made, by
}
