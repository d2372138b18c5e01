package api

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/offsetledger/offsetledger/projection"
)

// history answers with what happened: as one JSON document, or as a stream of rows for whom
// asks for lines.
func (s *server) history(w http.ResponseWriter, r *http.Request, q Query) error {
	f, err := s.frame(r.Context(), q)
	if err != nil {
		return err
	}
	if q.Group != nil {
		if _, err := s.present(f, *q.Group); err != nil {
			return err
		}
	}
	sel, err := s.selection(r.Context(), f, q)
	if err != nil {
		return err
	}
	if wantsLines(r) || q.Follow {
		return s.streamHistory(w, r, sel, f)
	}
	answer := History{Envelope: f.envelope("history", sel.since.Time, sel.until.Time), Rows: []ChangeRow{}}
	doc, err := s.document(w, r, answer)
	if err != nil {
		return err
	}
	n := s.narrator(sel, f.cluster)
	for e, err := range s.story(r.Context(), n, f, &answer) {
		if err != nil {
			return doc.fail(err)
		}
		if answer.Events++; answer.Events == 1 {
			before := strconv.FormatUint(e.seq, 10)
			answer.Next = &before
		}
		rows, err := n.rows(r.Context(), &e)
		if err != nil {
			return doc.fail(err)
		}
		for i := range rows {
			if err := doc.row(&rows[i]); err != nil {
				return err
			}
		}
	}
	if q.Around != 0 || answer.Events == answer.TotalEvents {
		answer.Next = nil
	}
	if q.Group != nil && answer.Events == 0 {
		answer.SameTopics = s.sameTopics(f.cluster, *q.Group)
	}
	return doc.end(answer)
}

// selection reads what part of the story a query asks for.
func (s *server) selection(ctx context.Context, f *frame, q Query) (*selection, error) {
	sel := &selection{q: q}
	if err := s.knownTopics(f, q.Topics); err != nil {
		return nil, err
	}
	var err error
	if sel.since, err = s.resolve(ctx, f, paramSince, q.Since, q.Group); err != nil {
		return nil, err
	}
	if sel.until, err = s.resolve(ctx, f, paramUntil, q.Until, q.Group); err != nil {
		return nil, err
	}
	if sel.since.Time.Known() && sel.until.Time.Known() && sel.until.Time.Before(sel.since.Time) ||
		sel.until.Seq != 0 && sel.until.Seq < sel.since.Seq {
		return nil, problem(CodeBadParameter, "since (%s) lies after until (%s)", sel.since, sel.until)
	}
	if q.Around != 0 && (q.Follow || q.Next != "" || q.From != (Position{})) {
		return nil, problem(CodeBadParameter, "around: it goes with neither follow, from nor next")
	}
	if q.Follow && q.Until != "" {
		return nil, problem(CodeBadParameter, "follow: it does not go with until, which lies in the past, so that nothing would come")
	}
	switch beyond := "%s: the ledger ends at seq:%d"; {
	case q.Around > f.seq:
		return nil, problem(CodeUnknownSequence, beyond, paramAround, f.seq)
	case q.From.Seq > f.seq:
		return nil, problem(CodeUnknownSequence, beyond, paramFrom, f.seq)
	}
	if q.Next != "" {
		if sel.before, err = strconv.ParseUint(q.Next, 10, 64); err != nil {
			return nil, problem(CodeBadParameter, "next: %q does not come from an answer of this route", q.Next)
		}
	}
	return sel, nil
}

// streamHistory writes rows as they are found, and goes on with what comes if q says so.
func (s *server) streamHistory(w http.ResponseWriter, r *http.Request, sel *selection, f *frame) error {
	n := s.narrator(sel, f.cluster)
	out, err := s.lines(w, r, f.envelope("history", sel.since.Time, sel.until.Time))
	if out == nil {
		return err
	}
	defer out.close()
	for e, err := range s.story(r.Context(), n, f, &History{}) {
		if err != nil {
			return out.fail(err)
		}
		rows, err := n.rows(r.Context(), &e)
		if err != nil {
			return out.fail(err)
		}
		if writeAll(out, rows); out.broken() {
			return nil
		}
	}
	out.upToDate()
	if !sel.q.Follow {
		return nil
	}
	for e, err := range n.live(r.Context(), f.seq+1) {
		if err != nil {
			return out.fail(err)
		}
		if e.size() == 0 {
			continue
		}
		rows, err := n.rows(r.Context(), &e)
		if err != nil {
			return out.fail(err)
		}
		writeAll(out, rows)
		if out.upToDate(); out.broken() {
			return nil
		}
	}
	return nil
}

func wantsLines(r *http.Request) bool {
	for _, accept := range r.Header.Values("Accept") {
		if strings.Contains(accept, typeLines) {
			return true
		}
	}
	return false
}

// sameTopics are the other groups that commit to a topic of this one.
func (s *server) sameTopics(cluster, group string) []Text {
	var others []Text
	s.View.Read(func(st *projection.State) {
		g, _ := st.Group(cluster, group)
		for _, other := range st.Groups(cluster) {
			shares := slices.ContainsFunc(other.Topics, func(t string) bool { return slices.Contains(g.Topics, t) })
			if other.Name != group && shares {
				others = append(others, Text(other.Name))
			}
		}
	})
	return others
}
