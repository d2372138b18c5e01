package replay

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// ErrAhead is a Point that the log has not reached.
var ErrAhead = errors.New("ahead of the log")

// Reader is the log as replay needs it; *stream.Log satisfies it.
type Reader interface {
	// Read yields the records from sequence from to sequence to, both included, that f
	// selects: in order, each once. A record is valid until the next step.
	Read(ctx context.Context, from, to uint64, f ledger.Filter) iter.Seq2[ledger.Record, error]
	// Last returns the last sequence, 0 if the log is empty.
	Last(ctx context.Context) (uint64, error)
}

// Scope is the part of the ledger that an answer needs. The zero Scope is all of it.
type Scope struct {
	cluster, group string
	ofCluster      bool
	ofGroup        bool
	// narrow leaves out of a group's scope the topics that it has no offsets in: all but those
	// whose shards are set.
	narrow bool
	shards uint16
}

// OfCluster is the scope of one Kafka cluster.
func OfCluster(cluster string) Scope { return Scope{cluster: cluster, ofCluster: true} }

// OfGroup is the scope of one group, which may have the empty id. The state of it also holds
// cursors and gaps of the cluster, and the topics that the group has or had offsets in, with their
// watermarks; of other topics perhaps, and of no other group.
func OfGroup(cluster, group string) Scope {
	return Scope{cluster: cluster, group: group, ofCluster: true, ofGroup: true}
}

// Filter selects the events that a scope needs.
func (sc Scope) Filter() ledger.Filter { return sc.filter(true) }

func (sc Scope) filter(watermarks bool) ledger.Filter {
	if !sc.ofCluster {
		return ledger.Filter{}
	}
	groups := ledger.AllGroupSubjects(sc.cluster)
	switch {
	case sc.ofGroup:
		groups = ledger.GroupSubjects(sc.cluster, sc.group)
	case watermarks:
		return ledger.Filter{Subjects: []string{ledger.ClusterSubjects(sc.cluster)}}
	}
	f := ledger.Filter{Subjects: []string{
		groups, ledger.TopicSubjects(sc.cluster), ledger.CursorSubjects(sc.cluster), ledger.SourceSubjects(sc.cluster),
	}}
	if watermarks {
		f.Subjects = append(f.Subjects, ledger.WatermarkSubjects(sc.cluster))
	}
	return f
}

// StateAt returns the state at a point, by replay from the beginning. Its Seq is the last
// sequence that had to be read: for a time, the first at which the cursors of the scope's
// cluster show every source partition past it, or the end of the log.
//
// Every replay of one log gives the same state, and the state of a scope is what the state
// of everything says of it. The point has to be resolved, see [Resolve]; one that the log has
// not reached fails with [ErrAhead].
func StateAt(ctx context.Context, r Reader, p Point, sc Scope) (*projection.State, error) {
	return (*Snapshots)(nil).StateAt(ctx, r, p, sc)
}

// wants reports whether a shard of topics is in the scope.
func (sc Scope) wants(shard int32) bool { return !sc.narrow || sc.shards>>shard&1 != 0 }

// widen takes the topics of the group in a state into a narrow scope. It reports whether some
// were not in it.
func (sc *Scope) widen(st *projection.State) bool {
	before := sc.shards
	if sc.narrow {
		for topic := range st.TopicsOf(sc.cluster, sc.group) {
			sc.shards |= 1 << ledger.WatermarkShard(topic)
		}
	}
	return sc.shards != before
}

// StateAt is the function of that name, and begins with the newest snapshot in which nothing is
// later than the point.
func (s *Snapshots) StateAt(ctx context.Context, r Reader, p Point, sc Scope) (*projection.State, error) {
	end, whole := s.followedTo(p, sc), false
	for sc.narrow = sc.ofGroup; ; {
		if end == 0 {
			var err error
			if end, err = endOf(ctx, r, p); err != nil {
				return nil, err
			}
			whole = true
		}
		st, past, err := s.replay(ctx, r, p, end, &sc)
		switch {
		case err != nil:
			return nil, fmt.Errorf("state at %s: %w", p, err)
		case sc.widen(st):
			// The group came to a topic on the way, whose watermarks were left out: once more, with them.
		case past, whole:
			return st, nil
		default:
			end = 0 // the moment is so recent that all of the log counts
		}
	}
}

// followedTo is how far the view has followed the log, if that is far enough to try for a point
// without asking how far the log goes: an answer that waits for what is being appended. Else 0.
func (s *Snapshots) followedTo(p Point, sc Scope) uint64 {
	if s == nil || s.trail == nil || !sc.ofGroup || !p.Time.Known() {
		return 0
	}
	_, to := s.trail.Range()
	return to
}

// replay folds up to end, or to where reading ends for a time, and reports which.
func (s *Snapshots) replay(ctx context.Context, r Reader, p Point, end uint64, sc *Scope) (st *projection.State, past bool, err error) {
	st, ok, err := s.start(ctx, r, p, end, sc)
	if !ok {
		st = projection.NewState()
	}
	if err != nil || st.Seq() == end {
		return st, false, err
	}
	if err := s.begin(ctx, r, st, end, *sc); err != nil {
		return nil, false, err
	}
	for rec, err := range s.records(ctx, r, st.Seq(), end, *sc, true) {
		if err != nil {
			return nil, false, err
		}
		if sc.ofCluster {
			st.Skip(rec.Seq - 1)
		}
		if err := st.ApplyUpTo(rec, p.Time); err != nil {
			return nil, false, err
		}
		if p.Time.Known() && sc.ofCluster && rec.Event.Kind == ledger.KindCursor && st.Past(sc.cluster, p.Time) {
			return st, true, nil
		}
	}
	st.Skip(end)
	return st, false, nil
}

// begin tells the state of one group when the history of its cluster begins, which is most often
// with a record of another group.
func (s *Snapshots) begin(ctx context.Context, r Reader, st *projection.State, end uint64, sc Scope) error {
	if _, known := st.Coverage(sc.cluster); known || !sc.ofGroup {
		return nil
	}
	first := func(records iter.Seq2[ledger.Record, error]) (bool, error) {
		for rec, err := range records {
			found := err == nil && rec.Event.Cluster == sc.cluster
			if found {
				st.Begin(rec)
			}
			return found, err
		}
		return false, nil
	}
	// As a rule it is the very next record, and a filtered read takes longer.
	next := st.Seq() + 1
	records := r.Read(ctx, next, next, ledger.Filter{})
	if s != nil && s.pick != nil {
		records = s.pick(ctx, []uint64{next})
	}
	found, err := first(records)
	if err == nil && !found {
		_, err = first(r.Read(ctx, next, end, ledger.Filter{Subjects: []string{ledger.ClusterSubjects(sc.cluster)}}))
	}
	return err
}

// endOf returns the last sequence that can matter for a point.
func endOf(ctx context.Context, r Reader, p Point) (uint64, error) {
	if !p.Resolved() {
		return 0, fmt.Errorf("state at %s: the point is not resolved to a sequence", p)
	}
	last, err := r.Last(ctx)
	switch {
	case err != nil:
		return 0, fmt.Errorf("state at %s: %w", p, err)
	case p.Seq > last:
		return 0, fmt.Errorf("state at %s: %w, which ends at %d", p, ErrAhead, last)
	case p.Seq > 0:
		return p.Seq, nil
	}
	return last, nil
}
