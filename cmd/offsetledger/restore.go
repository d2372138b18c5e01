package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/cmd/internal/config"
	"github.com/offsetledger/offsetledger/cmd/internal/table"
	"github.com/offsetledger/offsetledger/replay"
)

const restoreHelp = `Put back what a group had committed: plan first, look at it, then apply it. A plan changes
nothing in Kafka and is stored in the ledger under a short id.

  offsetledger restore plan --incident i184231
  offsetledger restore plan billing --to 2026-11-30T02:46:00Z
  offsetledger restore apply p7f3a1 --reason "the deploy of 02:46" -B broker:9092
  offsetledger restore undo r91c2d0 --reason "wrong group" -B broker:9092`

func (a *app) restoreCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "restore",
		Short: "Put back what a group had committed: plan, then apply",
		Long:  restoreHelp,
		Args:  noArgs,
		RunE:  groupOnly,
	}
	cmd.AddCommand(a.restorePlanCommand(), a.restoreApplyCommand(), a.restoreUndoCommand(), a.restoreApproveCommand(),
		a.restoreWatchCommand(), a.restoreListCommand(), a.restoreShowCommand())
	return cmd
}

func (a *app) restorePlanCommand() *cobra.Command {
	p := &planFlags{}
	cmd := &cobra.Command{
		Use:   "plan (--incident ID | GROUP --to POINT)",
		Short: "What putting back would do to every partition; nothing is changed",
		Long: `Work out what putting back would do to every partition, and store that as a plan. Nothing is
changed in Kafka.

With --incident only the partitions that it moved are touched, and only in the direction that
repairs: what has passed its target since is left alone. With --to everything that the groups
had at that point is put back; if that would move some partitions forward and others back,
--direction or --topics has to say what is meant.

What Kafka says now is asked with -B, else by the daemon, else the plan is made of what the
ledger knows, and says so. The program ends with 4 if some of the plan can never be done; a
group that is active only blocks it.`,
		Example: `  offsetledger restore plan --incident i184231
  offsetledger restore plan billing --to 2026-11-30T02:46:00Z
  offsetledger restore plan billing --to seq:184230 --topics orders:0,1 -o json
  offsetledger restore plan --group billing --to -10m --direction forward -B broker:9092`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.restorePlan(cmd, p, args) },
	}
	f := cmd.Flags()
	f.StringVar(&p.req.Incident, "incident", "", "put back what this incident moved, as in i184231")
	f.StringVar(&p.to, "to", "", "the point of the history to go back to, with full date and zone; seq:N, before:N, checkpoint:NAME, -10m")
	f.BoolVar(&p.req.DeleteAbsent, "delete-absent", false, "delete offsets that did not exist at the point")
	f.BoolVar(&p.req.AnyCluster, "any-cluster", false, "also if the brokers are another Kafka cluster than the one that was recorded")
	a.addPlanFlags(cmd, p)
	return cmd
}

func (a *app) restorePlan(cmd *cobra.Command, p *planFlags, args []string) error {
	r, err := a.request(p, replay.CommandRestore, args)
	if err != nil {
		return err
	}
	switch {
	case r.Incident != "" && (r.To != "" || len(r.Groups) > 0):
		return usagef("--incident says which group and where to: give it alone, or a group and --to")
	case r.Incident != "" && r.Direction != "":
		return usagef("--incident is repaired in the one direction that repairs it: leave --direction out")
	case r.Incident == "" && len(r.Groups) == 0:
		return usagef("say what to put back: --incident i412, or a group and --to a point of its history")
	case r.Incident == "" && r.To == "":
		return usagef("say where to: --to 2026-11-30T02:46:00Z, --to seq:411 or --to -10m")
	}
	return a.makePlan(cmd, p, r)
}

// makePlan asks for a plan and prints it.
func (a *app) makePlan(cmd *cobra.Command, p *planFlags, r api.PlanRequest) error {
	src, err := a.open(cmd.Context())
	if err != nil {
		return err
	}
	defer src.close() //nolint:errcheck // what was stored is acknowledged
	inquire := func() (replay.Inquiry, error) { return src.PlanInquiry(cmd.Context(), r) }
	if r.Facts, err = a.kafkaFacts(cmd.Context(), p.kafka, inquire); err != nil {
		return err
	}
	plan, err := src.Plan(cmd.Context(), r)
	if err != nil {
		return err
	}
	return a.showPlan(cmd.Context(), src, plan, p.kafka)
}

// showPlan prints a plan, and fails with what makes it impossible.
func (a *app) showPlan(ctx context.Context, src *source, plan *replay.Plan, k config.Flags) error {
	if err := a.offerPlan(ctx, src, plan, k); err != nil {
		return err
	}
	if !plan.Impossible() {
		return nil
	}
	t := plan.Sums()
	why := append([]string{}, plan.Refused...)
	for i := range plan.Groups {
		for _, text := range plan.Groups[i].Refused {
			why = append(why, "group "+api.Shown(plan.Groups[i].Group)+": "+text)
		}
	}
	if t.Refused > 0 {
		why = append(why, count(t.Refused, "partition")+" refused")
	}
	return &exitError{exitRefused, fmt.Errorf("plan %s cannot be carried out: %w", plan.ID, errors.New(strings.Join(why, "; ")))}
}

// showStored writes a plan as it was made, and to people what was done with it since, or can be.
func (a *app) showStored(ctx context.Context, src *source, id string) error {
	plan, err := src.ShowPlan(ctx, api.Query{Cluster: a.cluster, ID: id})
	if err != nil || !a.text() {
		if err == nil {
			err = a.printPlan(plan)
		}
		return err
	}
	done, err := src.Restores(ctx, api.Query{Cluster: plan.Cluster})
	if err != nil {
		return err
	}
	i := slices.IndexFunc(done.Rows, func(r api.RestoreRow) bool { return r.Plan == id }) // the newest comes first
	if i < 0 {
		return a.offerPlan(ctx, src, plan, config.Flags{})
	}
	if err := a.printPlan(plan); err != nil {
		return err
	}
	r := &done.Rows[i]
	fmt.Fprintf(a.stdout, "carried out %s as %s, by %s: %s\n", r.Time, r.ID, cellOf(r.Actor), stateWords(r))
	fmt.Fprintf(a.stdout, "more  %s\n", a.typed("restore", "show", r.ID))
	return nil
}

func (a *app) restoreListCommand() *cobra.Command {
	var applied bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "The plans that are stored, newest first, or those that were carried out",
		Example: `  offsetledger restore list
  offsetledger restore list --applied`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			src, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			defer src.close() //nolint:errcheck // nothing was written
			if applied {
				return a.listRestores(cmd.Context(), src)
			}
			answer, err := src.Plans(cmd.Context(), api.Query{Cluster: a.cluster})
			if err != nil {
				return err
			}
			if a.output == outJSON {
				return a.printJSON(answer)
			}
			if a.text() && len(answer.Rows) == 0 {
				a.note("no plan was made in %s", clusterName(answer.Cluster))
				return nil
			}
			if err := printRows(a, answer.Rows, a.plansTable(answer.Rows)); err != nil || !a.text() {
				return err
			}
			a.note("%s  %s", clusterName(answer.Cluster), count(len(answer.Rows), "plan"))
			return nil
		},
	}
	cmd.Flags().BoolVar(&applied, "applied", false, "what was carried out, by the ids that undo and watch take")
	a.sourceFlags(cmd)
	a.outputFlag(cmd)
	return cmd
}

func (a *app) plansTable(rows []api.PlanRow) *table.Table {
	t := &table.Table{Columns: []table.Column{
		{Name: "ID"}, {Name: "TIME"}, {Name: "COMMAND"}, {Name: "GROUP"}, {Name: "TO"}, {Name: "SET", Right: true}, {Name: "KEPT", Right: true},
		{Name: "REFUSED", Right: true}, {Name: "SKIPS", Right: true}, {Name: "REPLAYS", Right: true}, {Name: "STATE"}, {Name: "BY"}, {Name: "WHY"},
	}}
	for i := range rows {
		r := &rows[i]
		note := cellOf(r.Reason)
		if r.Problem != nil {
			note = *r.Problem
		}
		t.Row(r.ID, a.clock(r.Time, seconds), r.Command, groupsWords(r.Groups), pointWords(r.Point, r.Incident), strconv.Itoa(r.Set+r.Deleted), strconv.Itoa(r.Kept),
			strconv.Itoa(r.Refused), strconv.FormatInt(r.Skips, 10), strconv.FormatInt(r.Replays, 10), planState(r), cellOf(r.Actor), note)
	}
	return t
}

// planState is what has become of a plan.
func planState(r *api.PlanRow) string {
	switch {
	case r.Restore != nil:
		return "applied " + *r.Restore
	case r.Problem != nil, r.Refused > 0:
		return "refused"
	case r.Set+r.Deleted == 0:
		return "nothing to do"
	case r.ApprovedBy != nil:
		return "approved by " + cellOf(r.ApprovedBy)
	}
	return "open"
}

func (a *app) restoreShowCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show PLAN|RESTORE",
		Short: "One plan, as it was made, or a restore: what became of one",
		Example: `  offsetledger restore show p7f3a1
  offsetledger restore show r91c2d0`,
		Args: oneArg("the id of a plan or of a restore", "p7f3a1"),
		RunE: func(cmd *cobra.Command, args []string) error {
			src, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			defer src.close() //nolint:errcheck // nothing was written
			if strings.HasPrefix(args[0], "r") {
				return a.showRestore(cmd.Context(), src, args[0])
			}
			if err := a.otherKind(args[0], planWord); err != nil {
				return err
			}
			return a.showStored(cmd.Context(), src, args[0])
		},
	}
	a.sourceFlags(cmd)
	a.outputFlag(cmd, outKafkaCSV)
	return cmd
}
