package main

import (
	"context"
	"strconv"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/cmd/internal/table"
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
	return printRows(a, answer.Rows, t)
}
