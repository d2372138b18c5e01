package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/replay"
)

// Writes are what a handler needs to carry plans out.
type Writes struct {
	// Log is the ledger that restores are recorded in.
	Log replay.Log
	// Broker finds the Kafka of a cluster; an error says why there is none to be written to.
	Broker func(cluster string) (replay.Broker, error)
	// NeedsApproval reports whether somebody else has to agree to a plan about a group.
	NeedsApproval func(cluster, group string) bool
}

// Apply has a stored plan carried out.
func (c *Client) Apply(ctx context.Context, req ApplyRequest) (Restored, error) {
	return post[Restored](ctx, c, routeApply, req)
}

// Approve agrees to a stored plan.
func (c *Client) Approve(ctx context.Context, req ApproveRequest) (Approval, error) {
	return post[Approval](ctx, c, routeApprove, req)
}

// Undo asks for the plan that takes a restore back, which is stored.
func (c *Client) Undo(ctx context.Context, req UndoRequest) (*replay.Plan, error) {
	return post[*replay.Plan](ctx, c, routeUndo, req)
}

// UndoInquiry asks what the plan of an undo has to know of Kafka.
func (c *Client) UndoInquiry(ctx context.Context, req UndoRequest) (replay.Inquiry, error) {
	return post[replay.Inquiry](ctx, c, routeUndoInquiry, req)
}

// apply carries a stored plan out. What is refused is in the answer, partition by partition.
func (s *server) apply(w http.ResponseWriter, r *http.Request, body []byte) error {
	var req ApplyRequest
	f, sp, err := s.stored(r.Context(), body, &req, func() (Text, string) { return req.Cluster, req.ID })
	if err != nil {
		return err
	}
	switch {
	case strings.TrimSpace(string(req.Reason)) == "":
		return problem(CodeBadParameter, "reason: it is not said why")
	case strings.TrimSpace(string(req.Actor)) == "":
		return problem(CodeBadParameter, "actor: it is not said who carries it out")
	}
	broker, err := s.Writes.Broker(f.cluster)
	if err != nil {
		return problem(CodeReadOnly, "%v", err)
	}
	done, err := replay.Apply(r.Context(), s.Writes.Log, broker, replay.Order{
		Plan: sp.Plan, By: replay.By{Actor: string(req.Actor), Reason: string(req.Reason)}, Strict: req.Strict, Clock: s.Now,
		NeedsApproval: s.needsApproval(f.cluster, sp.Plan),
		Learn:         func(_ context.Context, facts *replay.Facts) error { s.learn(f.cluster)(facts); return nil },
	})
	if err != nil && !errors.Is(err, replay.ErrPartly) {
		return applyFault(err)
	}
	return s.writeJSON(w, r, RestoredOf(done))
}

// stored reads a request about a stored plan, and finds the plan.
func (s *server) stored(ctx context.Context, body []byte, req any, of func() (cluster Text, id string)) (*frame, replay.StoredPlan, error) {
	if s.Writes == nil {
		return nil, replay.StoredPlan{}, problem(CodeReadOnly, "nothing can be written through this ledger")
	}
	if err := decodeStrictly(body, req); err != nil {
		return nil, replay.StoredPlan{}, err
	}
	cluster, id := of()
	if fault := planID(id); fault != nil {
		return nil, replay.StoredPlan{}, fault
	}
	f, err := s.frame(ctx, Query{Cluster: string(cluster)})
	if err != nil {
		return nil, replay.StoredPlan{}, err
	}
	sp, err := s.findPlan(ctx, f, id)
	return f, sp, err
}

// needsApproval reports whether one of the groups of a plan needs somebody else's consent.
func (s *server) needsApproval(cluster string, p *replay.Plan) bool {
	return s.Writes.NeedsApproval != nil && slices.ContainsFunc(p.Groups, func(g replay.PlanGroup) bool { return s.Writes.NeedsApproval(cluster, g.Group) })
}

// learn adds to facts what only the ledger knows.
func (s *server) learn(cluster string) func(*replay.Facts) {
	return func(f *replay.Facts) { s.View.Read(func(st *projection.State) { f.Learn(st, cluster) }) }
}

// approve records that somebody agrees to a plan.
func (s *server) approve(w http.ResponseWriter, r *http.Request, body []byte) error {
	var req ApproveRequest
	_, sp, err := s.stored(r.Context(), body, &req, func() (Text, string) { return req.Cluster, req.ID })
	switch {
	case err != nil:
		return err
	case req.Digest != sp.Plan.Digest:
		return problem(CodeStale, "plan %s has the digest %s, and %q was looked at", sp.Plan.ID, sp.Plan.Digest, req.Digest)
	case strings.TrimSpace(string(req.Actor)) == "":
		return problem(CodeBadParameter, "actor: it is not said who agrees")
	}
	by := replay.By{Actor: string(req.Actor), Reason: string(req.Reason)}
	if err := replay.Approve(r.Context(), s.Writes.Log, sp.Plan, by, s.Now()); err != nil {
		return err
	}
	return s.writeJSON(w, r, Approval{Kind: "approval", Version: Version, Plan: sp.Plan.ID, Digest: sp.Plan.Digest, Actor: req.Actor})
}

// undo makes the plan that takes a restore back, stores it, and answers with it. Where somebody else
// has to agree, one that does the same and was agreed to is the answer.
func (s *server) undo(w http.ResponseWriter, r *http.Request, body []byte) error {
	ctx := r.Context()
	req, f, u, err := s.undone(ctx, body)
	if err != nil {
		return err
	}
	var facts replay.Facts
	switch {
	case req.Facts != nil:
		facts = *req.Facts
	case s.Facts == nil:
		return problem(CodeReadOnly, "this ledger reaches no Kafka, and an undo has to know what is committed now: name it with -B")
	default:
		if facts, err = s.Facts(ctx, f.cluster, u.Inquiry()); err != nil {
			return err
		}
	}
	facts.Sort()
	s.learn(f.cluster)(&facts)
	p, err := u.Plan(facts, replay.UndoRules{AfterProgress: req.AfterProgress, AcceptExpiry: req.AcceptExpiry})
	if err != nil {
		return applyFault(err)
	}
	by := replay.By{Actor: string(req.Actor), Reason: string(req.Reason)}
	if s.needsApproval(f.cluster, p) {
		agreed, err := replay.ApprovedLike(ctx, s.Writes.Log, p, by, s.Now())
		if err != nil {
			return err
		}
		if agreed != nil {
			return s.writeJSON(w, r, agreed)
		}
	}
	if err := s.storePlan(ctx, p, by); err != nil {
		return err
	}
	return s.writeJSON(w, r, p)
}

// undoInquiry answers with what the plan of an undo would have to know of Kafka.
func (s *server) undoInquiry(w http.ResponseWriter, r *http.Request, body []byte) error {
	_, _, u, err := s.undone(r.Context(), body)
	if err != nil {
		return err
	}
	return s.writeJSON(w, r, u.Inquiry())
}

func (s *server) undone(ctx context.Context, body []byte) (*UndoRequest, *frame, *replay.Undo, error) {
	req := &UndoRequest{}
	if s.Writes == nil || s.Append == nil {
		return nil, nil, nil, problem(CodeReadOnly, "nothing can be written through this ledger")
	}
	if err := decodeStrictly(body, req); err != nil {
		return nil, nil, nil, err
	}
	f, err := s.frame(ctx, Query{Cluster: string(req.Cluster)})
	if err != nil {
		return nil, nil, nil, err
	}
	u, err := replay.NewUndo(ctx, s.Writes.Log, f.cluster, req.ID)
	if err != nil {
		return nil, nil, nil, applyFault(err)
	}
	return req, f, u, nil
}
