package main

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
)

// lagOnly are the flags of history that go with --lag.
var lagOnly = []string{"lag", "points", "since", "until", "topic", "partition", "group", "output", "api", "data-dir", "cluster"}

// lagQuery is the question of history --lag.
func (h *historyFlags) lagQuery(cmd *cobra.Command, group *string) (api.Query, error) {
	q := api.Query{Group: group, Topics: h.topics, Partitions: h.partitions, Points: &h.points}
	if group == nil {
		return q, usagef("--lag tells of one group: say which, as in %s billing --lag", cmd.CommandPath())
	}
	if h.points < 1 {
		return q, usagef("--points %d: write a number from 1", h.points)
	}
	return q, onlyFlags(cmd, "--lag", lagOnly)
}

// onlyFlags refuses those flags that were given and do not go with another.
func onlyFlags(cmd *cobra.Command, with string, allowed []string) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && !slices.Contains(allowed, f.Name) {
			err = usagef("--%s does not go with %s", f.Name, with)
		}
	})
	return err
}

// lagHistory prints how the lag of a group went.
func (a *app) lagHistory(cmd *cobra.Command, q api.Query, h historyFlags) error {
	if err := a.ask(&q, "", h.span); err != nil {
		return err
	}
	src, err := a.open(cmd.Context())
	if err != nil {
		return err
	}
	defer src.close() //nolint:errcheck // nothing was written
	answer, err := src.Lag(cmd.Context(), q)
	if err != nil {
		return err
	}
	a.coverageNote(&answer.Envelope)
	if a.output == outJSON {
		return a.printJSON(answer)
	}
	t := leftTable([]string{"TIME", "TOPIC", "PARTITION", "LAG", "CURRENT-OFFSET", "LOG-END-OFFSET", "NOTE"})
	for i := range answer.Rows {
		r := &answer.Rows[i]
		t.Row(a.clock(r.Time, millis), cell(r.Topic), strconv.Itoa(int(r.Partition)), number(r.Lag), number(r.CommittedOffset),
			number(r.LogEndOffset), r.Why)
	}
	if a.text() {
		c := &answer.Coverage
		fmt.Fprintf(a.stdout, "%s  %s  %s to %s  %s\n", clusterName(answer.Cluster), cell(answer.Group), a.clock(c.From, seconds),
			a.clock(c.To, seconds), a.completeness(c))
		if t.Len() == 0 {
			a.note("group %s had nothing committed in that time on what was asked for", cell(answer.Group))
			return nil
		}
	}
	return printRows(a, answer.Rows, t)
}
