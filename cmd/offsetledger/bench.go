package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/offsetledger/offsetledger/cmd/internal/bench"
)

const benchHelp = `Measure what a ledger does on this machine: appending, replaying and capturing offsets, and
being ready again after a restart. Each figure stands beside its limit, which the same run
measures with the same bytes. It works in a directory of its own, and touches no ledger.`

// The sizes that the goals speak of.
const (
	benchOffsets = 20_000_000
	benchDrain   = 1_000_000
)

func (a *app) benchCommand() *cobra.Command {
	var cfg bench.Config
	var output string
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure what a ledger does on this machine",
		Long:  benchHelp,
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := oneOf("output", output, "table", "json"); err != nil {
				return err
			}
			return a.bench(cmd, cfg, output)
		},
	}
	f := cmd.Flags()
	f.StringVar(&cfg.Dir, "dir", "", "directory on the disk to measure (default: that of temporary files)")
	f.IntVar(&cfg.Offsets, "offsets", benchOffsets, "offsets to append and replay, a multiple of 100000")
	f.IntVar(&cfg.Drain, "drain", benchDrain, "offsets to capture, a multiple of 100")
	f.StringVarP(&output, "output", "o", "table", "table or json")
	return cmd
}

func (a *app) bench(cmd *cobra.Command, cfg bench.Config, output string) error {
	if err := cfg.Validate(); err != nil {
		return usagef("%w", err)
	}
	fsync, err := bench.Fsync(cfg.Dir)
	if err != nil {
		return err
	}
	a.note("syncing a page to this disk takes %s (median of 51)", fsync)
	if cfg.Offsets < benchOffsets || cfg.Drain < benchDrain {
		a.note("note: the goals are for %d offsets and a drain of %d; with fewer the start weighs more", benchOffsets, benchDrain)
	}
	rows := []bench.Row{}
	err = bench.Run(cmd.Context(), cfg, func(r bench.Row) {
		rows = append(rows, r)
		a.note("%s measured", r.Name)
	})
	if err != nil {
		return err
	}
	if output == "json" {
		return a.printJSON(rows)
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tVALUE\tLIMIT\tRATIO\tUNIT\tGOAL")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%.2f\t%s\t%s\n", r.Name, figure(r.Value), figure(r.Limit), r.Ratio, r.Unit, r.Goal)
	}
	return w.Flush()
}

// figure is a number with as many digits as mean something.
func figure(v float64) string {
	if v >= 1000 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}
