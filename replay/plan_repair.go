package replay

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// Repair is an incident as a plan sees it: what it moved, and from where.
type Repair struct {
	ID    string
	Group string
	Time  ledger.Time // of the first thing that it moved
	Moves []Move
}

// Move is what an incident did to one partition: the first of its Changes there, and the row
// that was committed before it.
type Move struct {
	Change projection.Change
	Before projection.Partition // zero if nothing was
}

// ReadRepair reads what incidents moved that one event is part of: see [IncidentsAt]. They are
// two if the event moved one partition back and another forward.
func ReadRepair(ctx context.Context, r Reader, found []projection.Incident) (*Repair, error) {
	if len(found) == 0 {
		return nil, fmt.Errorf("%w: no incident", ErrWish)
	}
	in := &found[0]
	out := &Repair{ID: in.ID(), Group: in.Group, Time: in.Time}
	fail := func(err error) (*Repair, error) { return nil, fmt.Errorf("read incident %s: %w", in.ID(), err) }
	of := OfGroup(in.Cluster, in.Group)
	s := projection.NewState()
	if in.Seq > 1 {
		var err error
		if s, err = StateAt(ctx, r, Point{Seq: in.Seq - 1}, of); err != nil {
			return fail(err)
		}
	}
	last := in.LastSeq
	for i := range found {
		last = max(last, found[i].LastSeq)
	}
	for rec, err := range r.Read(ctx, s.Seq()+1, last, of.Filter()) {
		if err != nil {
			return fail(err)
		}
		s.Skip(rec.Seq - 1)
		before := s.AllPartitions(in.Cluster, in.Group)
		changes, err := s.Apply(rec)
		if err != nil {
			return fail(err)
		}
		out.add(found, s, before, changes)
	}
	return out, nil
}

// add takes over the changes that belong to the incidents; of each partition the first counts.
func (r *Repair) add(found []projection.Incident, s *projection.State, before []projection.Partition, changes []projection.Change) {
	for i := range changes {
		ch := &changes[i]
		of := func(in projection.Incident) bool { return in.Kind == ch.Movement && in.Holds(ch.Seq) }
		known := func(m Move) bool { return m.Change.Topic == ch.Topic && m.Change.Partition == ch.Partition }
		if !slices.ContainsFunc(found, of) || slices.ContainsFunc(r.Moves, known) {
			continue
		}
		m := Move{Change: *ch}
		at := slices.IndexFunc(before, func(p projection.Partition) bool { return p.Topic == ch.Topic && p.Partition == ch.Partition })
		if at >= 0 {
			m.Before = before[at]
		}
		if t, ok := s.Topic(ch.Cluster, ch.Topic); ok && m.Before.TopicID == uuid.Nil {
			m.Before.TopicID = t.ID
		}
		r.Moves = append(r.Moves, m)
	}
}

// point is the place of the history before the incident.
func (r *Repair) point() string {
	seq, ok := projection.ParseIncidentID(r.ID)
	if !ok || seq < 2 {
		return "before " + r.ID
	}
	return Point{Seq: seq - 1}.String()
}

// wants are the targets of a repair: the value before, and only in the direction that repairs.
func (r *Repair) wants(group string) map[ledger.TopicPartition]want {
	out := map[ledger.TopicPartition]want{}
	if group != r.Group {
		return out
	}
	for i := range r.Moves {
		w := r.Moves[i].want()
		out[w.tp] = w
	}
	return out
}

func (m *Move) want() want {
	ch := &m.Change
	w := want{tp: ledger.TopicPartition{Topic: ch.Topic, Partition: ch.Partition}, topicID: m.Before.TopicID}
	was := ch.From
	if ch.Movement == projection.MovementAfterLoss {
		was = ch.Lost
	}
	switch {
	case ch.Movement == projection.MovementRecreated:
		w.refused = "the topic was deleted and made again: what was committed before means other records"
		return w
	case !was.Exists:
		w.kept = "nothing was committed before"
		return w
	case was.At < 0:
		w.refused = fmt.Sprintf("%d was committed before, which is no offset", was.At)
		return w
	}
	w.target, w.since = was, ch.Time
	if m.Before.Committed == was || !m.Before.Committed.Exists && m.Before.Before == was {
		w.recorded, w.epoch, w.metadata = true, m.Before.LeaderEpoch, m.Before.Metadata
	}
	// What was moved back is put forward and never back, and the other way round. Where the
	// offset was lost, whoever has come past it has read what lay before.
	w.only = DirectionForward
	if ch.To.Exists && ch.To.At > was.At {
		w.only = DirectionBack
	}
	return w
}
