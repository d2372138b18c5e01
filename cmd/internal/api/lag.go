package api

import (
	"net/http"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/replay"
)

// Into how many spans of time the lag of a range is put, and into how many at most.
const (
	defaultPoints = 200
	mostPoints    = 10_000
)

// LagHistory answers GET /api/v1/lag: how the lag of a group went, by partition and then by time.
type LagHistory struct {
	Envelope
	Group Text     `json:"group"`
	Rows  []LagRow `json:"rows"`
	Next  *string  `json:"next"`
}

// LagRow is how far a group was behind, from a moment until that of the next row.
type LagRow struct {
	Time            Time   `json:"time"`
	Topic           Text   `json:"topic"`
	Partition       int32  `json:"partition"`
	Lag             *int64 `json:"lag"` // null: not known
	CommittedOffset *int64 `json:"committed_offset"`
	LogEndOffset    *int64 `json:"log_end_offset"` // as last observed
	Why             string `json:"why,omitempty"`  // why Lag is not known
}

// lag answers with the lag of a group over a range of time, for plotting.
func (s *server) lag(w http.ResponseWriter, r *http.Request, q Query) error {
	if q.Group == nil {
		return problem(CodeBadParameter, "group: say which group, as in group=billing; the empty group id is group=")
	}
	f, err := s.frame(r.Context(), q)
	if err != nil {
		return err
	}
	if _, err := s.present(f, *q.Group); err != nil {
		return err
	}
	if err := s.knownTopics(f, q.Topics); err != nil {
		return err
	}
	span, err := s.lagRange(r, f, q)
	if err != nil {
		return err
	}
	samples, err := s.Snapshots.LagOver(r.Context(), s.Log, f.cluster, *q.Group, span)
	if err != nil {
		return err
	}
	answer := LagHistory{Envelope: f.envelope("lag", span.From, span.To), Group: Text(*q.Group), Rows: make([]LagRow, len(samples))}
	for i := range samples {
		l := &samples[i]
		answer.Rows[i] = LagRow{
			Time: Time{l.Time}, Topic: Text(l.Topic), Partition: l.Partition, Lag: known(l.Lag.Records, l.Lag.Known),
			CommittedOffset: offset(l.Committed), LogEndOffset: offset(l.LogEnd), Why: l.Lag.Why,
		}
	}
	return s.writeJSON(w, r, answer)
}

// lagRange is the range of time that a query asks for: all of history if it says no more. A
// sequence stands for the moment at which it was stored.
func (s *server) lagRange(r *http.Request, f *frame, q Query) (replay.LagRange, error) {
	span := replay.LagRange{From: f.cover.Began, To: f.now, Points: defaultPoints, Wants: q.wantsPartition}
	if q.Points != nil {
		if span.Points = int(min(*q.Points, mostPoints+1)); span.Points < 1 || span.Points > mostPoints {
			return span, problem(CodeBadParameter, "points: %d is not a number from 1 to %d", *q.Points, mostPoints)
		}
	}
	for _, end := range []struct {
		name, text string
		to         *ledger.Time
	}{{paramSince, q.Since, &span.From}, {paramUntil, q.Until, &span.To}} {
		if end.text == "" {
			continue
		}
		at := *f
		if err := s.settle(r.Context(), &at, end.name, end.text, q.Group); err != nil {
			return span, err
		}
		*end.to = at.asOf
	}
	if span.To.Before(span.From) {
		return span, problem(CodeBadParameter, "since (%s) lies after until (%s)", span.From, span.To)
	}
	return span, nil
}
