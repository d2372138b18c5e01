package api

import (
	"context"

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
	if p.Seq > f.seq {
		return replay.Point{}, problem(CodeUnknownSequence, "%s: the ledger ends at seq:%d", name, f.seq)
	}
	found, err := replay.Resolve(ctx, s.Log, p, scope(f.cluster, group))
	if err != nil && ctx.Err() == nil {
		return replay.Point{}, problem(CodeUnknownSequence, "%s: %v", name, err)
	}
	return found, err
}

// scope is the part of the ledger that an answer about a group needs, or about a whole cluster
// if group is nil.
func scope(cluster string, group *string) replay.Scope {
	if group == nil {
		return replay.OfCluster(cluster)
	}
	return replay.OfGroup(cluster, *group)
}

// one reads a single record.
func (s *server) one(ctx context.Context, seq uint64) (ledger.Record, error) {
	for rec, err := range s.Log.Read(ctx, seq, seq, ledger.Filter{}) {
		return rec.Clone(), err
	}
	return ledger.Record{}, ledger.ErrMissing
}

// settle settles what f says of the moment that a parameter asks for. The present is settled already.
func (s *server) settle(ctx context.Context, f *frame, name, text string, group *string) error {
	p, err := s.resolve(ctx, f, name, text, group)
	if err != nil || p.IsNow() {
		return err
	}
	f.point = p
	if p.Seq == 0 {
		f.asOf = p.Time
		return nil
	}
	rec, err := s.one(ctx, p.Seq)
	if err != nil {
		return err
	}
	f.seq, f.asOf = p.Seq, ledger.AtTime(rec.Appended)
	if f.group == nil {
		return nil
	}
	held, followed, err := replay.HeldUntil(ctx, s.Log, f.cluster, *f.group, p.Seq)
	if f.held = held; !followed {
		f.held = f.through
	}
	return err
}

// read calls read with the state of the moment that q asks for, and settles what f says of
// that moment.
func (s *server) read(ctx context.Context, f *frame, q Query, read func(*projection.State)) error {
	if err := s.settle(ctx, f, paramAt, q.At, q.Group); err != nil {
		return err
	}
	if f.point.IsNow() {
		s.View.Read(func(st *projection.State) {
			f.seq, f.sure = st.Seq(), st.Sure(f.cluster, f.group, f.asked())
			read(st)
		})
		return nil
	}
	st, err := s.Snapshots.StateAt(ctx, s.Log, f.point, scope(f.cluster, q.Group))
	if err != nil {
		return err
	}
	if f.point.Time.Known() { // reading went on past the moment; what counts is what was in time
		f.seq = st.LastSeq(f.cluster, f.group)
	}
	f.sure = st.Sure(f.cluster, f.group, f.asked())
	read(st)
	return nil
}
