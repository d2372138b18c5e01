package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/cmd/internal/table"
)

// printGroup writes one group with its offsets.
func (a *app) printGroup(g *api.Group) error {
	if a.output == outJSON {
		return a.printJSON(g)
	}
	t := a.offsetTable(g)
	if a.text() {
		a.groupHeader(g)
	}
	if a.text() && t.Len() == 0 {
		a.note("group %s has nothing committed on what was asked for", cell(g.Group))
		return nil
	}
	if err := printRows(a, g.Rows, t); err != nil {
		return err
	}
	if a.text() {
		a.offsetNotes(g)
	}
	return nil
}

func (a *app) groupHeader(g *api.Group) {
	state := g.State
	if since := a.clock(g.StateSince, seconds); since != "" {
		state += " since " + since
	}
	fmt.Fprintf(a.stdout, "CLUSTER  %-8s   GROUP  %s   STATE  %s   MEMBERS  %d\n",
		clusterName(g.Cluster), cell(g.Group), state, g.Members)
	total := "-"
	if g.TotalLag != nil {
		total = strconv.FormatInt(*g.TotalLag, 10)
	}
	seq := fmt.Sprintf("seq %d", g.Seq)
	if g.Seq == 0 && g.Known == "unknown" {
		seq = "before history" // with any other, the ledger had begun and knows that nothing was there
	}
	fmt.Fprintf(a.stdout, "AS-OF    %s (%s, %s)   TOTAL-LAG  %s (%d unknown)\n", instant(g.AsOf), seq, g.Known, total, g.Unknown)
	if in := g.LastIncident; in != nil {
		label := "LAST"
		if in.Time.After(g.AsOf.Time) {
			label = "SINCE"
		}
		id := in.ID
		if in.PutBack != nil {
			id += ", put back by " + in.PutBack.Restore
		}
		fmt.Fprintf(a.stdout, "%-7s  %s %s on %s (%s)\n", label, in.Kind, a.clock(in.Time, seconds), count(in.Partitions, "partition"), id)
	}
}

func (a *app) offsetTable(g *api.Group) *table.Table {
	wide := a.output == outWide
	t := &table.Table{Columns: offsetColumns(wide)}
	for i := range g.Rows {
		t.Row(a.offsetCells(&g.Rows[i], wide)...)
	}
	return t
}

func offsetColumns(wide bool) []table.Column {
	names := []string{"TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "LAST-COMMIT", "KNOWN"}
	if wide {
		names = append(names, "LOG-START-OFFSET", "LAST-STABLE-OFFSET", "LEADER-EPOCH", "METADATA", "CLIENT-ID", "HOST", "TOPIC-ID", "TIME-LAG", "NOTE")
	}
	columns := make([]table.Column, len(names))
	for i, name := range names {
		columns[i].Name = name
	}
	return columns
}

// offsetCells are the cells of a row under offsetColumns.
func (a *app) offsetCells(r *api.OffsetRow, wide bool) []string {
	cells := []string{
		cell(r.Topic), strconv.Itoa(int(r.Partition)), number(r.CommittedOffset), number(r.LogEndOffset), number(r.Lag),
		a.clock(r.CommitTime, seconds), knownWords(r),
	}
	if !wide {
		return cells
	}
	id := ""
	if r.TopicID != nil {
		id = *r.TopicID
	}
	return append(cells, number(r.LogStartOffset), number(r.LastStableOffset), number(r.LeaderEpoch), r.Metadata.String(),
		cellOf(r.ClientID), strings.TrimPrefix(cellOf(r.Host), "/"), id, timeLag(r), r.Note)
}

// timeLag is a time lag to the second and which of the two it is, without blanks: the age of the next
// record, of which it is known that it is not less, with a > that it can be any time more; or the
// time in which the group would have read all that is there.
func timeLag(r *api.OffsetRow) string {
	if r.TimeLag == nil {
		return ""
	}
	lag := (time.Duration(*r.TimeLag * float64(time.Second))).Round(time.Second).String()
	switch r.TimeLagKind {
	case api.TimeLagDrain:
		return "drain:" + lag
	case api.TimeLagAtLeast:
		return "age:>" + lag
	}
	return "age:" + lag
}

// knownWords says how sure a row is, in one word without blanks.
func knownWords(r *api.OffsetRow) string {
	if r.Known == "unknown" {
		return "unknown:" + strings.ReplaceAll(r.Why, " ", "-")
	}
	return r.Known
}

// offsetNotes tells what is odd about rows, which the columns have no room for.
func (a *app) offsetNotes(g *api.Group) {
	none := 0
	for i := range g.Rows {
		r := &g.Rows[i]
		if r.Never {
			none++
		}
		if r.Note != "" {
			a.note("note: %s %d: %s", cell(r.Topic), r.Partition, r.Note)
		}
		if r.Pending != nil {
			a.note("note: %s %d: offset %d waits for its transaction since %s", cell(r.Topic), r.Partition, r.Pending.Offset, r.Pending.Since)
		}
	}
	if none > 0 {
		a.note("note: %s without a commit", count(none, "partition"))
	}
}
