package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/replay"
)

// diff answers with what moved between two moments, one row a group.
func (s *server) diff(w http.ResponseWriter, r *http.Request, q Query) error {
	if q.FromPoint == "" {
		return problem(CodeBadParameter, "from: say since when, as in from=-2h; to is now unless it is given")
	}
	if len(q.Groups) == 1 {
		q.Group = &q.Groups[0]
	}
	to, err := s.frame(r.Context(), q)
	if err != nil {
		return err
	}
	for _, group := range q.Groups {
		if _, err := s.present(to, group); err != nil {
			return err
		}
	}
	from, err := s.span(r.Context(), to, q)
	if err != nil {
		return err
	}
	sc := scope(to.cluster, q.Group)
	found, err := s.Snapshots.DiffBetween(r.Context(), s.Log, from.point, to.point, sc, q.PerPartition)
	if err != nil {
		return err
	}
	if to.point.Time.Known() {
		to.seq = found.To.LastSeq(to.cluster, q.Group)
	}
	to.sure = found.To.Sure(to.cluster, q.Group, to.asked())
	answer := Diff{Envelope: to.envelope("diff", from.asOf, to.asOf), FromSeq: found.From.LastSeq(to.cluster, q.Group), Rows: []DiffRow{}}
	answer.add(found.Groups, q, from.beforeHistory())
	return s.writeJSON(w, r, answer)
}

// span settles the two moments of a query: what to says of the later one, and what the frame that
// it returns says of the earlier. Now is a sequence, so that all of an answer is of one moment.
func (s *server) span(ctx context.Context, to *frame, q Query) (*frame, error) {
	from := *to
	if err := s.settle(ctx, &from, paramFrom, q.FromPoint, q.Group); err != nil {
		return nil, err
	}
	if from.point.IsNow() {
		return nil, problem(CodeBadParameter, "from: nothing has happened since now")
	}
	if err := s.settle(ctx, to, paramTo, q.To, q.Group); err != nil {
		return nil, err
	}
	if to.point.IsNow() {
		to.point.Seq, to.pinned = to.seq, true
	}
	a, b := from.point, to.point
	if a.Seq > 0 && b.Seq > 0 && a.Seq > b.Seq || (a.Seq == 0 || b.Seq == 0) && to.asOf.Before(from.asOf) {
		return nil, problem(CodeBadParameter, "from (%s) lies after to (%s)", a, b)
	}
	return &from, nil
}

// beforeHistory reports whether of the moment asked for only what compaction had left is known.
func (f *frame) beforeHistory() bool {
	return f.point.Time.Known() && f.point.Time.Before(f.cover.Began)
}

// add makes rows of the groups that a query asks for.
func (a *Diff) add(groups []replay.GroupDiff, q Query, blind bool) {
	for i := range groups {
		d := &groups[i]
		if len(q.Groups) > 0 && !slices.Contains(q.Groups, d.Group) {
			continue
		}
		if d.Partitions == 0 && d.Events == 0 {
			continue // it is a group without offsets, then as now
		}
		a.Groups++
		if !d.Moved() {
			continue
		}
		a.Moved++
		if !d.Notable() && !d.New() {
			a.Advanced++
		}
		if wanted := d.Movements(); len(q.Movements) > 0 &&
			!slices.ContainsFunc(wanted, func(m projection.Movement) bool { return slices.Contains(q.Movements, m) }) {
			continue
		}
		a.Rows = append(a.Rows, diffRow(d, blind))
	}
}

func diffRow(d *replay.GroupDiff, blind bool) DiffRow {
	row := DiffRow{
		Group: Text(d.Group), Partitions: d.Partitions, Advanced: d.Advanced, Replayed: d.Replayed, Skipped: d.Skipped,
		Uncounted: d.Uncounted, Appeared: &d.Appeared, Gone: d.Gone, LagFrom: known(d.LagFrom.Get()), LagTo: known(d.LagTo.Get()),
		LagDelta: known(d.LagDelta()), Events: d.Events, UnknownFrom: d.LagFrom.Unknown, UnknownTo: d.LagTo.Unknown,
		Movements: movementWords(&d.Moves), Incidents: []string{}, Note: diffNote(d, blind),
	}
	if blind {
		row.Appeared = nil
	}
	for i := range d.Incidents {
		if id := d.Incidents[i].ID(); !slices.Contains(row.Incidents, id) {
			row.Incidents = append(row.Incidents, id)
		}
	}
	for i := range d.Rows {
		row.PartitionRows = append(row.PartitionRows, diffPartition(&d.Rows[i]))
	}
	return row
}

func diffPartition(p *replay.PartitionDiff) DiffPartition {
	row := DiffPartition{
		Topic: Text(p.Topic), Partition: p.Partition, From: offset(p.From), To: offset(p.To), Advanced: p.Advanced, Replayed: p.Replayed,
		Skipped: p.Skipped, Uncounted: p.Uncounted, LagFrom: known(p.LagFrom.Records, p.LagFrom.Known),
		LagTo: known(p.LagTo.Records, p.LagTo.Known), Movements: movementWords(&p.Moves),
	}
	row.LagDelta = known(p.LagTo.Records-p.LagFrom.Records, p.LagFrom.Known && p.LagTo.Known)
	return row
}

func known(n int64, ok bool) *int64 {
	if !ok {
		return nil
	}
	return &n
}

func movementWords(m *replay.Moves) []string {
	out := []string{}
	for _, k := range m.Movements() {
		out = append(out, k.String())
	}
	return out
}

// mostNoted is how many incidents a note names.
const mostNoted = 3

// diffNote says what became of a group beside reading, and names the incidents.
func diffNote(d *replay.GroupDiff, blind bool) string {
	var parts []string
	for i := range d.Incidents {
		in := &d.Incidents[i]
		if len(parts) == mostNoted {
			parts = append(parts, fmt.Sprintf("and %d more", len(d.Incidents)-i))
			break
		}
		text := in.Kind.String() + " " + in.ID()
		if in.Cause != ledger.CauseUnknown && in.CauseInferred {
			text += " (inferred)"
		}
		parts = append(parts, text)
	}
	note := strings.Join(parts, ", ")
	switch {
	case d.Gone == d.Partitions && d.Gone > 0:
		return strings.TrimSuffix("gone: "+note, ": ")
	case d.Gone > 0:
		return strings.TrimSuffix(fmt.Sprintf("%d gone: %s", d.Gone, note), ": ")
	case d.New() && !blind && note == "":
		return "new"
	}
	return note
}
