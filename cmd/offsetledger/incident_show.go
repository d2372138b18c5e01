package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/cmd/internal/table"
	"github.com/offsetledger/offsetledger/projection"
)

func (a *app) incidentShowCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "One incident: every change, the evidence, and where to look next",
		Long: `Show one incident with all that is known of it. The id is i and a sequence, as the list shows
it; the sequence of any event of the incident will do.`,
		Example: `  offsetledger incidents show i184231`,
		Args:    oneArg("the id of an incident", "i184231"),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.incidentShow(cmd, args[0]) },
	}
	a.sourceFlags(cmd)
	a.outputFlag(cmd)
	return cmd
}

func (a *app) incidentShow(cmd *cobra.Command, id string) error {
	src, err := a.open(cmd.Context())
	if err != nil {
		return err
	}
	defer src.close() //nolint:errcheck // nothing was written
	answer, err := src.Incident(cmd.Context(), api.Query{Cluster: a.cluster, ID: strings.TrimPrefix(id, "seq:")})
	if err != nil {
		return err
	}
	a.coverageNote(&answer.Envelope)
	if a.output == outJSON {
		return a.printJSON(answer)
	}
	if !a.text() {
		var changes []api.ChangeRow
		for _, in := range answer.Rows {
			changes = append(changes, in.Changes...)
		}
		return printRows(a, changes, a.changeTable(changes))
	}
	for i := range answer.Rows {
		if i > 0 {
			fmt.Fprintln(a.stdout)
		}
		if err := a.printIncident(answer.Cluster, &answer.Rows[i]); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) changeTable(changes []api.ChangeRow) *table.Table {
	t := &table.Table{Columns: historyColumns(false, true)}
	for i := range changes {
		t.Row(a.historyLine(changes[i:i+1], false, true)...)
	}
	return t
}

func (a *app) printIncident(cluster string, in *api.IncidentRow) error {
	line := func(label, format string, args ...any) {
		fmt.Fprintf(a.stdout, "%-8s  "+format+"\n", append([]any{label}, args...)...)
	}
	line("CLUSTER", "%-8s   GROUP  %s   INCIDENT  %s   KIND  %s", clusterName(cluster), cell(in.Group), in.ID, in.Kind)
	line("TIME", "%s to %s   PARTS  %d   REPLAYED  %s   SKIPPED  %s", instant(in.Time), instant(in.Until), in.Partitions,
		orUnknown(in.Replayed), orUnknown(in.Skipped))
	line("WHO", "%s", actorWords(in))
	for _, e := range in.Who.Evidence {
		line("", "%s", e)
	}
	if reason := incidentWhy(in); reason != "" {
		line("WHY", "%s", reason)
	}
	for i := range in.Annotations {
		n := &in.Annotations[i]
		line("", "said by %s at %s (seq %d): %s", cell(n.Actor), instant(n.Time), n.Seq, cell(n.Reason))
	}
	line("STORY", "%s", in.Story)
	if in.Restore != nil {
		line("PART OF", "restore %s", *in.Restore)
	}
	if b := in.PutBack; b != nil {
		line("PUT BACK", "%s at %s", putBackWords(b), instant(b.Time))
	}
	if w := in.Where; w != nil {
		line("LOOK AT", "the request log of the broker that led partition %d of __consumer_offsets at %s (%s)",
			w.SourcePartition, w.Time, whereWords(w))
	}
	if err := a.changeTable(in.Changes).Write(a.stdout); err != nil {
		return err
	}
	if seq, ok := projection.ParseIncidentID(in.ID); ok && seq > 1 {
		fmt.Fprintf(a.stdout, "before  %s\n", a.typedDescribe(in.Group, seq))
	}
	if fix := a.typedFix(in); fix != "" {
		fmt.Fprintf(a.stdout, "fix     %s\n", fix)
	}
	return nil
}

// putBackWords says which restore put an incident back, who did it, and why.
func putBackWords(b *api.PutBackRow) string {
	words := fmt.Sprintf("by restore %s of plan %s", b.Restore, b.Plan)
	if !b.Whole {
		words = "in part, " + words
	}
	if b.Actor != nil {
		words += " (" + cellOf(b.Actor) + ")"
	}
	if b.Reason != nil {
		words += ": " + cellOf(b.Reason)
	}
	return words
}

// whereWords is the position of the record that told of the act.
func whereWords(w *api.Where) string {
	text := fmt.Sprintf("offset %d", w.SourceOffset)
	if w.LeaderEpoch != nil {
		text += fmt.Sprintf(", leader epoch %d", *w.LeaderEpoch)
	}
	return text
}
