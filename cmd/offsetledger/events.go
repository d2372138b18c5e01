package main

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/cmd/internal/table"
	"github.com/offsetledger/offsetledger/ledger"
)

func (a *app) eventsCommand() *cobra.Command {
	var span spanFlags
	var topics, kinds []string
	var limit int
	var all, follow bool
	cmd := &cobra.Command{
		Use:   "events [GROUP]",
		Short: "The raw events, as they are stored",
		Long: `Show the events as they are stored, oldest first: the last 50 in a table unless --limit or
--all says otherwise, all of them in the other formats unless --limit is given. What they did
is told by offsetledger history.`,
		Example: `  offsetledger events --kind committed,deleted --since -10m
  offsetledger events billing --since seq:411 --until seq:412 -o json
  offsetledger events -f -o jsonl`,
		Args: mostArgs(1, "a group"),
		RunE: func(cmd *cobra.Command, args []string) error {
			group, err := groupOf(cmd, args)
			if err != nil {
				return err
			}
			q := api.Query{Group: group, Topics: topics, Kinds: kinds, Follow: follow}
			for _, k := range kinds {
				if _, ok := ledger.ParseKind(k); !ok {
					return usagef("--kind: %q is no kind of event; they are %s", k, strings.Join(api.KindNames(), ", "))
				}
			}
			if q.Limit, err = limitOf(cmd, limit, all); err != nil {
				return err
			}
			return a.events(cmd, q, span)
		},
	}
	f := cmd.Flags()
	span.add(cmd)
	f.StringArrayVar(&topics, "topic", nil, "only events about this topic")
	f.StringSliceVar(&kinds, "kind", nil, "only these kinds, as in committed,deleted,group,cursor")
	f.IntVar(&limit, "limit", lastEvents, "only the last so many; other formats than tables have all by default")
	f.BoolVar(&all, "all", false, "all events, also in a table")
	f.BoolVarP(&follow, "follow", "f", false, "go on with what is stored, until Ctrl-C")
	a.groupFlag(cmd)
	a.sourceFlags(cmd)
	a.outputFlag(cmd)
	return cmd
}

func (a *app) events(cmd *cobra.Command, q api.Query, span spanFlags) error {
	if err := a.ask(&q, "", span); err != nil {
		return err
	}
	src, err := a.open(cmd.Context())
	if err != nil {
		return err
	}
	defer src.close() //nolint:errcheck // nothing was written
	if q.Follow || a.output == outJSONL || a.output == outCSV || a.output == outAWK {
		return a.streamEvents(cmd.Context(), src, q)
	}
	if a.output == outJSON {
		about, err := src.CopyEvents(cmd.Context(), q, a.stdout)
		if err == nil {
			a.coverageNote(&about)
		}
		return err
	}
	answer, err := src.Events(cmd.Context(), q)
	if err != nil {
		return err
	}
	a.coverageNote(&answer.Envelope)
	t := &table.Table{Columns: eventColumns()}
	for i := range answer.Rows {
		t.Row(a.eventLine(&answer.Rows[i])...)
	}
	if t.Len() > 0 {
		if err := t.Write(a.stdout); err != nil {
			return err
		}
	}
	hint := ""
	if len(answer.Rows) < answer.Total {
		hint = "; --all, --limit, --kind"
	}
	a.note("%s  %d of %s%s", clusterName(answer.Cluster), len(answer.Rows), count(answer.Total, "event"), hint)
	return nil
}

func eventColumns() []table.Column {
	return []table.Column{
		{Name: "SEQ"}, {Name: "TIME"}, {Name: "KIND"}, {Name: "GROUP"}, {Name: "TOPIC"}, {Name: "ROWS", Right: true},
		{Name: "SOURCE"}, {Name: "CAUSE"}, {Name: "REASON"},
	}
}

func (a *app) eventLine(e *api.EventRow) []string {
	rows := ""
	if len(e.Offsets) > 0 {
		rows = strconv.Itoa(len(e.Offsets))
	}
	cause := ""
	if e.Cause != nil {
		cause = *e.Cause + inferred(e.CauseInferred)
	}
	return []string{
		strconv.FormatUint(e.Seq, 10), a.clock(e.Time, millis), e.Kind, cellOf(e.Group), cellOf(e.Topic), rows, sourceWords(&e.Source),
		cause, why(e.Reason, nil, false),
	}
}

// sourceWords says who reported an event and where it stood there: tail 12@4711 is offset
// 4711 of partition 12 of __consumer_offsets.
func sourceWords(s *api.SourceRow) string {
	switch {
	case s.Partition != nil && s.Offset != nil:
		return s.Kind + " " + number(s.Partition) + "@" + number(s.Offset)
	case s.Instance != "":
		return s.Kind + " " + s.Instance.String()
	}
	return s.Kind
}

func (a *app) streamEvents(ctx context.Context, src *source, q api.Query) error {
	stream, err := src.FollowEvents(ctx, q)
	if err != nil {
		return err
	}
	defer stream.Close()
	a.coverageNote(&stream.Envelope)
	if q.Follow {
		a.followNote(src, &stream.Envelope)
	}
	out := newRowWriter(a, eventColumns(), api.EventRow{})
	for row, err := range stream.Rows() {
		switch {
		case err != nil:
			return err
		case row == nil:
			err = out.flush()
		case out.tabular():
			out.line(a.eventLine(row))
		default:
			err = out.row(*row)
		}
		if err != nil {
			return err
		}
	}
	return a.streamEnded(out, q.Follow)
}
