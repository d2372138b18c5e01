package api

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/replay"
)

// AnnotateRequest is the body of POST /api/v1/incidents/annotate: why an incident was.
type AnnotateRequest struct {
	Cluster Text   `json:"cluster"`
	ID      string `json:"id"`    // of the incident
	Actor   Text   `json:"actor"` // who says so, as it is claimed
	Reason  Text   `json:"reason"`
}

// AnnotationRow is a reason that somebody gave for an incident afterwards.
type AnnotationRow struct {
	Seq           uint64 `json:"seq"`
	Time          Time   `json:"time"`
	Actor         Text   `json:"actor"`
	ActorVerified bool   `json:"actor_verified"`
	Reason        Text   `json:"reason"`
}

// Annotate records why an incident was, and answers with it as [Client.Incident] does.
func (c *Client) Annotate(ctx context.Context, req AnnotateRequest) (Incidents, error) {
	return post[Incidents](ctx, c, routeAnnotate, req)
}

// mostReason is how many bytes a reason can have that is given afterwards: each list of incidents
// shows it.
const mostReason = 16 << 10

// annotate records why an incident was. What was recorded of the incident itself stays as it is.
func (s *server) annotate(w http.ResponseWriter, r *http.Request, body []byte) error {
	if s.Append == nil {
		return problem(CodeNotFound, "this handler has nowhere to store a reason")
	}
	var req AnnotateRequest
	if err := decodeStrictly(body, &req); err != nil {
		return err
	}
	switch blank := func(t Text) bool { return strings.TrimSpace(string(t)) == "" }; {
	case blank(req.Reason):
		return problem(CodeBadParameter, "reason: it is not said why")
	case blank(req.Actor):
		return problem(CodeBadParameter, "actor: it is not said who says so")
	case len(req.Reason) > mostReason:
		return problem(CodeTooLarge, "reason: it has %d bytes, and %d are the most: name a place where all of it stands", len(req.Reason), mostReason)
	}
	found, err := s.findIncident(r.Context(), req.ID)
	if err != nil {
		return err
	}
	if c := found[0].Cluster; req.Cluster != "" && string(req.Cluster) != c {
		return problem(CodeUnknownIncident, "%s is an incident of cluster %s, not of %s", found[0].ID(), Spell(c), Spell(string(req.Cluster)))
	}
	events, err := annotations(found, replay.By{Actor: string(req.Actor), Reason: string(req.Reason)}, ledger.AtTime(s.Now()))
	if err != nil {
		return err
	}
	switch err := s.Append(r.Context(), events); {
	case errors.Is(err, ledger.ErrInvalid):
		return problem(CodeBadParameter, "%v", err)
	case err != nil:
		return err
	}
	return s.incident(w, r, Query{ID: req.ID})
}

// annotations are the events that say why incidents were; those of one event can have one id.
func annotations(found []projection.Incident, by replay.By, at ledger.Time) (events []ledger.Event, _ error) {
	done := map[string]bool{}
	for i := range found {
		if done[found[i].ID()] {
			continue
		}
		done[found[i].ID()] = true
		ev, err := replay.AnnotationEvent(&found[i], by, at)
		if errors.Is(err, replay.ErrHasReason) {
			return nil, problem(CodeRefused, "%v", err)
		}
		if err != nil {
			return nil, err
		}
		events = append(events, ev)
	}
	return events, nil
}

// afterwards is what came after the incidents of a cluster.
type afterwards struct {
	said    *replay.Annotations
	putBack *replay.PutBacks
}

// annotated holds that of every cluster that was asked about.
type annotated struct {
	mu sync.Mutex
	of map[string]afterwards
}

// learnReasons has a frame know why incidents of its cluster were, as was said afterwards, and by
// which restores they were put back.
func (s *server) learnReasons(ctx context.Context, f *frame) (err error) {
	if f.seq == 0 {
		return nil
	}
	s.annotated.mu.Lock()
	a, ok := s.annotated.of[f.cluster]
	if !ok {
		a = afterwards{replay.NewAnnotations(s.Log, f.cluster), replay.NewPutBacks(s.Log, f.cluster)}
		s.annotated.of[f.cluster] = a
	}
	s.annotated.mu.Unlock()
	through := func(seq uint64) (err error) {
		if f.reasons, err = a.said.Through(ctx, seq); err == nil {
			f.putBacks, err = a.putBack.Through(ctx, seq)
		}
		return err
	}
	if err = through(f.seq); errors.Is(err, ErrAway) {
		err = through(0) // what was read before is all that can be said
	}
	return err
}

// setRestores says which restore an incident came of, and which put it back.
func (r *IncidentRow) setRestores(x *replay.PutBack, in *projection.Incident) {
	if x == nil {
		return
	}
	made, by := x.Of(in)
	if made != nil {
		r.Restore = &made.Restore
	}
	if by != nil {
		r.PutBack = &PutBackRow{
			Restore: by.Restore, Plan: by.Plan, Time: Time{by.Time}, Whole: by.Whole, Actor: said(by.By.Actor), Reason: said(by.By.Reason),
		}
	}
}

// reasonOf is why an incident was: as was recorded with it, else as was said last; empty if
// nobody did.
func (f *frame) reasonOf(in *projection.Incident) string {
	if n := len(f.reasons[in.ID()]); in.Reason == "" && n > 0 {
		return f.reasons[in.ID()][n-1].By.Reason
	}
	return in.Reason
}

func annotationRows(all []replay.Annotation) (rows []AnnotationRow) {
	for _, a := range all {
		rows = append(rows, AnnotationRow{a.Seq, Time{a.Time}, Text(a.By.Actor), a.By.Verified, Text(a.By.Reason)})
	}
	return rows
}
