package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/offsetledger/offsetledger/replay"
)

// PlanRow is a stored plan in a list.
type PlanRow struct {
	ID            string  `json:"id"`
	Seq           uint64  `json:"seq"`
	Time          Time    `json:"time"`
	Command       string  `json:"command"`
	Groups        []Text  `json:"groups"`
	Point         Text    `json:"point"`
	Incident      *string `json:"incident"` // that it puts back; null if it is of none
	Set           int     `json:"set"`
	Kept          int     `json:"kept"`
	Deleted       int     `json:"deleted"`
	Refused       int     `json:"refused"`
	Skips         int64   `json:"skips"`
	Replays       int64   `json:"replays"`
	Executable    bool    `json:"executable"`
	Actor         *Text   `json:"actor"`
	ActorVerified bool    `json:"actor_verified"`
	Reason        *Text   `json:"reason"`
	Restore       *string `json:"restore"`     // that carried it out last; null: none did
	ApprovedBy    *Text   `json:"approved_by"` // who agreed to it last, other than who made it, and still does
	Problem       *string `json:"problem"`     // why the plan cannot be trusted; null if it can
}

// Plans answers GET /api/v1/plans: the plans that are stored, newest first.
type Plans struct {
	Envelope
	Rows []PlanRow `json:"rows"`
}

// Plans asks for the plans that are stored.
func (c *Client) Plans(ctx context.Context, q Query) (Plans, error) {
	return get[Plans](ctx, c, routePlans, q)
}

// ShowPlan asks for a stored plan.
func (c *Client) ShowPlan(ctx context.Context, q Query) (*replay.Plan, error) {
	return get[*replay.Plan](ctx, c, routePlan, q)
}

func planRow(sp *replay.StoredPlan) PlanRow {
	p := sp.Plan
	t := p.Sums()
	row := PlanRow{
		ID: p.ID, Seq: sp.Seq, Time: Time{p.Made}, Command: p.Command, Point: Text(p.Point),
		Set: t.Set, Kept: t.Kept, Deleted: t.Deleted, Refused: t.Refused, Skips: t.Skips, Replays: t.Replays,
		Executable: p.Executable(), Actor: said(sp.By.Actor), ActorVerified: sp.By.Verified, Reason: said(sp.By.Reason),
	}
	row.Groups, row.Incident = groupsOf(p), word(p.Incident)
	return row
}

// groupsOf are the groups that a plan is about.
func groupsOf(p *replay.Plan) []Text {
	names := []Text{}
	for i := range p.Groups {
		names = append(names, Text(p.Groups[i].Group))
	}
	return names
}

// planID checks the spelling of an id.
func planID(id string) *Problem {
	digits, ok := strings.CutPrefix(id, "p")
	if !ok || len(digits) < 5 || strings.Trim(digits, "0123456789abcdef") != "" {
		return problem(CodeBadParameter, "id: %q is no plan; write p and its digits, as in p7f3a1", id)
	}
	return nil
}

func (s *server) plans(w http.ResponseWriter, r *http.Request, q Query) error {
	f, err := s.frame(r.Context(), q)
	if err != nil {
		return err
	}
	answer := Plans{Rows: []PlanRow{}}
	records, err := replay.Restores(r.Context(), s.Log, f.cluster)
	if err != nil {
		return err
	}
	carriedOut := lastRestores(records)
	approvals := replay.NewApprovals(s.Log, f.cluster)
	for sp, err := range replay.Plans(r.Context(), s.Log, f.cluster) {
		if errors.Is(err, replay.ErrPlanFile) {
			why := err.Error()
			answer.Rows = append(answer.Rows, PlanRow{ID: "?", Seq: sp.Seq, Groups: []Text{}, Problem: &why})
			continue
		}
		if err != nil {
			return err
		}
		row := planRow(&sp)
		row.Restore = word(carriedOut[row.ID])
		by, agreed, err := approvals.Through(r.Context(), row.ID, sp.By.Actor, f.seq, f.now)
		if err != nil {
			return err
		}
		if agreed {
			row.ApprovedBy = said(by)
		}
		answer.Rows = append(answer.Rows, row)
	}
	slices.Reverse(answer.Rows)
	answer.Envelope = f.envelope("plans", f.asOf, f.asOf)
	return s.writeJSON(w, r, answer)
}

// plan answers with a stored plan, as it was made.
func (s *server) plan(w http.ResponseWriter, r *http.Request, q Query) error {
	if fault := planID(q.ID); fault != nil {
		return fault
	}
	f, err := s.frame(r.Context(), q)
	if err != nil {
		return err
	}
	sp, err := s.findPlan(r.Context(), f, q.ID)
	if err != nil {
		return err
	}
	return s.writeJSON(w, r, sp.Plan)
}
