package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/cmd/internal/table"
)

func (a *app) snapshotCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "snapshot",
		Short: "States that were written down, so that answers about the past come fast",
		Long: `A snapshot is the state of the whole ledger after one event. Answers about later moments begin
with it instead of with the first event, and so does the daemon. The daemon takes one whenever
it is due. Any snapshot can be deleted: every answer is the same without.`,
		Example: `  offsetledger snapshot list
  offsetledger snapshot create
  offsetledger snapshot delete s184231`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		a.snapshotVerb("list", "The snapshots that can be used, newest first", noArgs,
			func(ctx context.Context, src *source, _ []string) (api.Snapshots, error) {
				return src.Snapshots(ctx, api.Query{})
			}),
		a.snapshotVerb("create", "Write the present state down", noArgs,
			func(ctx context.Context, src *source, _ []string) (api.Snapshots, error) {
				return src.TakeSnapshot(ctx)
			}),
		a.snapshotVerb("show ID", "One snapshot, and the parts it consists of", oneArg("the id of a snapshot", "s184231"),
			func(ctx context.Context, src *source, args []string) (api.Snapshots, error) {
				return src.Snapshots(ctx, api.Query{ID: args[0]})
			}),
		a.snapshotVerb("delete ID", "Remove a snapshot; what was recorded stays", oneArg("the id of a snapshot", "s184231"),
			func(ctx context.Context, src *source, args []string) (api.Snapshots, error) {
				return src.DeleteSnapshot(ctx, args[0])
			}),
	)
	return cmd
}

// snapshotVerb is one thing to do with snapshots. All answer with snapshots.
func (a *app) snapshotVerb(use, short string, args cobra.PositionalArgs,
	do func(context.Context, *source, []string) (api.Snapshots, error)) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: args,
		RunE: func(cmd *cobra.Command, args []string) error {
			src, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			defer src.close() //nolint:errcheck // what was written was acknowledged
			answer, err := do(cmd.Context(), src, args)
			if err != nil {
				return err
			}
			return a.printSnapshots(&answer)
		},
	}
	a.sourceFlags(cmd)
	a.outputFlag(cmd)
	return cmd
}

func (a *app) printSnapshots(answer *api.Snapshots) error {
	if a.output == outJSON {
		return a.printJSON(answer)
	}
	t := &table.Table{Columns: []table.Column{
		{Name: "ID"}, {Name: "TIME"}, {Name: "SERVES FROM"}, {Name: "GROUPS", Right: true}, {Name: "PARTITIONS", Right: true}, {Name: "BYTES", Right: true},
	}}
	for i := range answer.Rows {
		s := &answer.Rows[i]
		t.Row(s.ID, a.clock(s.Time, seconds), a.clock(s.Latest, seconds), strconv.Itoa(s.Groups), strconv.Itoa(s.Partitions), strconv.Itoa(s.Bytes))
	}
	if !a.text() {
		return printRows(a, answer.Rows, t)
	}
	if len(answer.Rows) == 0 {
		a.note("no snapshot can be used: everything is read from the first event")
		return nil
	}
	if err := t.Write(a.stdout); err != nil {
		return err
	}
	return a.printSnapshotParts(answer.Rows)
}

// printSnapshotParts prints the parts of a snapshot that was asked for.
func (a *app) printSnapshotParts(rows []api.SnapshotRow) error {
	if len(rows) != 1 || rows[0].Parts == nil {
		return nil
	}
	fmt.Fprintln(a.stdout)
	t := &table.Table{Columns: []table.Column{{Name: "PART"}, {Name: "BYTES", Right: true}, {Name: "SHA-256"}}}
	for _, p := range rows[0].Parts {
		t.Row(p.Name, strconv.Itoa(p.Bytes), p.SHA256)
	}
	return t.Write(a.stdout)
}
