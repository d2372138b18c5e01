package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/replay"
)

// overwriting are the movements that undo a restore.
var overwriting = []projection.Movement{
	projection.MovementRewind, projection.MovementJump, projection.MovementReset, projection.MovementDeleted, projection.MovementExpired,
	projection.MovementRolledBack,
}

func (a *app) restoreWatchCommand() *cobra.Command {
	var length time.Duration
	cmd := &cobra.Command{
		Use:   "watch ID",
		Short: "Look whether a restore stays",
		Long: `Look for some time, by what capture records, whether somebody overwrites what a restore has
written: moves it back or far forward, or deletes it. The program ends with 3 and says who if so.`,
		Example: `  offsetledger restore watch r91c2d0 --for 2m`,
		Args:    oneArg("the id of a restore", "r91c2d0"),
		RunE: func(cmd *cobra.Command, args []string) error {
			src, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			defer src.close() //nolint:errcheck // nothing was written
			if err := a.otherKind(args[0], restoreWord); err != nil {
				return err
			}
			shown, plan, err := a.findRestore(cmd.Context(), src, args[0])
			if err != nil {
				return err
			}
			return a.watchRestored(cmd.Context(), src, plan, shown.Restore.Seq, length)
		},
	}
	cmd.Flags().DurationVar(&length, "for", 2*time.Minute, "how long")
	a.sourceFlags(cmd)
	return cmd
}

// watchEvery is the time between two looks at what became of a restore.
const watchEvery = time.Second

var errNothingCaptures = errors.New("nothing captures into this ledger, so that nobody can tell whether it stays")

// canWatch fails if nobody could tell whether what is written stays.
func canWatch(ctx context.Context, src *source, cluster string) error {
	one := 1 // what is asked for is how capture is doing
	answer, err := src.Groups(ctx, api.Query{Cluster: cluster, Limit: &one})
	if err == nil && answer.Coverage.BehindSeconds == nil {
		err = &exitError{exitRefused, fmt.Errorf("nothing was done: %w: leave out --watch, or apply it where the daemon runs", errNothingCaptures)}
	}
	return err
}

// watchRestored looks whether what a plan has written stays, by what was recorded since a
// sequence.
func (a *app) watchRestored(ctx context.Context, src *source, plan *replay.Plan, since uint64, length time.Duration) error {
	a.note("watching %s; start the group now …", length)
	written := map[string]map[api.Text]map[int32]int64{}
	for i := range plan.Groups {
		g := &plan.Groups[i]
		written[g.Group] = targets(g)
	}
	for until := a.now().Add(length); ; {
		for i := range plan.Groups {
			name := plan.Groups[i].Group
			if err := a.overwritten(ctx, src, plan, name, written[name], since); err != nil {
				return err
			}
		}
		if !a.now().Before(until) {
			break
		}
		if err := pause(ctx, watchEvery); err != nil {
			return err
		}
	}
	return a.stayed(ctx, src, plan, written)
}

// targets are the offsets that a plan writes of a group.
func targets(g *replay.PlanGroup) map[api.Text]map[int32]int64 {
	out := map[api.Text]map[int32]int64{}
	for i := range g.Steps {
		s := &g.Steps[i]
		if s.Action != replay.ActionSet {
			continue
		}
		if out[api.Text(s.Topic)] == nil {
			out[api.Text(s.Topic)] = map[int32]int64{}
		}
		out[api.Text(s.Topic)][s.Partition] = s.Target.At
	}
	return out
}

// overwritten fails if somebody has moved what was written.
func (a *app) overwritten(ctx context.Context, src *source, plan *replay.Plan, group string, written map[api.Text]map[int32]int64, since uint64) error {
	answer, err := src.History(ctx, api.Query{Cluster: plan.Cluster, Group: &group, Since: fmt.Sprintf("seq:%d", since+1), Movements: overwriting})
	if err != nil {
		return err
	}
	for i := range answer.Rows {
		r := &answer.Rows[i]
		if r.Topic == nil || r.Partition == nil || r.Plan != nil && *r.Plan == plan.ID {
			continue
		}
		if at, ours := written[*r.Topic][*r.Partition]; ours && r.From != nil && *r.From >= at {
			return &exitError{exitCheck, fmt.Errorf("it was overwritten: %s of %s %s/%d from %d to %s at %s by %s (seq %d)",
				r.Movement, api.Shown(group), cell(*r.Topic), *r.Partition, *r.From, orUnknown(r.To), r.Time, byWhom(r), r.Seq)}
		}
	}
	return nil
}

// byWhom names who moved something: who said so, else what the records tell.
func byWhom(r *api.ChangeRow) string {
	if r.Actor != nil {
		return cell(*r.Actor)
	}
	return whoWords(&r.Who)
}

// stayed says how many partitions were committed past their target.
func (a *app) stayed(ctx context.Context, src *source, plan *replay.Plan, written map[string]map[api.Text]map[int32]int64) error {
	past, all := 0, 0
	for i := range plan.Groups {
		name := plan.Groups[i].Group
		answer, err := src.Group(ctx, api.Query{Cluster: plan.Cluster, Group: &name})
		if err != nil {
			return err
		}
		if answer.Coverage.BehindSeconds == nil {
			return errNothingCaptures
		}
		for _, parts := range written[name] {
			all += len(parts)
		}
		for _, row := range answer.Rows {
			if at, ours := written[name][row.Topic][row.Partition]; ours && row.CommittedOffset != nil && *row.CommittedOffset > at {
				past++
			}
		}
	}
	fmt.Fprintf(a.stdout, "%d of %s committed past their target: it stayed\n", past, count(all, "partition"))
	return nil
}
