package replay

import (
	"errors"
	"fmt"
	"strings"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// ErrStale is a plan that is not true any more: a [StaleError] says where.
var ErrStale = errors.New("the plan is not true any more")

// StaleError says which steps of a plan have become others. It matches [ErrStale].
type StaleError struct {
	ID      string
	Changed []string // one text for each group or step
	Done    string   // the restore that has carried the plan out already; empty for none
	Running string   // the restore that another run has begun at the same time; empty for none
}

func (e *StaleError) Error() string {
	switch {
	case e.Running != "":
		return fmt.Sprintf("plan %s is being carried out by another run, as %s; this one has done nothing", e.ID, e.Running)
	case e.Done != "":
		return fmt.Sprintf("plan %s was carried out already, as %s, and nothing is repeated", e.ID, e.Done)
	}
	most := e.Changed[:min(len(e.Changed), 5)]
	more := ""
	if n := len(e.Changed) - len(most); n > 0 {
		more = fmt.Sprintf(", and %d more", n)
	}
	return fmt.Sprintf("plan %s is not true any more: %s%s", e.ID, strings.Join(most, ", "), more)
}

// Is makes the error match [ErrStale].
func (e *StaleError) Is(target error) bool { return target == ErrStale }

// Inquiry is what has to be known for a plan to be renewed.
func (p *Plan) Inquiry() Inquiry {
	var q Inquiry
	for i := range p.Groups {
		g := &p.Groups[i]
		q.Groups = append(q.Groups, g.Group)
		for j := range g.Steps {
			s := &g.Steps[j]
			q.Partitions = append(q.Partitions, s.Key())
			if s.RecordedEpoch.Known() {
				q.Epochs = append(q.Epochs, EpochEnd{Topic: s.Topic, Partition: s.Partition, Epoch: s.RecordedEpoch})
			}
		}
	}
	q.sort()
	return q
}

// Renew works the plan out anew from later facts, with the targets, topic ids, epochs and
// metadata that it pins. Its id and digest stay those of the plan it was.
func (p *Plan) Renew(f Facts) *Plan {
	again := *p
	again.FactsAt, again.FromLedger, again.FactsProblem = f.At, f.FromLedger, f.Problem
	again.Groups = make([]PlanGroup, len(p.Groups))
	for i := range p.Groups {
		was := &p.Groups[i]
		facts := f.Group(was.Group)
		if facts == nil {
			facts = &GroupFacts{Name: was.Group, State: "Dead", Problem: "nothing is known of it now"}
		}
		by := &decider{rules: p.Rules, facts: &f, group: facts}
		g := PlanGroup{Group: was.Group, State: facts.State, Type: facts.Type, New: !facts.Exists, Untouched: was.Untouched, LeftOut: was.LeftOut}
		if g.New && !was.New && facts.Problem == "" {
			g.Refused = append(g.Refused, "the group does not exist any more")
		}
		for j := range was.Steps {
			g.Steps = append(g.Steps, by.step(was.Steps[j].pinned()))
		}
		by.judge(&g)
		again.Groups[i] = g
	}
	return &again
}

// pinned is what a step wanted.
func (s *Step) pinned() want {
	w := want{
		tp: s.Key(), target: s.Target, topicID: s.TopicID, epoch: s.RecordedEpoch, metadata: s.Metadata, only: s.Only,
		recorded: s.Recorded,
	}
	switch s.Action {
	case ActionRefuse:
		w.refused = s.Reason
	case ActionKeep:
		if !s.Target.Exists {
			w.kept = s.Reason
		}
	}
	return w
}

// Drift is how what is committed has moved between two plans that do the same.
type Drift struct {
	Moved            int // steps whose current offset is another
	Forward, Back    int64
	Appeared, Absent int // steps where an offset has appeared or has gone
}

// Holds reports whether a plan is still true, by what [Plan.Renew] has made of it: every action
// and every direction is as it was. If not, the error is a [StaleError]. That a group is blocked
// is not looked at.
func (p *Plan) Holds(later *Plan) (Drift, error) {
	var d Drift
	var changed []string
	for i := range p.Groups {
		was, is := &p.Groups[i], &later.Groups[i]
		name := ledger.Spell(was.Group)
		for _, why := range is.Refused {
			changed = append(changed, name+": "+why)
		}
		for j := range was.Steps {
			a, b := &was.Steps[j], &is.Steps[j]
			d.add(a.Current, b.Current)
			if a.Action == b.Action && a.Way() == b.Way() && a.Target == b.Target {
				continue
			}
			changed = append(changed, fmt.Sprintf("%s %s/%d: %s, and was %s", name, ledger.Spell(a.Topic), a.Partition, b.told(), a.told()))
		}
	}
	if len(changed) > 0 {
		return d, &StaleError{ID: p.ID, Changed: changed}
	}
	return d, nil
}

// told says in few words what a step does.
func (s *Step) told() string {
	text := s.Action.String()
	if s.Action == ActionSet {
		text += fmt.Sprintf(" %d", s.Target.At)
		if way := s.Way(); way != DirectionAny {
			text += " (" + way.String() + ")"
		}
	}
	if s.Reason != "" && s.Action != ActionSet {
		text += " (" + s.Reason + ")"
	}
	return text
}

func (d *Drift) add(was, is projection.Value) {
	switch {
	case was == is:
		return
	case !was.Exists:
		d.Appeared++
	case !is.Exists:
		d.Absent++
	case is.At > was.At:
		d.Moved++
		d.Forward = plus(d.Forward, is.At-was.At)
	default:
		d.Moved++
		d.Back = plus(d.Back, was.At-is.At)
	}
}
