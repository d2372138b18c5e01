package projection

import (
	"iter"
	"slices"

	"github.com/offsetledger/offsetledger/ledger"
)

// maxIncidents bounds the incidents held. Older ones are let go: [Incidents.Since] says up to
// when, and a replay of the group finds them again.
const maxIncidents = 100_000

// Incidents gathers Changes into incidents, newest last.
type Incidents struct {
	all    []*Incident // by Seq
	limit  int         // of all
	since  ledger.Time // the latest of those that were let go
	groups map[groupKey]*groupIncidents
	open   int // those still watched, of all groups
}

type groupKey struct{ cluster, group string }

// groupIncidents is what is going on in one group.
type groupIncidents struct {
	last map[Movement]*Incident // the newest act of each kind
	open []*Incident            // those still watched
	any  *Incident              // the newest of all kinds
}

// NewIncidents returns the projection before the first record.
func NewIncidents() *Incidents {
	return &Incidents{limit: maxIncidents, groups: map[groupKey]*groupIncidents{}}
}

// Apply takes in what folding rec did to s: the Changes of [State.Apply], all or only those
// that are neither advance nor recommit.
func (x *Incidents) Apply(s *State, rec *ledger.Record, changes []Change) {
	if len(changes) == 0 && x.open == 0 {
		return // as of nearly all records of a replay
	}
	switch rec.Event.Kind {
	case ledger.KindCommitted, ledger.KindReset, ledger.KindDeleted, ledger.KindGroup:
	default:
		return
	}
	key := groupKey{rec.Event.Cluster, rec.Event.Group}
	gi := x.groups[key]
	for i := range changes {
		ch := &changes[i]
		if !ch.Movement.Notable() {
			continue
		}
		if gi == nil {
			gi = &groupIncidents{last: map[Movement]*Incident{}}
			x.groups[key] = gi
		}
		for _, in := range gi.open {
			in.release(ch.Topic, ch.Partition)
		}
		x.take(s, gi, ch)
	}
	if gi == nil || len(gi.open) == 0 {
		return
	}
	_, g := s.find(key.cluster, key.group)
	if g == nil {
		return
	}
	gi.open = slices.DeleteFunc(gi.open, func(in *Incident) bool {
		if g.state == GroupStateStable && !in.ReadingSince.Known() && in.EmptySince.Known() && !rec.Event.Time.Before(in.Time) {
			in.ReadingSince = g.since
		}
		in.progress(g, rec.Event.Time)
		done := len(in.open) == 0
		if done {
			x.open--
		}
		return done
	})
}

func (x *Incidents) take(s *State, gi *groupIncidents, ch *Change) {
	in := gi.last[ch.Movement]
	if in == nil || !in.near(ch.Time) {
		in = begin(s, ch)
		gi.last[ch.Movement], gi.any = in, in
		if len(x.all) >= x.limit {
			x.letGo(max(x.limit/10, 1))
		}
		x.all = append(x.all, in)
	}
	in.add(s, ch)
	if len(in.open) > 0 && !slices.Contains(gi.open, in) {
		gi.open = append(gi.open, in)
		x.open++
	}
}

// letGo forgets the n oldest incidents.
func (x *Incidents) letGo(n int) {
	for _, in := range x.all[:n] {
		x.since = ledger.MaxTime(x.since, in.Until)
	}
	x.all = slices.Delete(x.all, 0, n)
}

// Since is the moment after which no incident is missing here. It is false while none was let
// go.
func (x *Incidents) Since() (ledger.Time, bool) { return x.since, x.since.Known() }

// Keeps reports whether no incident was let go that a Change at t is part of.
func (x *Incidents) Keeps(t ledger.Time) bool {
	return !x.since.Known() || x.since.Add(sameAct).Before(t)
}

// All yields the incidents of a cluster, the newest first; "" is all clusters. They are those
// of the projection: not to be written to, and valid until the next record is folded.
func (x *Incidents) All(cluster string) iter.Seq[*Incident] {
	return func(yield func(*Incident) bool) {
		for _, in := range slices.Backward(x.all) {
			if (cluster == "" || in.Cluster == cluster) && !yield(in) {
				return
			}
		}
	}
}

// Find returns the incidents that the record with sequence seq is part of: more than one for
// a commit that moved one partition back and another far forward. Those have the same ID if
// it is the first record of both.
func (x *Incidents) Find(seq uint64) []Incident {
	var out []Incident
	for _, in := range x.all {
		if in.Seq > seq {
			break
		}
		if seq <= in.LastSeq && in.Holds(seq) {
			out = append(out, in.Copy())
		}
	}
	return out
}

// Last returns the newest incident of a group.
func (x *Incidents) Last(cluster, group string) (Incident, bool) {
	gi := x.groups[groupKey{cluster, group}]
	if gi == nil || gi.any == nil {
		return Incident{}, false
	}
	return gi.any.Copy(), true
}

// Copy detaches an incident from the projection.
func (in *Incident) Copy() Incident {
	out := *in
	out.more, out.open = slices.Clone(in.more), nil
	return out
}
