package replay

import (
	"context"
	"fmt"
	"iter"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// HistoryFrom tells the history of a scope up to record to: at least all that happened at a point
// and after it, by the clock of whoever told it. It begins behind the newest snapshot that leaves
// out none of that, and tells of each event what a history from the first record on does. The
// History goes on with the records that follow. Where the point is the zero Point, or no snapshot
// serves, it begins with the first record.
func (s *Snapshots) HistoryFrom(ctx context.Context, r Reader, sc Scope, from Point, to uint64) (*History, iter.Seq2[Entry, error], error) {
	h := NewHistory(sc)
	if before := s.before(from, to); before > 0 {
		st, ok, err := s.start(ctx, r, Point{}, before, &sc)
		if err != nil {
			return nil, nil, fmt.Errorf("history from %s: %w", from, err)
		}
		if ok {
			h.state = st
		}
	}
	return h, h.Tell(withoutWatermarks(s.records(ctx, r, h.state.Seq(), to, sc, false))), nil
}

// before is the sequence of the newest snapshot, at most to, behind which all stands that happened
// at a point and after it; 0 if there is none.
func (s *Snapshots) before(from Point, to uint64) uint64 {
	for _, m := range s.List() {
		switch {
		case m.Seq > to:
		case from.Seq > 0 && m.Seq < from.Seq, from.Time.Known() && m.Named().Before(from.Time):
			return m.Seq
		}
	}
	return 0
}

// withoutWatermarks leaves out what a history does not need, where all records were picked.
func withoutWatermarks(records iter.Seq2[ledger.Record, error]) iter.Seq2[ledger.Record, error] {
	return func(yield func(ledger.Record, error) bool) {
		for rec, err := range records {
			if (err != nil || rec.Event.Kind != ledger.KindWatermarks) && !yield(rec, err) {
				return
			}
		}
	}
}

// startOf returns the state and the incidents of the newest snapshot before a record from which its
// incidents can be found: none that holds it had been let go by then. They are empty if there is no
// such snapshot.
func (s *Snapshots) startOf(ctx context.Context, r Reader, rec *ledger.Record, sc Scope) (*projection.State, *projection.Incidents, error) {
	earliest := rec.Event.Time
	if rec.Event.Parts > 0 { // the other parts can tell of what was before
		earliest = ledger.Time{}
	}
	for i := range rec.Event.Offsets {
		if at := rec.Event.Offsets[i].Effective; at.Known() && at.Before(earliest) {
			earliest = at
		}
	}
	for end := rec.Seq - 1; end > 0; {
		var in *projection.Incidents
		st, ok, err := s.newestServing(ctx, Point{}, end, func(k *known) (*projection.State, error) {
			var err error
			if in, err = s.incidents(ctx, k); err != nil {
				return nil, err
			}
			return s.load(ctx, r, k, &sc)
		})
		if err != nil {
			return nil, nil, err
		}
		if !ok {
			break
		}
		if in.Keeps(earliest) {
			return st, in, nil
		}
		end = st.Seq() - 1
	}
	return projection.NewState(), projection.NewIncidents(), nil
}
