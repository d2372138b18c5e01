package main

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/cmd/internal/table"
)

func historyColumns(group, perRow bool) []table.Column {
	names := []string{"SEQ", "TIME", "MOVEMENT"}
	if group {
		names = append(names, "GROUP")
	}
	names = append(names, "TOPIC")
	if perRow {
		names = append(names, "PARTITION", "FROM", "TO")
	} else {
		names = append(names, "PARTS")
	}
	columns := []table.Column{}
	for _, name := range append(names, "BY", "WHO", "WHY") {
		columns = append(columns, table.Column{Name: name})
	}
	return columns
}

// byEvent cuts rows into those of one line: of one event, or of one partition.
func byEvent(rows []api.ChangeRow, perRow bool) [][]api.ChangeRow {
	var out [][]api.ChangeRow
	for i := 0; i < len(rows); {
		n := i + 1
		for !perRow && n < len(rows) && rows[n].Seq == rows[i].Seq {
			n++
		}
		out = append(out, rows[i:n])
		i = n
	}
	return out
}

// historyLine is the line of a few rows of one event.
func (a *app) historyLine(rows []api.ChangeRow, group, perRow bool) []string {
	first := mostNotable(rows)
	cells := []string{strconv.FormatUint(first.Seq, 10), a.clock(first.Time, millis), movements(rows)}
	if group {
		cells = append(cells, cell(first.Group))
	}
	cells = append(cells, topics(rows))
	switch {
	case perRow:
		cells = append(cells, number(first.Partition), number(first.From), number(first.To))
	case first.Partition == nil:
		cells = append(cells, "")
	default:
		cells = append(cells, strconv.Itoa(len(rows)))
	}
	who := whoWords(&first.Who)
	switch {
	case first.Note != "":
		who = first.Note
	case first.Actor != nil:
		who = first.Actor.String()
	}
	return append(cells, moved(rows), who, why(first.Reason, first.Cause, first.CauseInferred))
}

// mostNotable is the row that speaks for its event.
func mostNotable(rows []api.ChangeRow) *api.ChangeRow {
	if i := slices.IndexFunc(rows, func(r api.ChangeRow) bool { return notable(r.Movement) }); i >= 0 {
		return &rows[i]
	}
	return &rows[0]
}

// movements names what the rows did, the notable ones first.
func movements(rows []api.ChangeRow) string {
	var names []string
	for _, r := range rows {
		if !slices.Contains(names, r.Movement) {
			names = append(names, r.Movement)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int {
		switch {
		case notable(a) && !notable(b):
			return -1
		case notable(b) && !notable(a):
			return 1
		}
		return 0
	})
	return strings.Join(names, ",")
}

// topics names the topic of the rows, and how many there are beside it.
func topics(rows []api.ChangeRow) string {
	var names []string
	for _, r := range rows {
		if name := cellOf(r.Topic); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) > 1 {
		return names[0] + "+" + strconv.Itoa(len(names)-1)
	}
	return strings.Join(names, "")
}

// moved is by how much the rows moved together, "" if that is not known of any.
func moved(rows []api.ChangeRow) string {
	sum, known := int64(0), false
	for _, r := range rows {
		if r.From != nil && r.To != nil {
			sum += *r.To - *r.From
			known = true
		}
	}
	if !known {
		return ""
	}
	return signed(sum)
}

// streamHistory writes rows as they come: all that are stored, and then what happens.
func (a *app) streamHistory(ctx context.Context, src *source, q api.Query, perRow bool) error {
	stream, err := src.FollowHistory(ctx, q)
	if err != nil {
		return err
	}
	defer stream.Close()
	a.coverageNote(&stream.Envelope)
	if q.Follow {
		a.followNote(src, &stream.Envelope)
	}
	out := newRowWriter(a, historyColumns(q.Group == nil, perRow), api.ChangeRow{})
	var event []api.ChangeRow
	line := func() {
		for _, rows := range byEvent(event, perRow) {
			out.line(a.historyLine(rows, q.Group == nil, perRow))
		}
		event = event[:0]
	}
	for row, err := range stream.Rows() {
		switch {
		case err != nil:
			return err
		case row == nil:
			line()
			err = out.flush()
		case !out.tabular():
			err = out.row(*row)
		default:
			if len(event) > 0 && event[0].Seq != row.Seq {
				line()
			}
			event = append(event, *row)
		}
		if err != nil {
			return err
		}
	}
	line()
	return a.streamEnded(out, q.Follow)
}
