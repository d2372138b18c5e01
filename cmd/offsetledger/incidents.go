package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/cmd/internal/table"
	"github.com/offsetledger/offsetledger/projection"
)

func (a *app) incidentsCommand() *cobra.Command {
	var span spanFlags
	var kinds []string
	var reasonless bool
	var limit int
	cmd := &cobra.Command{
		Use:   "incidents [GROUP]",
		Short: "What went wrong, or was done on purpose",
		Long: `List acts that somebody may have to look at, newest first: offsets that were moved back, far
forward or by a command, that went away, that the broker lost. All partitions that one act
moved are one line.`,
		Example: `  offsetledger incidents --since 2h
  offsetledger incidents --group billing --kind rewind,jump
  offsetledger incidents show i184231
  offsetledger incidents annotate i184231 --reason "the deploy of 02:46"`,
		Args: mostArgs(1, "a group"),
		RunE: func(cmd *cobra.Command, args []string) error {
			group, err := groupOf(cmd, args)
			if err != nil {
				return err
			}
			q := api.Query{Group: group, Kinds: kinds, Reasonless: reasonless}
			if cmd.Flags().Changed("limit") {
				if limit < 1 {
					return usagef("--limit %d would show nothing of what there is; leave it out for all", limit)
				}
				q.Limit = &limit
			}
			for _, kind := range kinds {
				if err := oneOf("kind", kind, api.IncidentKinds()...); err != nil {
					return err
				}
			}
			return a.incidents(cmd, q, span)
		},
	}
	f := cmd.Flags()
	span.add(cmd)
	f.StringSliceVar(&kinds, "kind", nil, "only these kinds, as in rewind,jump,reset,deleted,expired")
	f.BoolVar(&reasonless, "without-reason", false, "only those that nobody gave a reason for")
	f.IntVar(&limit, "limit", 0, "only the newest so many")
	a.groupFlag(cmd)
	a.sourceFlags(cmd)
	a.outputFlag(cmd)
	cmd.AddCommand(a.incidentShowCommand(), a.incidentAnnotateCommand())
	return cmd
}

func (a *app) incidents(cmd *cobra.Command, q api.Query, span spanFlags) error {
	if err := a.ask(&q, "", span); err != nil {
		return err
	}
	src, err := a.open(cmd.Context())
	if err != nil {
		return err
	}
	defer src.close() //nolint:errcheck // nothing was written
	answer, err := src.Incidents(cmd.Context(), q)
	if err != nil {
		return err
	}
	a.coverageNote(&answer.Envelope)
	if !a.text() {
		return a.printIncidents(&answer)
	}
	if len(answer.Rows) == 0 {
		return a.noIncident(cmd, src, q)
	}
	a.incidentHeader(&answer.Envelope)
	if err := a.incidentTable(answer.Rows).Write(a.stdout); err != nil {
		return err
	}
	newest := &answer.Rows[0]
	fmt.Fprintln(a.stdout, newest.Story)
	fmt.Fprintf(a.stdout, "more  %s\n", a.typed("incidents", "show", newest.ID))
	if seq, ok := projection.ParseIncidentID(newest.ID); ok && seq > 1 {
		fmt.Fprintf(a.stdout, "was   %s\n", a.typedDescribe(newest.Group, seq))
	}
	if fix := a.typedFix(newest); fix != "" {
		fmt.Fprintf(a.stdout, "fix   %s\n", fix)
	}
	if len(answer.Rows) < answer.Total {
		a.note("%s  %d of %s; --limit", clusterName(answer.Cluster), len(answer.Rows), count(answer.Total, "incident"))
	}
	return nil
}

// printIncidents writes incidents for programs.
func (a *app) printIncidents(answer *api.Incidents) error {
	if a.output == outJSON {
		return a.printJSON(answer)
	}
	return printRows(a, answer.Rows, a.incidentTable(answer.Rows))
}

func (a *app) incidentHeader(e *api.Envelope) {
	c := &e.Coverage
	behind := ""
	if c.BehindSeconds != nil {
		behind = fmt.Sprintf(", %.1f s behind", *c.BehindSeconds)
	}
	fmt.Fprintf(a.stdout, "%s  %s to %s  %s (%s%s)\n", clusterName(e.Cluster), a.clock(c.From, seconds), a.clock(c.To, seconds),
		a.completeness(c), c.Source, behind)
}

func (a *app) incidentTable(rows []api.IncidentRow) *table.Table {
	t := &table.Table{Columns: []table.Column{
		{Name: "ID"}, {Name: "TIME"}, {Name: "GROUP"}, {Name: "KIND"}, {Name: "PARTS", Right: true},
		{Name: "REPLAYED", Right: true}, {Name: "SKIPPED", Right: true}, {Name: "WHO"}, {Name: "WHY"},
	}}
	for i := range rows {
		in := &rows[i]
		t.Row(in.ID, a.clock(in.Time, seconds), cell(in.Group), in.Kind, strconv.Itoa(in.Partitions), orUnknown(in.Replayed),
			orUnknown(in.Skipped), actorWords(in), incidentFate(in))
	}
	return t
}

// typedFix offers to put an incident back, or to undo the restore that it came of; empty if that has
// been done, or cannot be.
func (a *app) typedFix(in *api.IncidentRow) string {
	switch {
	case in.PutBack != nil && in.PutBack.Whole, in.Kind == projection.MovementRecreated.String():
		return ""
	case in.Restore != nil:
		return a.typed("restore", "undo", *in.Restore)
	}
	return a.typed("restore", "plan", "--incident", in.ID)
}

func orUnknown(n *int64) string {
	if n == nil {
		return "?"
	}
	return strconv.FormatInt(*n, 10)
}

// actorWords says who did an act.
func actorWords(in *api.IncidentRow) string {
	switch {
	case in.Actor != nil:
		return in.Actor.String()
	case in.Who.Kind == "no-member" && in.Who.Bare:
		return "admin tool" + inferred(in.Who.Inferred)
	}
	return whoWords(&in.Who)
}

// noIncident says that nothing went wrong, and what else could have.
func (a *app) noIncident(cmd *cobra.Command, src *source, q api.Query) error {
	none := 0
	h, err := src.History(cmd.Context(), api.Query{Cluster: q.Cluster, Group: q.Group, Since: q.Since, Until: q.Until, Limit: &none})
	if err != nil {
		return err
	}
	what := "no incident"
	if len(q.Kinds) > 0 {
		what = "no " + strings.Join(q.Kinds, " or ")
	} else if q.Group != nil {
		what = "no movement back"
	}
	a.note("%s", a.emptyWords(what, &h, q))
	return nil
}
