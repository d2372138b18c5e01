package replay

import (
	"context"
	"fmt"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// IncidentsAt finds the incidents that the event at a sequence is part of, none if it is part of
// none, by replay of its group: also those that a live projection has let go long ago. A part of
// an event that was cut stands for the event.
func IncidentsAt(ctx context.Context, r Reader, seq uint64) ([]projection.Incident, error) {
	return (*Snapshots)(nil).IncidentsAt(ctx, r, seq)
}

// IncidentsAt is the function of that name, and begins with the newest snapshot of before the event.
func (s *Snapshots) IncidentsAt(ctx context.Context, r Reader, seq uint64) ([]projection.Incident, error) {
	fail := func(err error) ([]projection.Incident, error) {
		return nil, fmt.Errorf("incidents at record %d: %w", seq, err)
	}
	last, err := r.Last(ctx)
	if err != nil {
		return fail(err)
	}
	if seq == 0 || seq > last {
		return fail(fmt.Errorf("%w, which ends at %d", ErrAhead, last))
	}
	var of Scope
	var st *projection.State
	var x *projection.Incidents
	for rec, err := range r.Read(ctx, seq, seq, ledger.Filter{}) {
		if err != nil {
			return fail(err)
		}
		if !rec.Event.OfGroup() {
			return nil, nil
		}
		of = OfGroup(rec.Event.Cluster, rec.Event.Group)
		if st, x, err = s.startOf(ctx, r, &rec, of); err != nil {
			return fail(err)
		}
		seq += uint64(rec.Event.Parts - rec.Event.Part)
	}
	var found []projection.Incident
	for rec, err := range s.records(ctx, r, st.Seq(), last, of, true) {
		if err != nil {
			return fail(err)
		}
		st.Skip(rec.Seq - 1)
		changes, err := st.Apply(rec)
		if err != nil {
			return fail(err)
		}
		if whole, ok := st.Folded(); ok {
			x.Apply(st, whole, changes)
		}
		if rec.Seq == seq {
			found = x.Find(seq)
		}
		if rec.Seq >= seq && (len(found) == 0 || followed(&found[0], rec.Event.Time)) {
			break // what comes now adds nothing
		}
	}
	if len(found) > 0 {
		found = x.Find(seq)
	}
	return found, nil
}

// followed reports whether what is known of an incident does not change any more after t.
func followed(in *projection.Incident, t ledger.Time) bool {
	age, ok := t.Sub(in.Time)
	return ok && age > projection.IncidentFollowed
}
