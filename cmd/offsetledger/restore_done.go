package main

import (
	"context"
	"fmt"
	"slices"
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
		{Name: "ID"}, {Name: "TIME"}, {Name: "PLAN"}, {Name: "STATE"}, {Name: "WRITTEN", Right: true}, {Name: "DELETED", Right: true},
		{Name: "REFUSED", Right: true}, {Name: "BY"}, {Name: "WHY"},
	}}
	for i := range answer.Rows {
		r := &answer.Rows[i]
		t.Row(r.ID, a.clock(r.Time, seconds), r.Plan, r.State, strconv.Itoa(r.Written), strconv.Itoa(r.Deleted), strconv.Itoa(r.Refused),
			cellOf(r.Actor), cellOf(r.Reason))
	}
	if err := printRows(a, answer.Rows, t); err != nil || !a.text() {
		return err
	}
	a.note("%s  %s", clusterName(answer.Cluster), count(len(answer.Rows), "restore"))
	return nil
}

// findRestore finds a restore by its id, and the plan that it carried out.
func (a *app) findRestore(ctx context.Context, src *source, id string) (api.Envelope, *api.RestoreRow, *replay.Plan, error) {
	all, err := src.Restores(ctx, api.Query{Cluster: a.cluster})
	if err != nil {
		return api.Envelope{}, nil, nil, err
	}
	i := slices.IndexFunc(all.Rows, func(r api.RestoreRow) bool { return r.ID == id })
	if i < 0 {
		return api.Envelope{}, nil, nil, fmt.Errorf("cluster %s has no restore %s: %s", clusterName(all.Cluster), id, a.typed("restore", "list", "--applied"))
	}
	plan, err := src.ShowPlan(ctx, api.Query{Cluster: all.Cluster, ID: all.Rows[i].Plan})
	return all.Envelope, &all.Rows[i], plan, err
}

// showRestore writes what became of a plan, and the plan.
func (a *app) showRestore(ctx context.Context, src *source, id string) error {
	answer, r, plan, err := a.findRestore(ctx, src, id)
	if err != nil {
		return err
	}
	switch {
	case a.output == outJSON:
		return a.printJSON(api.Restores{Envelope: answer, Rows: []api.RestoreRow{*r}})
	case !a.text():
		return a.printPlan(plan)
	}
	by := "by " + cellOf(r.Actor)
	if !r.ActorVerified {
		by += " (unverified)"
	}
	what := "plan " + r.Plan
	if r.Undoes != nil {
		what += ", which undoes " + *r.Undoes
	}
	fmt.Fprintf(a.stdout, "%s  %s  %s  %s: %s\n", r.ID, r.State, r.Time, by, cellOf(r.Reason))
	fmt.Fprintf(a.stdout, "%s  written %d  deleted %d  refused %d\n", what, r.Written, r.Deleted, r.Refused)
	if err := a.printPlan(plan); err != nil {
		return err
	}
	if r.State == "interrupted" {
		fmt.Fprintf(a.stdout, "next: %s finishes it\n", a.typed("restore", "apply", r.Plan))
		return nil
	}
	fmt.Fprintf(a.stdout, "next: %s\n", a.typed("restore", "undo", r.ID))
	return nil
}
