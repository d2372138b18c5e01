package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
)

func (a *app) incidentAnnotateCommand() *cobra.Command {
	var actor, reason string
	cmd := &cobra.Command{
		Use:   "annotate ID",
		Short: "Say afterwards why an incident was",
		Long: `Record a reason for an incident that was given none, as for a reset that somebody did with
another tool. It is an event of its own: what was recorded of the incident stays as it is. Who
says so is as claimed, and shown beside the reason. Said again, the newest counts, and incidents
show has them all.`,
		Example: `  offsetledger incidents annotate i184231 --reason "the deploy of 02:46"`,
		Args:    oneArg("the id of an incident", "i184231"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(reason) == "" {
				return usagef("say why with --reason: it is what is recorded")
			}
			src, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			defer src.close() //nolint:errcheck // what was stored is acknowledged
			answer, err := src.Annotate(cmd.Context(), api.AnnotateRequest{
				Cluster: api.Text(a.cluster), ID: strings.TrimPrefix(args[0], "seq:"), Actor: api.Text(a.actorOf(actor)), Reason: api.Text(reason),
			})
			if err != nil {
				return applyExit(err)
			}
			if !a.text() {
				return a.printIncidents(&answer)
			}
			for i := range answer.Rows {
				in := &answer.Rows[i]
				fmt.Fprintf(a.stdout, "%s %s of %s: %s\n", in.ID, in.Kind, cell(in.Group), incidentWhy(in))
			}
			return nil
		},
	}
	a.actorFlag(cmd, &actor)
	cmd.Flags().StringVar(&reason, "reason", "", "why; it is recorded")
	a.sourceFlags(cmd)
	a.outputFlag(cmd)
	return cmd
}

// incidentWhy is why an incident was, and who said so if that was said afterwards.
func incidentWhy(in *api.IncidentRow) string {
	words := why(in.Reason, in.Cause, in.CauseInferred)
	if n := len(in.Annotations); n > 0 && in.Reason != nil && *in.Reason == in.Annotations[n-1].Reason {
		words += " (" + cell(in.Annotations[n-1].Actor) + ")"
	}
	return words
}

// incidentFate is why an incident was, and what put it back.
func incidentFate(in *api.IncidentRow) string {
	words := incidentWhy(in)
	if in.PutBack == nil {
		return words
	}
	back := "put back by " + in.PutBack.Restore
	if !in.PutBack.Whole {
		back = "partly " + back
	}
	return strings.TrimPrefix(words+", "+back, ", ")
}
