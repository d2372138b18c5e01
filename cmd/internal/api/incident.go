package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/replay"
)

// incidents answers with what went wrong or was done on purpose, newest first.
func (s *server) incidents(w http.ResponseWriter, r *http.Request, q Query) error {
	f, err := s.frame(r.Context(), q)
	if err != nil {
		return err
	}
	if q.Group != nil {
		if _, err := s.present(f, *q.Group); err != nil {
			return err
		}
	}
	for _, kind := range q.Kinds {
		if !slices.Contains(IncidentKinds(), kind) {
			return problem(CodeBadParameter, "kind: %q is no kind of incident; they are %s", kind, strings.Join(IncidentKinds(), ", "))
		}
	}
	sel, err := s.selection(r.Context(), f, q)
	if err != nil {
		return err
	}
	if err := s.learnReasons(r.Context(), f); err != nil {
		return err
	}
	answer := Incidents{Rows: []IncidentRow{}}
	var since ledger.Time
	var fault *Problem
	s.View.ReadIncidents(func(_ *projection.State, x *projection.Incidents) {
		since, _ = x.Since()
		var found []*projection.Incident
		for in := range x.All(f.cluster) {
			if sel.wantsIncident(in) && (!q.Reasonless || f.reasonOf(in) == "") {
				found = append(found, in)
			}
		}
		var from, to int
		if from, to, answer.Next, fault = page(q, len(found)); fault != nil {
			return
		}
		answer.Total = len(found)
		for _, in := range found[from:to] {
			answer.Rows = append(answer.Rows, f.incidentRow(in))
		}
	})
	if fault != nil {
		return fault
	}
	answer.Envelope = f.envelope("incidents", sel.since.Time, sel.until.Time)
	answer.Coverage.reachesTo(since)
	return s.writeJSON(w, r, answer)
}

// reachesTo says that of what was before a moment something is missing here; none if that is
// not known.
func (c *Coverage) reachesTo(since ledger.Time) {
	if since.Known() && !c.From.After(since) {
		c.From, c.Complete = Time{since}, false
	}
}

func (sel *selection) wantsIncident(in *projection.Incident) bool {
	switch {
	case sel.q.Group != nil && in.Group != *sel.q.Group,
		len(sel.q.Kinds) > 0 && !slices.Contains(sel.q.Kinds, in.Kind.String()):
		return false
	}
	return sel.inTime(in.Seq, in.Time)
}

// incident answers with the incident that an event is part of, and its changes. They are two
// if the event moved one partition back and another far forward. The sequence of any event of
// an incident finds it.
func (s *server) incident(w http.ResponseWriter, r *http.Request, q Query) error {
	found, err := s.findIncident(r.Context(), q.ID)
	if err != nil {
		return err
	}
	first := found[0]
	f, err := s.frame(r.Context(), Query{Cluster: first.Cluster, Group: &first.Group})
	if err != nil {
		return err
	}
	if err := s.learnReasons(r.Context(), f); err != nil {
		return err
	}
	answer := Incidents{Total: len(found), Envelope: f.envelope("incident", first.Time, first.Until)}
	for i := range found {
		row := f.incidentRow(&found[i])
		if err := s.detail(r.Context(), f, &found[i], &row); err != nil {
			return err
		}
		answer.Rows = append(answer.Rows, row)
	}
	return s.writeJSON(w, r, answer)
}

// findIncident finds the incidents that an id names: at least one.
func (s *server) findIncident(ctx context.Context, id string) ([]projection.Incident, error) {
	seq, ok := projection.ParseIncidentID(id)
	if !ok {
		n, err := strconv.ParseUint(id, 10, 64)
		if err != nil || n == 0 {
			return nil, problem(CodeBadParameter, "id: %q is no incident; write i and the sequence of one of its events, as in i412", id)
		}
		seq = n
	}
	if err := s.catchUp(ctx); err != nil {
		return nil, err
	}
	var found []projection.Incident
	s.View.ReadIncidents(func(_ *projection.State, x *projection.Incidents) { found = x.Find(seq) })
	if len(found) == 0 {
		var err error
		if found, err = s.foundAgain(ctx, seq); err != nil {
			return nil, err
		}
	}
	if len(found) == 0 {
		return nil, problem(CodeUnknownIncident, "the event seq:%d is part of no incident", seq)
	}
	return found, nil
}

// foundAgain looks for incidents that the view does not hold, since they are very old.
func (s *server) foundAgain(ctx context.Context, seq uint64) ([]projection.Incident, error) {
	found, err := s.Snapshots.IncidentsAt(ctx, s.Log, seq)
	if errors.Is(err, replay.ErrAhead) {
		return nil, problem(CodeUnknownIncident, "id: the ledger does not reach seq:%d yet", seq)
	}
	return found, err
}

// detail adds what only the log tells: the changes, and where they were read.
func (s *server) detail(ctx context.Context, f *frame, in *projection.Incident, row *IncidentRow) error {
	sel := &selection{q: Query{Group: &in.Group, Movements: []projection.Movement{in.Kind}}, since: replay.Point{Seq: in.Seq}}
	n := s.narrator(sel, f.cluster)
	for e, err := range n.stored(ctx, in.LastSeq) {
		if err != nil {
			return err
		}
		if !in.Holds(e.seq) {
			continue
		}
		rows, err := n.rows(ctx, &e)
		if err != nil {
			return err
		}
		row.Changes = append(row.Changes, rows...)
	}
	rec, err := s.one(ctx, in.Seq)
	if err != nil {
		return err
	}
	if src := rec.Event.Source; src.Kind == ledger.SourceTail {
		row.Where = &Where{SourcePartition: src.Partition, SourceOffset: src.Offset, Time: Time{in.Time}}
		if epoch, ok := src.LeaderEpoch.Get(); ok {
			row.Where.LeaderEpoch = &epoch
		}
	}
	return nil
}

func (f *frame) incidentRow(in *projection.Incident) IncidentRow {
	row := IncidentRow{
		ID: in.ID(), Time: Time{in.Time}, Until: Time{in.Until}, Group: Text(in.Group), Kind: in.Kind.String(),
		Partitions: in.Partitions, Who: who(in.Who), Reason: said(f.reasonOf(in)), Actor: said(in.Actor), Story: f.storyOf(in),
		Annotations: annotationRows(f.reasons[in.ID()]),
	}
	if in.Evidence != "" {
		row.Who.Evidence = append(row.Who.Evidence, in.Evidence)
	}
	if in.Cause != ledger.CauseUnknown {
		cause := in.Cause.String()
		row.Cause, row.CauseInferred = &cause, in.CauseInferred
	}
	row.setRestores(f.putBacks, in)
	if b := row.PutBack; b != nil {
		row.Story += ", put back " + f.clock(b.Time.Time) + " by " + b.Restore
	}
	counted := in.Uncounted < in.Partitions
	if counted {
		row.Replayed = &in.Replayed
	}
	// A group that begins anew beyond what it had lost may have skipped some: nobody can tell.
	if counted || in.Kind != projection.MovementAfterLoss {
		row.Skipped = &in.Skipped
	}
	return row
}

// lastIncident is the newest incident of a group, nil if it never had one.
func (s *server) lastIncident(ctx context.Context, f *frame, group string) (*IncidentRow, error) {
	var last projection.Incident
	var ok bool
	s.View.ReadIncidents(func(_ *projection.State, x *projection.Incidents) { last, ok = x.Last(f.cluster, group) })
	if !ok {
		return nil, nil
	}
	if err := s.learnReasons(ctx, f); err != nil {
		return nil, err
	}
	row := f.incidentRow(&last)
	return &row, nil
}
