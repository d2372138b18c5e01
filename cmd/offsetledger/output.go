package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/cmd/internal/table"
)

// The values of -o.
const (
	outTable    = "table"
	outWide     = "wide"
	outJSON     = "json"
	outJSONL    = "jsonl"
	outCSV      = "csv"
	outAWK      = "awk"
	outKafkaCSV = "kafka-csv"
)

var outputs = []string{outTable, outWide, outJSON, outJSONL, outCSV, outAWK}

// outputFlag adds -o, which takes the usual values and more.
func (a *app) outputFlag(cmd *cobra.Command, more ...string) {
	all := append(append([]string{}, outputs...), more...)
	cmd.Flags().StringVarP(&a.output, "output", "o", outTable, strings.Join(all, ", "))
	check := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if err := oneOf("output", a.output, all...); err != nil || check == nil {
			return err
		}
		return check(cmd, args)
	}
}

// text reports whether people read the output.
func (a *app) text() bool { return a.output == outTable || a.output == outWide }

// printJSON writes one document on one line.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// printRows writes rows in a machine format; awk rows are those of the table.
func printRows[T any](a *app, rows []T, t *table.Table) error {
	switch a.output {
	case outCSV:
		var row T
		c := table.NewCSV(a.stdout, row)
		for _, row := range rows {
			if err := c.Write(row); err != nil {
				return err
			}
		}
		return c.Flush()
	case outJSONL:
		for _, row := range rows {
			if err := a.printJSON(row); err != nil {
				return err
			}
		}
		return nil
	case outAWK:
		return t.WriteTabs(a.stdout)
	}
	return t.Write(a.stdout)
}

// coverageNote says in one line, if need be, how the answer falls short.
func (a *app) coverageNote(e *api.Envelope) {
	c := &e.Coverage
	cluster := clusterName(e.Cluster)
	if c.Problem != "" {
		a.note("note: %s: %s", cluster, c.Problem)
	}
	switch {
	case e.Known == "unknown" && e.Why != "":
		a.note("note: %s: nothing is known of that moment: %s", cluster, e.Why)
	case e.Known != "stale":
	case c.BehindSeconds == nil && c.Through.Known():
		a.note("note: %s: nothing is capturing into this ledger; what it says is true up to %s", cluster, c.Through)
	case c.BehindSeconds == nil:
		a.note("note: %s: nothing is capturing into this ledger", cluster)
	case *c.BehindSeconds > 5:
		a.note("note: %s: capture is %.1f s behind; what it says is true up to %s", cluster, *c.BehindSeconds, c.Through)
	}
	if c.Opaque > 0 {
		a.note("note: %s: %s could not be decoded; %s shows them", cluster, count(int(c.Opaque), "record"), a.typed("events", "--kind", "opaque"))
	}
	if len(c.Gaps) == 0 {
		return
	}
	g, more := c.Gaps[0], ""
	of := "all groups of a source partition"
	if g.Group != nil {
		of = "group " + cell(*g.Group)
	}
	if n := len(c.Gaps) - 1; n > 0 {
		more = fmt.Sprintf(", and %s", count(n, "more gap"))
	}
	a.note("note: %s: history of %s may be missing from %s to %s (%s)%s", cluster, of, g.From, g.To, g.Cause, more)
}

// followNote says what is followed, and if nothing will come of it.
func (a *app) followNote(src *source, e *api.Envelope) {
	cluster := clusterName(e.Cluster)
	switch {
	case src.alone:
		a.note("note: %s: nothing captures into this ledger, and no daemon can while this command has it open: nothing will come", cluster)
	case e.Coverage.BehindSeconds == nil && e.Coverage.Problem == "":
		a.note("note: %s: the daemon does not capture yet: nothing comes until it does", cluster)
	}
	if a.text() {
		a.note("%s  following, until Ctrl-C", cluster)
	}
}

// completeness says in a few words how much the history can be relied on. Of the reasons why it
// is not complete, all but the one told here have a note of their own: see coverageNote.
func (a *app) completeness(c *api.Coverage) string {
	switch {
	case c.Complete:
		return "complete"
	case c.Began.Known() && c.From.Before(c.Began.Time):
		return "not complete: recorded since " + a.clock(c.Began, seconds)
	}
	return "not complete"
}
