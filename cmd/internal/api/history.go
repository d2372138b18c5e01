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
	answer := History{Rows: []ChangeRow{}}
	kept, err := s.narrator(sel, f.cluster).collect(r.Context(), f.seq, &answer)
	if err != nil {
		return err
	}
	for _, e := range kept {
		answer.Rows = append(answer.Rows, e.rows...)
	}
	answer.Events = len(kept)
	if q.Around == 0 && len(kept) > 0 && answer.TotalEvents > len(kept) {
		next := strconv.FormatUint(kept[0].seq, 10)
		answer.Next = &next
	}
	if q.Group != nil && len(answer.Rows) == 0 {
		answer.SameTopics = s.sameTopics(f.cluster, *q.Group)
	}
	answer.Envelope = f.envelope("history", sel.since.Time, sel.until.Time)
	return writeJSON(w, r, f.tag(), answer)
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
	for name, seq := range map[string]uint64{paramAround: q.Around, paramFrom: q.From.Seq} {
		if seq > f.seq {
			return nil, problem(CodeUnknownSequence, "%s: the ledger ends at seq:%d", name, f.seq)
		}
	}
	if q.Next != "" {
		if sel.before, err = strconv.ParseUint(q.Next, 10, 64); err != nil {
			return nil, problem(CodeBadParameter, "next: %q does not come from an answer of this route", q.Next)
		}
	}
	return sel, nil
}

// collect keeps the last events that a query asks for, and counts all.
func (n *narrator) collect(ctx context.Context, to uint64, answer *History) ([]event, error) {
	kept := n.sel.keeper()
	for e, err := range n.stored(ctx, to) {
		if err != nil {
			return nil, err
		}
		answer.Commits += e.commits
		if len(e.rows) > 0 {
			answer.TotalEvents++
			kept.add(e)
		}
	}
	return kept.get(), nil
}

// keeper holds on to the events that an answer shows.
type keeper interface {
	add(event)
	get() []event
}

func (sel *selection) keeper() keeper {
	if sel.q.Around == 0 {
		return &newest[event]{limit: sel.q.Limit}
	}
	limit := defaultAround
	if sel.q.Limit != nil {
		limit = *sel.q.Limit
	}
	before := limit / 2
	return &beside{seq: sel.q.Around, before: newest[event]{limit: &before}, room: limit - before}
}

// defaultAround is how many events are next to a sequence if nobody says more.
const defaultAround = 50

// beside keeps the events next to a sequence: the last ones before it, and the first ones
// from it on.
type beside struct {
	seq    uint64
	before newest[event]
	after  []event
	room   int // for after
}

func (n *beside) add(e event) {
	switch {
	case e.seq < n.seq:
		n.before.add(e)
	case len(n.after) < n.room:
		n.after = append(n.after, e)
	}
}

func (n *beside) get() []event { return append(n.before.get(), n.after...) }

// newest keeps the last of many things; all if limit is nil.
type newest[T any] struct {
	limit *int
	kept  []T
}

func (n *newest[T]) add(v T) {
	if n.limit != nil && len(n.kept) >= 2*max(*n.limit, 1) {
		n.kept = append(n.kept[:0], n.get()...)
	}
	n.kept = append(n.kept, v)
}

func (n *newest[T]) get() []T {
	if n.limit == nil || len(n.kept) <= *n.limit {
		return n.kept
	}
	return n.kept[len(n.kept)-*n.limit:]
}

// streamHistory writes rows as they are found, and goes on with what comes if q says so.
func (s *server) streamHistory(w http.ResponseWriter, r *http.Request, sel *selection, f *frame) error {
	n := s.narrator(sel, f.cluster)
	out, err := s.lines(w, r, f.envelope("history", sel.since.Time, sel.until.Time))
	if err != nil {
		return err
	}
	defer out.close()
	if sel.q.Limit != nil || sel.q.Around != 0 {
		kept, err := n.collect(r.Context(), f.seq, &History{})
		if err != nil {
			return out.fail(err)
		}
		for _, e := range kept {
			writeAll(out, e.rows)
		}
	} else {
		for e, err := range n.stored(r.Context(), f.seq) {
			if err != nil {
				return out.fail(err)
			}
			if writeAll(out, e.rows); out.broken() {
				return nil
			}
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
		if len(e.rows) == 0 {
			continue
		}
		writeAll(out, e.rows)
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
