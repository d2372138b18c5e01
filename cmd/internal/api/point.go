package api

import (
	"context"
	"sort"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/replay"
)

// resolve reads a point of a query and finds what it names. The zero Point is none, or now.
func (s *server) resolve(ctx context.Context, f *frame, name, text string, group *string) (replay.Point, error) {
	if text == "" {
		return replay.Point{}, nil
	}
	p, err := replay.ParsePoint(text, s.Now())
	if err != nil {
		return replay.Point{}, problem(CodeBadParameter, "%s: %v", name, err)
	}
	switch {
	case p.Seq > f.seq:
		return replay.Point{}, problem(CodeUnknownSequence, "%s: the ledger ends at seq:%d", name, f.seq)
	case p.Appended.Known():
		p.Seq, err = s.appendedBy(ctx, f.seq, p.Appended)
		if err == nil && p.Seq == 0 {
			err = problem(CodeUnknownSequence, "%s: nothing had been stored by %s", name, p.Appended)
		}
		p.Appended = ledger.Time{}
	case p.Checkpoint != "" && group == nil:
		err = problem(CodeBadParameter, "%s: a checkpoint belongs to a group, say which", name)
	case p.Checkpoint != "":
		var ok bool
		s.View.Read(func(st *projection.State) { p.Seq, ok = st.Checkpoint(f.cluster, *group, p.Checkpoint) })
		if !ok {
			err = problem(CodeUnknownSequence, "%s: group %s has no checkpoint %s", name, Spell(*group), Spell(p.Checkpoint))
		}
		p.Checkpoint = ""
	}
	return p, err
}

// appendedBy is the last sequence that was stored at or before t; append times never go
// backwards.
func (s *server) appendedBy(ctx context.Context, last uint64, t ledger.Time) (uint64, error) {
	var failed error
	after := sort.Search(int(last), func(i int) bool {
		rec, err := s.one(ctx, uint64(i)+1)
		if err != nil {
			failed = err
		}
		return ledger.AtTime(rec.Appended).After(t)
	})
	return uint64(after), failed
}

// one reads a single record.
func (s *server) one(ctx context.Context, seq uint64) (ledger.Record, error) {
	for rec, err := range s.Log.Read(ctx, seq, seq, ledger.Filter{}) {
		return rec.Clone(), err
	}
	return ledger.Record{}, ledger.ErrMissing
}

// at settles what f says of the moment that was asked for. The present is settled already.
func (s *server) at(ctx context.Context, f *frame, q Query) error {
	p, err := s.resolve(ctx, f, paramAt, q.At, q.Group)
	if err != nil || p.IsNow() {
		return err
	}
	f.point = p
	if p.Seq == 0 {
		f.asOf = p.Time
		f.exact = !f.cover.Through.Before(p.Time)
		return nil
	}
	rec, err := s.one(ctx, p.Seq)
	if err != nil {
		return err
	}
	f.seq, f.asOf = p.Seq, ledger.AtTime(rec.Appended)
	// By sequence an answer is exact if capture was close to the present when it stored it.
	late, ok := f.asOf.Sub(rec.Event.Time)
	f.exact = ok && late <= freshEnough
	return nil
}

// tag is the ETag of an answer: the moment and the last sequence that it is of.
func (f *frame) tag() string {
	if f.point.IsNow() || f.point.Seq != 0 {
		return replay.Point{Seq: f.seq}.String()
	}
	return f.point.String()
}
