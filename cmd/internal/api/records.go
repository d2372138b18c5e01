package api

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/replay"
)

// RecordsRequest is the body of POST /api/v1/records/read: the stored events under some subjects.
type RecordsRequest struct {
	Subjects []string `json:"subjects"`
	From     uint64   `json:"from,omitempty"`
	To       uint64   `json:"to,omitempty"` // 0: the last
	// OnlyLast asks for the sequence of the last event alone.
	OnlyLast bool `json:"only_last,omitempty"`
}

// Records answers POST /api/v1/records/read.
type Records struct {
	Last uint64      `json:"last"` // sequence of the last event under the first subject; 0 is none
	Rows []RecordRow `json:"rows"`
}

// RecordRow is an event as it is stored: see docs/event.proto.
type RecordRow struct {
	Seq      uint64 `json:"seq"`
	Appended Time   `json:"appended"`
	Event    []byte `json:"event"`
}

// AppendRequest is the body of POST /api/v1/records/append: events of a restore that somebody
// else than this handler carries out.
type AppendRequest struct {
	Events  [][]byte      `json:"events"`
	Expects []Expectation `json:"expects,omitempty"`
}

// Expectation is a condition of an append; see [ledger.Expect].
type Expectation struct {
	Filter string `json:"filter"`
	Seq    uint64 `json:"seq"`
}

// Appended answers POST /api/v1/records/append: the events have these sequences.
type Appended struct {
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
}

// mostRecords is how many records one answer holds.
const mostRecords = 100_000

func (s *server) readRecords(w http.ResponseWriter, r *http.Request, body []byte) error {
	var req RecordsRequest
	if s.Writes == nil {
		return problem(CodeReadOnly, "nothing can be written through this ledger")
	}
	if err := decodeStrictly(body, &req); err != nil {
		return err
	}
	switch {
	case len(req.Subjects) == 0:
		return problem(CodeBadParameter, "subjects: there is none")
	case slices.ContainsFunc(req.Subjects, func(s string) bool { return s == "" || strings.ContainsAny(s, " \t\r\n") }):
		return problem(CodeBadParameter, "subjects: a subject is not empty and has no blanks")
	case req.To != 0 && max(req.From, 1) > req.To:
		return problem(CodeBadParameter, "from: %d is behind to: %d", req.From, req.To)
	}
	answer := Records{Rows: []RecordRow{}}
	var err error
	if answer.Last, err = s.Writes.Log.LastOf(r.Context(), req.Subjects[0]); err != nil {
		return err
	}
	last, err := s.Log.Last(r.Context())
	if err != nil {
		return err
	}
	if req.OnlyLast || req.From > last {
		return s.writeJSON(w, r, answer)
	}
	for rec, err := range s.Writes.Log.Read(r.Context(), max(req.From, 1), req.To, ledger.Filter{Subjects: req.Subjects}) {
		if err != nil {
			return err
		}
		b, err := rec.Event.AppendBinary(nil)
		if err != nil {
			return err
		}
		if len(answer.Rows) == mostRecords {
			return problem(CodeTooLarge, "there are more than %d records: ask for fewer", mostRecords)
		}
		answer.Rows = append(answer.Rows, RecordRow{rec.Seq, Time{ledger.AtTime(rec.Appended)}, b})
	}
	return s.writeJSON(w, r, answer)
}

// operatorKinds are the kinds of events that a restore writes.
var operatorKinds = []ledger.Kind{ledger.KindIntent, ledger.KindReset, ledger.KindDeleted, ledger.KindFailed, ledger.KindOperator}

// restoreActions are what an operator does who carries a plan out. To agree to one, and to annotate,
// have routes of their own, with the clock of the daemon.
var restoreActions = []string{replay.OperationPlan, replay.OperationApply, replay.OperationApplied}

// appendRecords stores what somebody else does who carries a plan out, and nothing else: what
// capture and managers record is not to be had here.
func (s *server) appendRecords(w http.ResponseWriter, r *http.Request, body []byte) error {
	var req AppendRequest
	if s.Writes == nil {
		return problem(CodeReadOnly, "nothing can be written through this ledger")
	}
	if err := decodeStrictly(body, &req); err != nil {
		return err
	}
	events := make([]ledger.Event, len(req.Events))
	for i, b := range req.Events {
		var err error
		if events[i], err = ledger.Decode(b); err != nil {
			return problem(CodeBadParameter, "events[%d]: %v", i, err)
		}
		ev := &events[i]
		if !slices.Contains(operatorKinds, ev.Kind) || ev.Source.Kind != ledger.SourceOperator || ev.ActorVerified {
			return problem(CodeBadParameter, "events[%d]: a %s event of %s is not one of an operator's", i, ev.Kind, ev.Source.Kind)
		}
		if op := ev.Operation; op != nil && !slices.Contains(restoreActions, op.Action) {
			return problem(CodeBadParameter, "events[%d]: %q is no action of who carries a plan out", i, op.Action)
		}
	}
	for i := range events {
		if err := s.mayBegin(r.Context(), &events[i], events[:i]); err != nil {
			return err
		}
	}
	expects := make([]ledger.Expect, len(req.Expects))
	for i, x := range req.Expects {
		expects[i] = ledger.Expect(x)
	}
	receipt, err := s.Writes.Log.Append(r.Context(), events, expects...)
	switch {
	case errors.Is(err, ledger.ErrConflict):
		return problem(CodeConflict, "%v", err)
	case errors.Is(err, ledger.ErrTooLarge):
		return problem(CodeTooLarge, "%v", err)
	case errors.Is(err, ledger.ErrInvalid):
		return problem(CodeBadParameter, "%v", err)
	case err != nil:
		return err
	}
	return s.writeJSON(w, r, Appended{receipt.First, receipt.Last})
}

// mayBegin refuses the beginning of a restore to which somebody else has to agree first. A plan that
// comes from a file is stored with its beginning, before it.
func (s *server) mayBegin(ctx context.Context, ev *ledger.Event, before []ledger.Event) error {
	if ev.Operation == nil || ev.Operation.Action != replay.OperationApply || s.Writes.NeedsApproval == nil {
		return nil
	}
	sp, err := replay.FindPlan(ctx, s.Log, ev.Cluster, ev.Plan)
	if errors.Is(err, replay.ErrNoPlan) {
		if sp, err = replay.PlanAmong(before, ev.Plan); err == nil && !s.needsApproval(ev.Cluster, sp.Plan) {
			return nil
		}
		return problem(CodeRefused, "plan %s is not stored here, so that nobody can have agreed to it", ev.Plan)
	}
	if err != nil || !s.needsApproval(ev.Cluster, sp.Plan) {
		return err
	}
	if err := replay.Approved(ctx, s.Writes.Log, sp.Plan, replay.By{Actor: ev.Actor}, s.Now()); err != nil {
		return applyFault(err)
	}
	return nil
}

// mostEvent is how many bytes an event of an append can have: what is larger is cut into parts.
const mostEvent = 512 << 10

// RestoreLog is the ledger behind a daemon, for a program that carries a plan out by itself: a
// replay.Log.
type RestoreLog struct{ Client *Client }

// Append implements replay.Log.
func (l RestoreLog) Append(ctx context.Context, events []ledger.Event, expects ...ledger.Expect) (ledger.Receipt, error) {
	req := AppendRequest{}
	for _, x := range expects {
		req.Expects = append(req.Expects, Expectation(x))
	}
	for _, ev := range events {
		var err error
		if ev.ID, err = uuid.NewV7(); err != nil {
			return ledger.Receipt{}, err
		}
		parts, err := ev.Split(mostEvent)
		if err != nil {
			return ledger.Receipt{}, err
		}
		for i := range parts {
			b, err := parts[i].AppendBinary(nil)
			if err != nil {
				return ledger.Receipt{}, err
			}
			req.Events = append(req.Events, b)
		}
	}
	done, err := post[Appended](ctx, l.Client, routeAppend, req)
	var p *Problem
	if errors.As(err, &p) && p.Code == CodeConflict {
		return ledger.Receipt{}, &conflict{p}
	}
	return ledger.Receipt{First: done.First, Last: done.Last}, err
}

// conflict is a lost expectation, as a daemon tells of it.
type conflict struct{ *Problem }

// Is makes it match [ledger.ErrConflict].
func (c *conflict) Is(target error) bool { return target == ledger.ErrConflict }

// Read implements replay.Log.
func (l RestoreLog) Read(ctx context.Context, from, to uint64, f ledger.Filter) iter.Seq2[ledger.Record, error] {
	return func(yield func(ledger.Record, error) bool) {
		answer, err := post[Records](ctx, l.Client, routeRecords, RecordsRequest{Subjects: f.Subjects, From: from, To: to})
		if err != nil {
			yield(ledger.Record{}, err)
			return
		}
		for i := range answer.Rows {
			row := &answer.Rows[i]
			ev, err := ledger.Decode(row.Event)
			appended, _ := row.Appended.Std()
			if !yield(ledger.Record{Seq: row.Seq, Appended: appended, Event: ev}, err) || err != nil {
				return
			}
		}
	}
}

// LastOf implements replay.Log.
func (l RestoreLog) LastOf(ctx context.Context, filter string) (uint64, error) {
	answer, err := post[Records](ctx, l.Client, routeRecords, RecordsRequest{Subjects: []string{filter}, OnlyLast: true})
	return answer.Last, err
}
