package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/cmd/internal/table"
	"github.com/offsetledger/offsetledger/replay"
)

// listRestores lists the plans that were carried out.
func (a *app) listRestores(ctx context.Context, src *source) error {
	answer, err := src.Restores(ctx, api.Query{Cluster: a.cluster})
	if err != nil {
		return err
	}
	if a.output == outJSON {
		return a.printJSON(answer)
	}
	if a.text() && len(answer.Rows) == 0 {
		a.note("nothing was restored in %s", clusterName(answer.Cluster))
		return nil
	}
	t := &table.Table{Columns: []table.Column{
		{Name: "ID"}, {Name: "TIME"}, {Name: "PLAN"}, {Name: "GROUP"}, {Name: "TO"}, {Name: "STATE"}, {Name: "WRITTEN", Right: true}, {Name: "DELETED", Right: true},
		{Name: "REFUSED", Right: true}, {Name: "BY"}, {Name: "WHY"},
	}}
	for i := range answer.Rows {
		r := &answer.Rows[i]
		t.Row(r.ID, a.clock(r.Time, seconds), r.Plan, groupsWords(r.Groups), pointWords(r.Point, r.Incident), stateWords(r), strconv.Itoa(r.Written), strconv.Itoa(r.Deleted), strconv.Itoa(r.Refused),
			cellOf(r.Actor), cellOf(r.Reason))
	}
	if err := printRows(a, answer.Rows, t); err != nil || !a.text() {
		return err
	}
	a.note("%s  %s", clusterName(answer.Cluster), count(len(answer.Rows), "restore"))
	return nil
}

// findRestore finds a restore by its id, and the plan that it carried out.
func (a *app) findRestore(ctx context.Context, src *source, id string) (*api.RestoreShown, *replay.Plan, error) {
	shown, err := src.ShowRestore(ctx, api.Query{Cluster: a.cluster, ID: id})
	if err != nil {
		return nil, nil, err
	}
	plan, err := src.ShowPlan(ctx, api.Query{Cluster: shown.Cluster, ID: shown.Restore.Plan})
	return &shown, plan, err
}

// showRestore writes what became of a plan, partition by partition.
func (a *app) showRestore(ctx context.Context, src *source, id string) error {
	shown, plan, err := a.findRestore(ctx, src, id)
	switch {
	case err != nil:
		return err
	case a.output == outJSON:
		return a.printJSON(shown)
	case a.output == outKafkaCSV:
		return a.printPlan(plan)
	case a.text():
		a.restoreHeader(shown)
	}
	if err := printRows(a, shown.Rows, a.restoredTable(shown)); err != nil || !a.text() {
		return err
	}
	next := a.typed("restore", "undo", id)
	switch r := &shown.Restore; {
	case r.State == "interrupted":
		next = a.typed("restore", "apply", r.Plan) + " finishes it"
	case r.UndoneBy != nil:
		return nil
	}
	fmt.Fprintf(a.stdout, "next: %s\n", next)
	return nil
}

// restoreHeader says who restored what, why, and what became of it.
func (a *app) restoreHeader(shown *api.RestoreShown) {
	r := &shown.Restore
	by := "by " + cellOf(r.Actor)
	if !r.ActorVerified {
		by += " (unverified)"
	}
	what := "plan " + r.Plan + ": to " + cell(r.Point)
	switch {
	case r.Undoes != nil:
		what = "plan " + r.Plan + ", which undoes " + *r.Undoes
	case r.Incident != nil:
		what = "plan " + r.Plan + ": to before " + *r.Incident
	}
	fmt.Fprintf(a.stdout, "%s  %s  %s  %s: %s\n", r.ID, stateWords(r), r.Time, by, cellOf(r.Reason))
	fmt.Fprintf(a.stdout, "%s  written %d  deleted %d  refused %d\n", what, r.Written, r.Deleted, r.Refused)
}

// stateWords is what has become of a restore, and whether it was taken back.
func stateWords(r *api.RestoreRow) string {
	if r.UndoneBy != nil {
		return r.State + ", undone by " + *r.UndoneBy
	}
	return r.State
}

func (a *app) restoredTable(shown *api.RestoreShown) *table.Table {
	t := &table.Table{Columns: []table.Column{{Name: "TOPIC"}, {Name: "PARTITION"}, {Name: "BEFORE", Right: true}, {Name: "TARGET", Right: true}, {Name: "RESULT"}}}
	several := len(shown.Restore.Groups) > 1 || !a.text()
	if several {
		t.Columns = append([]table.Column{{Name: "GROUP"}}, t.Columns...)
	}
	for i := range shown.Rows {
		r := &shown.Rows[i]
		result := r.Result
		if r.Code != 0 {
			result += fmt.Sprintf(" (Kafka's error %d)", r.Code)
		}
		cells := []string{cell(r.Topic), strconv.Itoa(int(r.Partition)), orNone(r.Before), orNone(r.Target), result}
		if several {
			cells = append([]string{cell(r.Group)}, cells...)
		}
		t.Row(cells...)
	}
	return t
}

// orNone is an offset, empty where there is none.
func orNone(at *int64) string {
	if at == nil {
		return ""
	}
	return strconv.FormatInt(*at, 10)
}

// groupsWords names the first of some groups.
func groupsWords(names []api.Text) string {
	switch len(names) {
	case 0:
		return ""
	case 1:
		return cell(names[0])
	}
	return fmt.Sprintf("%s and %d more", cell(names[0]), len(names)-1)
}

// pointWords says where groups are put to.
func pointWords(point api.Text, incident *string) string {
	if incident != nil {
		return "before " + *incident
	}
	return cell(point)
}
