package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/replay"
)

// The ids of what is made here, and the commands that take one.
var (
	planWord     = regexp.MustCompile(`^p[0-9a-f]{5,64}$`)
	restoreWord  = regexp.MustCompile(`^r[0-9a-f]{6}$`)
	incidentWord = regexp.MustCompile(`^i[0-9]+$`)
)

// planOf is the plan that a command line names: by its id, as a file, or the last one. A file that
// has the name of an id is named by its path, as ./p7f3a1.
func (a *app) planOf(ctx context.Context, src *source, args []string, fl *applyFlags) (*replay.Plan, error) {
	switch {
	case len(args) == 0:
		return a.lastPlan(ctx, src, fl)
	case planWord.MatchString(args[0]):
		return src.ShowPlan(ctx, api.Query{Cluster: a.cluster, ID: args[0]})
	}
	if err := a.otherKind(args[0], planWord); err != nil {
		return nil, err
	}
	b, err := readInput(args[0])
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, usagef("%q is neither the id of a plan, as p7f3a1, nor a file; %s shows the plans", args[0], a.typed("restore", "list"))
	case err != nil:
		return nil, usagef("read a plan: %w", err)
	}
	plan, err := replay.ParsePlan(b)
	if err != nil {
		return nil, &exitError{exitRefused, fmt.Errorf("%s: %w", args[0], err)}
	}
	return plan, nil
}

// otherKind says of an id that it is of another kind than the one that is wanted, and what it is for;
// nil if it is not.
func (a *app) otherKind(id string, wanted *regexp.Regexp) error {
	switch {
	case wanted.MatchString(id):
		return nil
	case planWord.MatchString(id):
		return usagef("%s is a plan; what plans were carried out as: %s", id, a.typed("restore", "list", "--applied"))
	case restoreWord.MatchString(id):
		return usagef("%s is a restore, which was carried out; to take it back: %s", id, a.typed("restore", "undo", id))
	case incidentWord.MatchString(id):
		return usagef("%s is an incident; a plan that puts it back: %s", id, a.typed("restore", "plan", "--incident", id))
	}
	return nil
}

// lastPlan is the last plan that can still be carried out: of whoever carries it out if there is
// one, else of anybody. Which it is will be shown, and somebody has to type what it is about.
func (a *app) lastPlan(ctx context.Context, src *source, fl *applyFlags) (*replay.Plan, error) {
	if fl.yes {
		return nil, usagef("with --yes nobody is asked: say which plan; %s shows them", a.typed("restore", "list"))
	}
	stored, err := src.Plans(ctx, api.Query{Cluster: a.cluster})
	if err != nil {
		return nil, err
	}
	done, err := src.Restores(ctx, api.Query{Cluster: a.cluster})
	if err != nil {
		return nil, err
	}
	open := slices.DeleteFunc(stored.Rows, func(p api.PlanRow) bool {
		carriedOut := func(r api.RestoreRow) bool { return r.Plan == p.ID && r.State == "done" }
		return p.Problem != nil || p.Refused > 0 || p.Set+p.Deleted == 0 || slices.ContainsFunc(done.Rows, carriedOut)
	})
	if len(open) == 0 {
		return nil, fmt.Errorf("no plan of %s is left to be carried out: %s", clusterName(stored.Cluster), a.typed("restore", "plan", "--help"))
	}
	actor := a.actorOf(fl.actor)
	i := max(slices.IndexFunc(open, func(p api.PlanRow) bool { return p.Actor != nil && string(*p.Actor) == actor }), 0)
	a.note("the last plan that can be carried out is %s, by %s", open[i].ID, cellOf(open[i].Actor))
	return src.ShowPlan(ctx, api.Query{Cluster: a.cluster, ID: open[i].ID})
}
