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
	answer := Events{Envelope: f.envelope("events", sel.since.Time, sel.until.Time), Rows: []EventRow{}}
	doc, err := s.document(w, r, answer)
	if err != nil {
		return err
	}
	shown := 0
	for rec, err := range s.shown(r.Context(), sel, f, &answer.Total) {
		if err != nil {
			return doc.fail(err)
		}
		row, err := eventRow(&rec)
		if err != nil {
			return doc.fail(err)
		}
		if err := doc.row(row); err != nil {
			return err
		}
		if shown++; shown == 1 {
			before := strconv.FormatUint(rec.Seq, 10)
			answer.Next = &before
		}
	}
	if shown == answer.Total {
		answer.Next = nil
	}
	return doc.end(answer)
}

// shown yields the events that an answer shows, of those that are stored now and were asked
// for, and has counted all of these in total when it ends.
func (s *server) shown(ctx context.Context, sel *selection, f *frame, total *int) iter.Seq2[ledger.Record, error] {
	first := max(sel.since.Seq, sel.q.From.first())
	found := s.found(ctx, sel, f, first)
	limit := sel.q.Limit
	return func(yield func(ledger.Record, error) bool) {
		if limit != nil && uint64(*limit) < f.seq {
			var newest []uint64 // sequences
			for rec, err := range found {
				if err != nil {
					yield(ledger.Record{}, err)
					return
				}
				*total++
				if newest = append(newest, rec.Seq); len(newest) > 2**limit {
					newest = append(newest[:0], newest[len(newest)-*limit:]...)
				}
			}
			newest = newest[max(0, len(newest)-*limit):]
			if len(newest) == 0 {
				return
			}
			found, total = s.found(ctx, sel, f, newest[0]), new(int)
		}
		for rec, err := range found {
			*total++
			if !yield(rec, err) || err != nil {
				return
			}
		}
	}
}

// found yields the events from a sequence on that are stored now and were asked for.
func (s *server) found(ctx context.Context, sel *selection, f *frame, from uint64) iter.Seq2[ledger.Record, error] {
	if from > f.seq {
		return func(func(ledger.Record, error) bool) {}
	}
	return sel.events(s.Log.Read(ctx, from, f.seq, sel.filter(f.cluster)))
}

// filter selects the subjects that can hold what was asked for.
func (sel *selection) filter(cluster string) ledger.Filter {
	var out ledger.Filter
	if sel.q.Group != nil {
		out.Subjects = append(out.Subjects, ledger.GroupSubjects(cluster, *sel.q.Group))
	}
	for _, t := range sel.q.Topics {
		out.Subjects = append(out.Subjects, ledger.OneTopicSubjects(cluster, t))
	}
	if len(out.Subjects) == 0 {
		out.Subjects = []string{ledger.ClusterSubjects(cluster)}
	}
	return out
}

// events leaves of the records those that were asked for.
func (sel *selection) events(records iter.Seq2[ledger.Record, error]) iter.Seq2[ledger.Record, error] {
	return func(yield func(ledger.Record, error) bool) {
		for rec, err := range records {
			if err == nil && !sel.wantsEvent(&rec) {
				continue
			}
			if !yield(rec, err) || err != nil {
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
	if out == nil {
		return err
	}
	defer out.close()
	send := func(rec *ledger.Record, err error) error {
		if err == nil {
			var row EventRow
			if row, err = eventRow(rec); err == nil {
				out.write(&row)
			}
		}
		return err
	}
	for rec, err := range s.shown(r.Context(), sel, f, new(int)) {
		if err := send(&rec, err); err != nil {
			return out.fail(err)
		}
		if out.broken() {
			return nil
		}
	}
	out.upToDate()
	if !sel.q.Follow {
		return nil
	}
	for rec, err := range sel.events(s.Log.Follow(r.Context(), f.seq+1, sel.filter(f.cluster))) {
		if err := send(&rec, err); err != nil {
			return out.fail(err)
		}
		if out.upToDate(); out.broken() {
			return nil
		}
	}
	return nil
}
