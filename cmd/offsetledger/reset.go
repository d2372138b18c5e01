package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/replay"
)

const resetHelp = `Move the committed offsets of a group to where you say: plan first, look at it, then apply it.
A plan changes nothing in Kafka and is stored in the ledger under a short id.

  offsetledger reset plan billing --to earliest --topics orders --all-partitions
  offsetledger reset plan billing --to commit-time:2026-11-30T02:46:00Z --topics orders:0,1`

func (a *app) resetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reset",
		Short: "Move the committed offsets of a group: plan, then apply",
		Long:  resetHelp,
		Args:  noArgs,
		RunE:  groupOnly,
	}
	cmd.AddCommand(a.resetPlanCommand(), a.restoreApplyCommand(), a.restoreUndoCommand())
	return cmd
}

func (a *app) resetPlanCommand() *cobra.Command {
	p := &planFlags{}
	cmd := &cobra.Command{
		Use:   "plan GROUP --to TARGET (--topics TOPIC:PARTITIONS | --all-topics)",
		Short: "What moving offsets would do to every partition; nothing is changed",
		Long: `Work out what moving the offsets of groups would do to every partition, and store that as a
plan. Nothing is changed in Kafka. The target is one of

  earliest, latest            the ends of the log
  current                     where it is
  700, +50, -50               that offset; so many forward or back
  @2026-11-30T02:46:00Z, @-1h the first record written at or after that time
  commit-time:TIME            what was committed then
  seq:N, before:N             what was committed then, by the ledger's own order
  file:F                      as a file of kafka-consumer-groups says
  group:OTHER, group:OTHER@P  what another group has, or had at a point

The selection is explicit: partitions by name, every partition of a topic, or --all-topics for
all that the groups have committed. What Kafka says now is asked with -B, else by the daemon,
else the plan is made of what the ledger knows, and says so. The program ends with 4 if some of
the plan can never be done; a group that is active only blocks it.`,
		Example: `  offsetledger reset plan billing --to earliest --topics orders --all-partitions
  offsetledger reset plan billing --to @-1h --all-topics -B broker:9092
  offsetledger reset plan billing-v2 --to group:billing --all-topics --allow-new-group
  offsetledger reset plan billing --to file:offsets.csv`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.resetPlan(cmd, p, args) },
	}
	f := cmd.Flags()
	f.StringVar(&p.to, "to", "", "where to; see above")
	f.BoolVar(&p.req.AllTopics, "all-topics", false, "all that the groups have committed")
	f.BoolVar(&p.req.AllowNewTopic, "allow-new-topic", false, "also topics that the group has never committed to")
	a.addPlanFlags(cmd, p)
	return cmd
}

func (a *app) resetPlan(cmd *cobra.Command, p *planFlags, args []string) error {
	if p.to == "" {
		return usagef("say where to: --to %s", replay.OneOf(append(replay.TargetExamples(), "file:offsets.csv")))
	}
	r, err := a.request(p, replay.CommandReset, args)
	if err != nil {
		return err
	}
	grouped := slices.ContainsFunc(r.Rows, func(row api.FileRow) bool { return row.Group != nil })
	switch {
	case len(r.Groups) == 0 && !grouped:
		return usagef("say which group: reset plan billing --to %s", p.to)
	case r.AllTopics && len(r.Topics) > 0:
		return usagef("--all-topics means all and --topics names some: give one of the two")
	case !r.AllTopics && len(r.Topics) == 0 && len(r.Rows) == 0:
		return usagef("say which partitions: --topics orders:0,1, --topics orders --all-partitions, or --all-topics")
	}
	return a.makePlan(cmd, p, r)
}
