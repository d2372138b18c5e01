package api

import (
	"context"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/offsetledger/offsetledger/ledger"
)

// events answers with the events as they are stored: as one JSON document, or as a stream
// of rows for whom asks for lines.
func (s *server) events(w http.ResponseWriter, r *http.Request, q Query) error {
	f, err := s.frame(r.Context(), q)
	if err != nil {
		return err
	}
	for _, k := range q.Kinds {
		if _, ok := ledger.ParseKind(k); !ok {
			return problem(CodeBadParameter, "kind: %q is no kind of event; they are %s", k, strings.Join(KindNames(), ", "))
		}
	}
	if q.Group != nil {
		if _, err := s.present(f, *q.Group); err != nil {
			return err
		}
	}
	if q.From.Within {
		return problem(CodeBadParameter, "from: %s is a row of an event, and each event is one row here; write %d", q.From, q.From.Seq)
	}
	sel, err := s.selection(r.Context(), f, q)
	if err != nil {
		return err
	}
	if wantsLines(r) || q.Follow {
		return s.streamEvents(w, r, sel, f)
	}
	answer := Events{}
	kept := newest[EventRow]{limit: q.Limit}
	for row, err := range s.stored(r.Context(), sel, f) {
		if err != nil {
			return err
		}
		answer.Total++
		kept.add(row)
	}
	answer.Rows = append([]EventRow{}, kept.get()...)
	if n := len(answer.Rows); n > 0 && n < answer.Total {
		next := strconv.FormatUint(answer.Rows[0].Seq, 10)
		answer.Next = &next
	}
	answer.Envelope = f.envelope("events", sel.since.Time, sel.until.Time)
	return writeJSON(w, r, f.tag(), answer)
}

// stored yields the events that are stored now and were asked for.
func (s *server) stored(ctx context.Context, sel *selection, f *frame) iter.Seq2[EventRow, error] {
	from := max(sel.since.Seq, sel.q.From.first(), 1)
	if from > f.seq {
		return func(func(EventRow, error) bool) {}
	}
	return sel.rows(s.Log.Read(ctx, from, f.seq, sel.filter(f.cluster)))
}

// filter selects the subjects that can hold what was asked for.
func (sel *selection) filter(cluster string) ledger.Filter {
	root := strings.TrimSuffix(ledger.ClusterSubjects(cluster), ">")
	var out ledger.Filter
	if sel.q.Group != nil {
		out.Subjects = append(out.Subjects, ledger.GroupSubjects(cluster, *sel.q.Group))
	}
	for _, t := range sel.q.Topics {
		out.Subjects = append(out.Subjects, root+"t."+ledger.Token(t)+".>")
	}
	if len(out.Subjects) == 0 {
		out.Subjects = []string{root + ">"}
	}
	return out
}

func (sel *selection) rows(records iter.Seq2[ledger.Record, error]) iter.Seq2[EventRow, error] {
	return func(yield func(EventRow, error) bool) {
		for rec, err := range records {
			if err != nil {
				yield(EventRow{}, err)
				return
			}
			if !sel.wantsEvent(&rec) {
				continue
			}
			row, err := eventRow(&rec)
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

func (sel *selection) wantsEvent(rec *ledger.Record) bool {
	if len(sel.q.Kinds) > 0 && !slices.Contains(sel.q.Kinds, rec.Event.Kind.String()) {
		return false
	}
	return (sel.before == 0 || rec.Seq < sel.before) && sel.inTime(rec.Seq, rec.Event.Time)
}

// streamEvents writes events as they are found, and goes on with what comes if q says so.
func (s *server) streamEvents(w http.ResponseWriter, r *http.Request, sel *selection, f *frame) error {
	out, err := s.lines(w, r, f.envelope("events", sel.since.Time, sel.until.Time))
	if err != nil {
		return err
	}
	defer out.close()
	kept := newest[EventRow]{limit: sel.q.Limit}
	for row, err := range s.stored(r.Context(), sel, f) {
		switch {
		case err != nil:
			return out.fail(err)
		case sel.q.Limit != nil:
			kept.add(row)
		default:
			out.write(&row)
		}
		if out.broken() {
			return nil
		}
	}
	for _, row := range kept.get() {
		out.write(&row)
	}
	out.upToDate()
	if !sel.q.Follow {
		return nil
	}
	for row, err := range sel.rows(s.Log.Follow(r.Context(), f.seq+1, sel.filter(f.cluster))) {
		if err != nil {
			return out.fail(err)
		}
		out.write(&row)
		if out.upToDate(); out.broken() {
			return nil
		}
	}
	return nil
}
