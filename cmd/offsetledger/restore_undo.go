package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/replay"
)

func (a *app) restoreUndoCommand() *cobra.Command {
	fl := &applyFlags{}
	var req api.UndoRequest
	cmd := &cobra.Command{
		Use:   "undo ID",
		Short: "Take a restore back",
		Long: `Take a restore back: every offset that it wrote goes to what was committed before, with metadata
and leader epoch; what it made is deleted. That is a plan too: it is stored, shown, and carried
out as restore apply does.

Partitions that have been committed since are in the way, unless --after-progress says that they
are to be moved all the same.`,
		Example: `  offsetledger restore undo r91c2d0 --reason "wrong group" -B broker:9092`,
		Args:    oneArg("the id of a restore", "r91c2d0"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := fl.check(a); err != nil {
				return err
			}
			if err := a.otherKind(args[0], restoreWord); err != nil {
				return err
			}
			req.ID = args[0]
			return a.restoreUndo(cmd.Context(), req, fl)
		},
	}
	a.addApplyFlags(cmd, fl)
	cmd.Flags().BoolVar(&req.AfterProgress, "after-progress", false, "also partitions that have been committed since")
	cmd.Flags().BoolVar(&req.AcceptExpiry, "accept-expiry", false, "also if the broker can remove the offsets within 15 minutes")
	return cmd
}

func (a *app) restoreUndo(ctx context.Context, req api.UndoRequest, fl *applyFlags) error {
	src, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer src.close() //nolint:errcheck // what was stored is acknowledged
	req.Cluster, req.Actor, req.Reason = api.Text(a.cluster), api.Text(a.actorOf(fl.actor)), api.Text(fl.reason)
	inquire := func() (replay.Inquiry, error) { return src.UndoInquiry(ctx, req) }
	if req.Facts, err = a.kafkaFacts(ctx, fl.kafka, inquire); err != nil {
		return applyExit(err)
	}
	plan, err := src.Undo(ctx, req)
	if err != nil {
		return applyExit(err)
	}
	if plan.Impossible() {
		return a.showPlan(ctx, src, plan, fl.kafka)
	}
	return a.applyPlan(ctx, src, plan, fl)
}

func (a *app) restoreApproveCommand() *cobra.Command {
	var actor, reason string
	cmd := &cobra.Command{
		Use:   "approve PLAN",
		Short: "Agree to a plan that somebody else carries out",
		Long: `Agree to a plan that somebody else carries out. A daemon that was started with
--require-approval carries plans out only if somebody else than whoever applies them has agreed
to the same digest within 24 hours. Who acts is as claimed: nobody proves it.`,
		Example: `  offsetledger restore approve p7f3a1 --reason CHG-41`,
		Args:    oneArg("the id of a plan", "p7f3a1"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.otherKind(args[0], planWord); err != nil {
				return err
			}
			src, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			defer src.close() //nolint:errcheck // what was stored is acknowledged
			plan, err := src.ShowPlan(cmd.Context(), api.Query{Cluster: a.cluster, ID: args[0]})
			if err != nil {
				return err
			}
			done, err := src.Approve(cmd.Context(), api.ApproveRequest{
				Cluster: api.Text(plan.Cluster), ID: plan.ID, Digest: plan.Digest, Actor: api.Text(a.actorOf(actor)), Reason: api.Text(reason),
			})
			if err != nil {
				return applyExit(err)
			}
			fmt.Fprintf(a.stdout, "%s approved by %s (unverified), digest %s, for 24h\n", done.Plan, cell(done.Actor), done.Digest)
			return nil
		},
	}
	a.actorFlag(cmd, &actor)
	cmd.Flags().StringVar(&reason, "reason", "", "why; it is recorded")
	a.sourceFlags(cmd)
	return cmd
}
