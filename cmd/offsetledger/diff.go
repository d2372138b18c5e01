package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/cmd/internal/table"
)

// diffFlags are the flags of the diff command.
type diffFlags struct {
	from, to  string
	groups    []string
	movements []string
	perRow    bool
	all       bool
	exitCode  bool
}

func (a *app) diffCommand() *cobra.Command {
	var d diffFlags
	cmd := &cobra.Command{
		Use:   "diff [GROUP...] --from P [--to P]",
		Short: "What moved between two moments",
		Long: `Compare two moments, one row a group: how far it read, what was moved back over and what was
skipped, which offsets appeared or are gone, and how its lag has changed. Groups that lost
offsets come first, then those that were moved back. A table leaves out the groups that only
read, unless they are asked for; other formats have every group that moved.

With --exit-code the command ends with 3 if something went back or is gone, with 0 if nothing
did, and with 1 if the records are not complete enough to tell.`,
		Example: `  offsetledger diff --from 01:50Z --to 02:47Z
  offsetledger diff billing --from -1d --partitions
  offsetledger diff --from seq:184230 --to seq:190000 --movement rewind,jump -o json
  offsetledger diff --from checkpoint:release-41 --group billing --exit-code`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := d.query(append(args, d.groups...))
			if err != nil {
				return err
			}
			return a.diff(cmd, q, d)
		},
	}
	cmd.ValidArgsFunction = a.completeGroups
	f := cmd.Flags()
	f.StringVar(&d.from, "from", "", "the earlier moment, as in -2h, 02:44Z, seq:411")
	f.StringVar(&d.to, "to", "", "the later moment (default now)")
	f.StringArrayVar(&d.groups, "group", nil, "only this group; can be given several times")
	f.StringSliceVar(&d.movements, "movement", nil, "only groups with one of these movements, as in rewind,jump")
	f.BoolVar(&d.perRow, "partitions", false, "one line for every partition")
	f.BoolVar(&d.all, "all", false, "also groups that only read, in a table")
	f.BoolVar(&d.exitCode, "exit-code", false, "end with 3 if something went back or is gone")
	a.sourceFlags(cmd)
	a.outputFlag(cmd)
	return cmd
}

func (d *diffFlags) query(groups []string) (api.Query, error) {
	q := api.Query{PerPartition: d.perRow}
	if d.from == "" {
		return q, usagef("say since when, as in --from -2h")
	}
	for _, g := range groups {
		name, err := nameOf(g)
		if err != nil {
			return q, err
		}
		if !slices.Contains(q.Groups, *name) {
			q.Groups = append(q.Groups, *name)
		}
	}
	var err error
	q.Movements, err = movementsOf("movement", d.movements)
	return q, err
}

func (a *app) diff(cmd *cobra.Command, q api.Query, d diffFlags) error {
	q.Cluster = a.cluster
	if err := a.points(pointFlag{"from", "from", d.from, &q.FromPoint}, pointFlag{"to", "to", d.to, &q.To}); err != nil {
		return err
	}
	src, err := a.open(cmd.Context())
	if err != nil {
		return err
	}
	defer src.close() //nolint:errcheck // nothing was written
	answer, err := src.Diff(cmd.Context(), q)
	if err != nil {
		return err
	}
	a.coverageNote(&answer.Envelope)
	// Who names groups or movements wants to see those, whatever they did.
	if err := a.printDiff(&answer, d.perRow, d.all || len(q.Groups) > 0 || len(q.Movements) > 0); err != nil || !d.exitCode {
		return err
	}
	return a.diffVerdict(&answer)
}

// diffVerdict is what --exit-code makes of an answer.
func (a *app) diffVerdict(answer *api.Diff) error {
	back := 0
	for i := range answer.Rows {
		if r := &answer.Rows[i]; r.Replayed > 0 || r.Gone > 0 {
			back++
		}
	}
	switch {
	case back > 0:
		return &exitError{exitCheck, fmt.Errorf("offsets of %s went back or are gone", count(back, "group"))}
	case !answer.Coverage.Complete:
		return fmt.Errorf("nothing is known to have gone back, but the history of that time is %s", a.completeness(&answer.Coverage))
	}
	return nil
}

func (a *app) printDiff(answer *api.Diff, perRow, all bool) error {
	switch {
	case a.output == outJSON:
		return a.printJSON(answer)
	case a.text():
		return a.printDiffTable(answer, perRow, all)
	case perRow:
		return printRows(a, diffPartitions(answer.Rows), a.diffPartitionTable(answer.Rows))
	}
	return printRows(a, answer.Rows, a.diffTable(answer.Rows))
}

func (a *app) printDiffTable(answer *api.Diff, perRow, all bool) error {
	c := &answer.Coverage
	fmt.Fprintf(a.stdout, "%s  %s to %s  %s   %s, %d moved\n", clusterName(answer.Cluster), a.clock(c.From, seconds), a.clock(c.To, seconds),
		a.completeness(c), count(answer.Groups, "group"), answer.Moved)
	rows := answer.Rows
	if !all {
		rows = slices.DeleteFunc(slices.Clone(rows), onlyRead)
	}
	t := a.diffTable(rows)
	if perRow {
		t = a.diffPartitionTable(rows)
	}
	if t.Len() > 0 {
		if err := t.Write(a.stdout); err != nil {
			return err
		}
	}
	hint := ""
	if answer.Advanced > 0 && !all {
		hint = " (--all)"
	}
	a.note("%s only advanced%s, %d did not move", count(answer.Advanced, "group"), hint, answer.Groups-answer.Moved)
	return nil
}

// onlyRead reports whether a group did nothing that somebody has to look at.
func onlyRead(r api.DiffRow) bool {
	isNew := r.Appeared != nil && *r.Appeared == r.Partitions
	return r.Gone == 0 && !isNew && !slices.ContainsFunc(r.Movements, notable)
}

func (a *app) diffTable(rows []api.DiffRow) *table.Table {
	names := []string{"GROUP", "PARTS", "ADVANCED", "REPLAYED", "SKIPPED", "LAG-FROM", "LAG-TO", "DELTA", "NOTE"}
	if a.output == outWide {
		names = append(names, "APPEARED", "GONE", "EVENTS", "MOVEMENTS")
	}
	t := leftTable(names)
	for i := range rows {
		r := &rows[i]
		appeared := "?"
		if r.Appeared != nil {
			appeared = strconv.Itoa(*r.Appeared)
		}
		t.Row(cell(r.Group), strconv.Itoa(r.Partitions), decimal(r.Advanced), decimal(r.Replayed), decimal(r.Skipped), number(r.LagFrom),
			number(r.LagTo), grown(r.LagDelta), r.Note, appeared, strconv.Itoa(r.Gone), strconv.Itoa(r.Events), strings.Join(r.Movements, ","))
	}
	return t
}

func (a *app) diffPartitionTable(rows []api.DiffRow) *table.Table {
	t := leftTable([]string{"GROUP", "TOPIC", "PARTITION", "FROM", "TO", "ADVANCED", "REPLAYED", "SKIPPED", "LAG-FROM", "LAG-TO", "DELTA", "MOVEMENTS"})
	for _, r := range diffPartitions(rows) {
		t.Row(cell(r.Group), cell(r.Topic), strconv.Itoa(int(r.Partition)), number(r.From), number(r.To), decimal(r.Advanced),
			decimal(r.Replayed), decimal(r.Skipped), number(r.LagFrom), number(r.LagTo), grown(r.LagDelta), strings.Join(r.Movements, ","))
	}
	return t
}

// diffPartitionOf is the row of one partition where there are those of several groups.
type diffPartitionOf struct {
	Group api.Text `json:"group"`
	api.DiffPartition
}

func diffPartitions(rows []api.DiffRow) []diffPartitionOf {
	var out []diffPartitionOf
	for i := range rows {
		for _, p := range rows[i].PartitionRows {
			out = append(out, diffPartitionOf{rows[i].Group, p})
		}
	}
	return out
}

func leftTable(names []string) *table.Table {
	t := &table.Table{Columns: make([]table.Column, len(names))}
	for i, name := range names {
		t.Columns[i].Name = name
	}
	return t
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// grown is a difference with its sign, "" if it is not known.
func grown(n *int64) string {
	if n == nil {
		return ""
	}
	return signed(*n)
}
