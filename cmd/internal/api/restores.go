package api

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/offsetledger/offsetledger/replay"
)

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

func (s *server) restores(w http.ResponseWriter, r *http.Request, q Query) error {
	f, done, err := s.restored(r.Context(), q)
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
	f, done, err := s.restored(r.Context(), q)
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
	records  []replay.RestoreRecord // oldest first
	plans    map[string]*replay.Plan
	undoneBy map[string]string
}

func (s *server) restored(ctx context.Context, q Query) (*frame, *restored, error) {
	f, err := s.frame(ctx, q)
	if err != nil {
		return nil, nil, err
	}
	records, err := replay.Restores(ctx, s.Log, f.cluster)
	if err != nil {
		return nil, nil, err
	}
	out := &restored{records: records, plans: map[string]*replay.Plan{}, undoneBy: replay.UndoneBy(records)}
	carriedOut := lastRestores(records)
	for sp, err := range replay.PlansOf(ctx, s.Log, f.cluster, func(id string) bool { return carriedOut[id] != "" }) {
		if errors.Is(err, replay.ErrPlanFile) {
			continue // its restore says less
		}
		if err != nil {
			return nil, nil, err
		}
		if out.plans[sp.Plan.ID] == nil {
			out.plans[sp.Plan.ID] = sp.Plan
		}
	}
	return f, out, nil
}

// lastRestores are the restores that plans were carried out as last, by the ids of the plans.
func lastRestores(records []replay.RestoreRecord) map[string]string {
	of := map[string]string{}
	for i := range records {
		of[records[i].Plan] = records[i].Restore
	}
	return of
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
	row.Undoes, row.UndoneBy = word(r.Undoes), word(d.undoneBy[r.Restore])
	return row
}

// word is a text that is null if it is empty.
func word(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
