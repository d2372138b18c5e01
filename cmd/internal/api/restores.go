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

// Restores answers GET /api/v1/restores: the plans that were carried out, newest first.
type Restores struct {
	Envelope
	Rows []RestoreRow `json:"rows"`
}

// RestoreRow is a plan that was carried out.
type RestoreRow struct {
	ID            string  `json:"id"`
	Seq           uint64  `json:"seq"`
	Time          Time    `json:"time"`
	Plan          string  `json:"plan"`
	Groups        []Text  `json:"groups"`
	Point         Text    `json:"point"`     // where they were put to, as the plan has it
	Incident      *string `json:"incident"`  // that it put back; null if it is of none
	Undoes        *string `json:"undoes"`    // the restore that it took back
	UndoneBy      *string `json:"undone_by"` // the restore that took it back since
	State         string  `json:"state"`     // done, partly, or interrupted: the same plan applied again finishes it
	Written       int     `json:"written"`
	Deleted       int     `json:"deleted"`
	Refused       int     `json:"refused"`
	Actor         *Text   `json:"actor"`
	ActorVerified bool    `json:"actor_verified"`
	Reason        *Text   `json:"reason"`
}

// RestoreShown answers GET /api/v1/restores/show: what a restore has done to every partition.
type RestoreShown struct {
	Envelope
	Restore RestoreRow        `json:"restore"`
	Rows    []RestoredStepRow `json:"rows"`
}

// RestoredStepRow is what a restore has done to one partition, by what was recorded.
type RestoredStepRow struct {
	Group     Text   `json:"group"`
	Topic     Text   `json:"topic"`
	Partition int32  `json:"partition"`
	Before    *int64 `json:"before"` // committed when it was begun; null: nothing was
	Target    *int64 `json:"target"` // to be committed; null: nothing was to be
	Result    string `json:"result"` // written, deleted, refused, open, not begun, kept
	Code      int16  `json:"code"`   // of refused: Kafka's error code
}

// ShowRestore asks what a restore has done.
func (c *Client) ShowRestore(ctx context.Context, q Query) (RestoreShown, error) {
	return get[RestoreShown](ctx, c, routeRestore, q)
}

// Restores asks for the plans that were carried out.
func (c *Client) Restores(ctx context.Context, q Query) (Restores, error) {
	return get[Restores](ctx, c, routeRestores, q)
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

func (s *server) restores(w http.ResponseWriter, r *http.Request, q Query) error {
	f, err := s.frame(r.Context(), q)
	if err != nil {
		return err
	}
	done, err := s.restored(r.Context(), f)
	if err != nil {
		return err
	}
	answer := Restores{Rows: []RestoreRow{}}
	for i := range slices.Backward(done.records) {
		answer.Rows = append(answer.Rows, done.row(&done.records[i]))
	}
	answer.Envelope = f.envelope("restores", f.asOf, f.asOf)
	return s.writeJSON(w, r, answer)
}

// restore answers with what a restore has done to every partition.
func (s *server) restore(w http.ResponseWriter, r *http.Request, q Query) error {
	f, err := s.frame(r.Context(), q)
	if err != nil {
		return err
	}
	done, err := s.restored(r.Context(), f)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(done.records, func(rec replay.RestoreRecord) bool { return rec.Restore == q.ID })
	if i < 0 {
		return problem(CodeUnknownRestore, "cluster %s has no restore %s", Spell(f.cluster), Shown(q.ID))
	}
	rec := &done.records[i]
	answer := RestoreShown{Restore: done.row(rec), Rows: []RestoredStepRow{}}
	if p := done.plans[rec.Plan]; p != nil {
		steps, err := replay.RestoredSteps(r.Context(), s.Log, rec, p)
		if err != nil {
			return err
		}
		for i := range steps {
			answer.Rows = append(answer.Rows, restoredStepRow(&steps[i]))
		}
	}
	answer.Envelope = f.envelope("restore", f.asOf, f.asOf)
	return s.writeJSON(w, r, answer)
}

func restoredStepRow(s *replay.RestoredStep) RestoredStepRow {
	return RestoredStepRow{
		Group: Text(s.Group), Topic: Text(s.Topic), Partition: s.Partition, Before: offset(s.Before), Target: offset(s.Target),
		Result: string(s.Result), Code: s.Code,
	}
}

// restored is what was restored in a cluster, and by which plans.
type restored struct {
	records []replay.RestoreRecord // oldest first
	plans   map[string]*replay.Plan
}

func (s *server) restored(ctx context.Context, f *frame) (*restored, error) {
	out := &restored{plans: map[string]*replay.Plan{}}
	var err error
	if out.records, err = replay.Restores(ctx, s.Log, f.cluster); err != nil {
		return nil, err
	}
	for sp, err := range replay.Plans(ctx, s.Log, f.cluster) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err == nil && out.plans[sp.Plan.ID] == nil {
			out.plans[sp.Plan.ID] = sp.Plan
		}
	}
	return out, nil
}

// ofPlan is the restore that a plan was carried out as last; nil if it was not.
func (d *restored) ofPlan(id string) *replay.RestoreRecord {
	for i := range slices.Backward(d.records) {
		if d.records[i].Plan == id {
			return &d.records[i]
		}
	}
	return nil
}

func (d *restored) row(r *replay.RestoreRecord) RestoreRow {
	row := RestoreRow{
		ID: r.Restore, Seq: r.Seq, Time: Time{r.Time}, Plan: r.Plan, State: "interrupted", Written: r.Written, Deleted: r.Deleted,
		Refused: r.Refused, Actor: said(r.By.Actor), ActorVerified: r.By.Verified, Reason: said(r.By.Reason), Groups: []Text{},
	}
	switch {
	case r.Until != 0 && r.Whole:
		row.State = "done"
	case r.Until != 0:
		row.State = "partly"
	}
	if p := d.plans[r.Plan]; p != nil {
		row.Groups, row.Point = groupsOf(p), Text(p.Point)
		row.Incident = word(p.Incident)
	}
	row.Undoes = word(r.Undoes)
	for i := range d.records {
		if other := &d.records[i]; other.Undoes == r.Restore && other.Until != 0 {
			row.UndoneBy = &other.Restore
		}
	}
	return row
}

// word is a text that is null if it is empty.
func word(s string) *string {
	if s == "" {
		return nil
	}
	return &s
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
