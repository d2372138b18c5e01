package main

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/cmd/internal/table"
)

func (a *app) groupCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "group",
		Short: "Consumer groups: the state, now or then",
		Args:  noArgs,
		RunE:  groupOnly,
	}
	cmd.AddCommand(a.groupListCommand(), a.groupDescribeCommand())
	return cmd
}

func (a *app) groupListCommand() *cobra.Command {
	var at, sort, state string
	var lagAbove int64
	cmd := &cobra.Command{
		Use:   "list",
		Short: "All groups, with their lag",
		Long:  "List all groups that the ledger ever saw, deleted ones too, as they are now or were at a point.",
		Example: `  offsetledger group list --sort lag
  offsetledger group list --at -1h --lag-above 1000
  offsetledger group list --state empty -o json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q := api.Query{State: state, Sort: sort}
			if cmd.Flags().Changed("lag-above") {
				q.LagAbove = &lagAbove
			}
			return a.groupList(cmd, q, at)
		},
	}
	f := cmd.Flags()
	f.StringVar(&at, "at", "", "as of this point, as in -10m, 02:46Z, seq:411")
	f.StringVar(&sort, "sort", "name", "lag (largest first), moved (latest first) or name")
	f.StringVar(&state, "state", "", "only groups in this state: empty, stable, deleted")
	f.Int64Var(&lagAbove, "lag-above", 0, "only groups with more lag than this")
	a.sourceFlags(cmd)
	a.outputFlag(cmd)
	return cmd
}

func (a *app) groupList(cmd *cobra.Command, q api.Query, at string) error {
	if err := oneOf("sort", q.Sort, "lag", "moved", "name"); err != nil {
		return err
	}
	if err := a.ask(&q, at, spanFlags{}); err != nil {
		return err
	}
	src, err := a.open(cmd.Context())
	if err != nil {
		return err
	}
	defer src.close() //nolint:errcheck // nothing was written
	answer, err := src.Groups(cmd.Context(), q)
	if err != nil {
		return err
	}
	a.coverageNote(&answer.Envelope)
	if a.output == outJSON {
		return a.printJSON(answer)
	}
	t := a.groupTable(&answer)
	if a.text() {
		fmt.Fprintf(a.stdout, "%s  %s  %s (seq %d, %s)\n", clusterName(answer.Cluster), count(len(answer.Rows), "group"),
			instant(answer.AsOf), answer.Seq, answer.Known)
	}
	return printRows(a, answer.Rows, t)
}

func (a *app) groupTable(answer *api.Groups) *table.Table {
	t := &table.Table{Columns: []table.Column{
		{Name: "GROUP"}, {Name: "STATE"}, {Name: "MEMBERS", Right: true}, {Name: "TOPICS", Right: true},
		{Name: "PARTITIONS", Right: true}, {Name: "TOTAL-LAG", Right: true}, {Name: "UNKNOWN", Right: true}, {Name: "LAST-MOVED"},
	}}
	if a.output == outWide {
		t.Columns = append(t.Columns, table.Column{Name: "TYPE"}, table.Column{Name: "SINCE"})
	}
	for _, g := range answer.Rows {
		t.Row(cell(g.Group), g.State, strconv.Itoa(g.Members), strconv.Itoa(g.Topics), strconv.Itoa(g.Partitions),
			number(g.TotalLag), strconv.Itoa(g.Unknown), a.clock(g.LastMoved, seconds),
			g.Type, a.clock(g.StateSince, seconds))
	}
	return t
}

func (a *app) groupDescribeCommand() *cobra.Command {
	var at string
	var topics []string
	var partitions []int32
	cmd := &cobra.Command{
		Use:   "describe GROUP...",
		Short: "The committed offsets and the lag of a group, now or then",
		Long: `Describe a group as it is now, or as it was at a point: what it had committed for every
partition, how far it was behind, and how sure that is. Of several groups csv, jsonl and awk
have one list, in which the group leads each row.

With -o wide, json, jsonl and csv it also has a time lag, and says which it is: the age of the
next record of a partition (age:2m0s), as far as the ledger observed the log; age:>2m0s if it was
there at the oldest observation already. In place of such a least age it is the time in which the
group would have read all that is there (drain:3m0s), at its pace of the last five minutes, if it
has been reading.

With -o kafka-csv the offsets are written as the stock tool takes them back:

  offsetledger group describe billing --at seq:411 -o kafka-csv > billing.csv
  kafka-consumer-groups --bootstrap-server … --group billing --reset-offsets --from-file billing.csv --execute`,
		Example: `  offsetledger group describe billing
  offsetledger group describe billing --at 02:46Z
  offsetledger group describe billing --at seq:184230 -o kafka-csv
  offsetledger group describe --group "" -o json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			groups, err := groupsOf(cmd, args)
			if err != nil {
				return err
			}
			return a.groupDescribe(cmd, groups, api.Query{Topics: topics, Partitions: partitions}, at)
		},
	}
	f := cmd.Flags()
	f.StringVar(&at, "at", "", "as of this point, as in -10m, 02:46Z, seq:411")
	f.StringArrayVar(&topics, "topic", nil, "only this topic; can be given several times")
	f.Int32SliceVar(&partitions, "partition", nil, "only these partitions")
	a.groupFlag(cmd)
	a.sourceFlags(cmd)
	a.outputFlag(cmd, outKafkaCSV)
	return cmd
}

// groupsOf is the one or more groups that a command line names.
func groupsOf(cmd *cobra.Command, args []string) ([]string, error) {
	one, err := groupOf(cmd, args)
	if err != nil {
		return nil, err
	}
	if one == nil {
		return nil, usagef("say which group, as in %s billing", cmd.CommandPath())
	}
	groups := []string{*one}
	for _, arg := range args[min(1, len(args)):] {
		name, err := nameOf(arg)
		if err != nil {
			return nil, err
		}
		groups = append(groups, *name)
	}
	return groups, nil
}

func (a *app) groupDescribe(cmd *cobra.Command, groups []string, q api.Query, at string) error {
	if err := a.ask(&q, at, spanFlags{}); err != nil {
		return err
	}
	src, err := a.open(cmd.Context())
	if err != nil {
		return err
	}
	defer src.close() //nolint:errcheck // nothing was written

	q.TimeLag = slices.Contains([]string{outWide, outJSON, outJSONL, outCSV}, a.output) // what has room for it
	answers := make([]api.Group, len(groups))
	for i := range groups {
		q.Group = &groups[i]
		if answers[i], err = src.Group(cmd.Context(), q); err != nil {
			return err
		}
	}
	a.coverageNote(&answers[0].Envelope)
	if a.output == outKafkaCSV {
		return a.printKafkaCSV(answers)
	}
	if len(answers) > 1 && !a.text() && a.output != outJSON {
		return a.printRowsOf(answers)
	}
	for i := range answers {
		if i > 0 && a.text() {
			fmt.Fprintln(a.stdout)
		}
		if err := a.printGroup(&answers[i]); err != nil {
			return err
		}
	}
	return nil
}

// offsetRowOf is a row where there are those of several groups.
type offsetRowOf struct {
	Group api.Text `json:"group"`
	api.OffsetRow
}

// printRowsOf writes the rows of several groups as one list: the group leads each row.
func (a *app) printRowsOf(answers []api.Group) error {
	var rows []offsetRowOf
	t := &table.Table{Columns: append([]table.Column{{Name: "GROUP"}}, offsetColumns(false)...)}
	for i := range answers {
		g := &answers[i]
		for j := range g.Rows {
			rows = append(rows, offsetRowOf{g.Group, g.Rows[j]})
			t.Row(append([]string{cell(g.Group)}, a.offsetCells(&g.Rows[j], false)...)...)
		}
	}
	return printRows(a, rows, t)
}

// printKafkaCSV writes what kafka-consumer-groups --reset-offsets --from-file takes: the
// group leads the line only where there are several.
func (a *app) printKafkaCSV(answers []api.Group) error {
	w := csv.NewWriter(a.stdout)
	left := 0
	for _, g := range answers {
		for _, r := range g.Rows {
			if r.CommittedOffset == nil || *r.CommittedOffset < 0 {
				left++
				continue
			}
			line := []string{string(r.Topic), strconv.Itoa(int(r.Partition)), strconv.FormatInt(*r.CommittedOffset, 10)}
			if len(answers) > 1 {
				line = append([]string{string(g.Group)}, line...)
			}
			if err := w.Write(line); err != nil {
				return err
			}
		}
	}
	if left > 0 {
		a.note("note: left out %s without a committed offset", count(left, "partition"))
	}
	w.Flush()
	return w.Error()
}
