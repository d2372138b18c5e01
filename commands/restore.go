package commands

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// Restore makes the committed offsets those of the ledger, by folding the history of the group,
// and returns how many there are. It is for the start of a process: what is pending is forgotten
// (its updates are recorded all the same), and work goes on from the committed offsets.
//
// With commits to Kafka the ledger can be behind the broker, or ahead of what somebody set on
// purpose: the broker's offsets are the ones to start from, unless the ledger's are meant.
func (m *Manager) Restore(ctx context.Context) (int, error) {
	if err := m.begin(ctx); err != nil {
		return 0, fmt.Errorf("restore: %w", err)
	}
	defer m.end()
	if err := m.drain(ctx); err != nil {
		return 0, fmt.Errorf("restore: %w", err)
	}
	s, err := m.fold(ctx)
	if err != nil {
		return 0, fmt.Errorf("restore: %w", err)
	}
	offsets := s.Offsets(m.cfg.Cluster, m.cfg.Group)
	for tp := range offsets {
		if _, err := m.cell(tp.Topic, tp.Partition); err != nil {
			return 0, fmt.Errorf("restore: %w", err)
		}
	}
	for _, c := range m.cells.list() {
		info, ok := offsets[c.tp]
		c.mu.Lock()
		c.forget()
		c.set(info, ok, m.cfg.AllowRewind)
		c.mu.Unlock()
	}
	return len(offsets), nil
}

// folded are the kinds that decide what is committed.
var folded = []ledger.Kind{ledger.KindCommitted, ledger.KindReset, ledger.KindDeleted, ledger.KindIntent, ledger.KindGroup}

// fold returns the state of the group alone.
func (m *Manager) fold(ctx context.Context) (*projection.State, error) {
	s := projection.NewState()
	beside, cursors, err := m.beside(ctx)
	if err != nil {
		return nil, err
	}
	// What a source partition lost of its end can be in the gaps of any.
	own := ledger.Filter{Subjects: append(cursors, ledger.SourceSubjects(m.cfg.Cluster))}
	for _, k := range folded {
		own.Subjects = append(own.Subjects, ledger.GroupSubject(m.cfg.Cluster, m.cfg.Group, k))
	}
	for rec, err := range m.log.Read(ctx, 1, 0, own) {
		if err != nil {
			return nil, err
		}
		for len(beside) > 0 && beside[0].Seq < rec.Seq {
			if err := apply(s, beside[0]); err != nil {
				return nil, err
			}
			beside = beside[1:]
		}
		if err := apply(s, rec); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// apply folds a record of a filtered read.
func apply(s *projection.State, rec ledger.Record) error {
	s.Skip(rec.Seq - 1)
	return s.ApplyUpTo(rec, ledger.Time{})
}

// beside returns those records that decide how the group's own are to be read and of which the
// first is enough, in order: that something is captured here, and that a manager is at work, since
// what both tell counts once. The cursors have to be read, all of them, only if capture has changed
// to another source in between: then positions begin anew.
func (m *Manager) beside(ctx context.Context) (firsts []ledger.Record, cursors []string, err error) {
	captured := ledger.CursorSubject(m.cfg.Cluster, ledger.CursorShardAll)
	for _, subject := range []string{
		captured,
		ledger.GroupSubject(m.cfg.Cluster, m.cfg.Group, ledger.KindUpdated),
		ledger.GroupSubject(m.cfg.Cluster, m.cfg.Group, ledger.KindClaim),
	} {
		first, ok, err := m.firstOf(ctx, subject, 1)
		if err != nil {
			return nil, nil, err
		}
		if !ok {
			continue
		}
		firsts = append(firsts, first)
		if subject == captured {
			anew, err := m.anotherSource(ctx, first)
			if err != nil {
				return nil, nil, err
			}
			if anew {
				cursors = []string{captured}
			}
		}
	}
	slices.SortFunc(firsts, func(a, b ledger.Record) int { return cmp.Compare(a.Seq, b.Seq) })
	return firsts, cursors, nil
}

// anotherSource reports whether the last cursor is of another source than the first.
func (m *Manager) anotherSource(ctx context.Context, first ledger.Record) (bool, error) {
	seq, err := m.log.LastOf(ctx, first.Event.Subject())
	if err != nil {
		return false, err
	}
	last, ok, err := m.firstOf(ctx, first.Event.Subject(), seq)
	if err != nil || !ok || first.Event.Cursor == nil || last.Event.Cursor == nil {
		return false, err
	}
	a, b := first.Event.Cursor, last.Event.Cursor
	return a.TopicID != b.TopicID || len(a.Lines) == 0 && len(b.Lines) > 0, nil
}

// firstOf returns the first record of a subject from a sequence on. Of one that was cut in parts
// that is the first part, as if it were all: what it is asked for is in it.
func (m *Manager) firstOf(ctx context.Context, subject string, from uint64) (ledger.Record, bool, error) {
	for rec, err := range m.log.Read(ctx, from, 0, ledger.Filter{Subjects: []string{subject}}) {
		if err != nil {
			return ledger.Record{}, false, err
		}
		first := rec.Clone()
		first.Event.Part, first.Event.Parts = 0, 0
		return first, true, nil
	}
	return ledger.Record{}, false, nil
}

// forget drops what is not committed. The caller holds c.mu.
func (c *cell) forget() {
	c.pending, c.hasPending, c.refused = mark{}, false, false
	c.inflight, c.hasInflight = mark{}, false
	c.waits, c.tracker = nil, nil
}

// set makes info the committed offset, or none. The caller holds c.mu.
func (c *cell) set(info projection.OffsetInfo, ok, allowRewind bool) {
	c.committed, c.hasCommitted = mark{}, ok
	if ok {
		when, _ := info.LastUpdated.Millis()
		c.committed = mark{at: info.Offset, when: when, epoch: info.LeaderEpoch, metadata: info.Metadata}
		if info.HighWatermark.Exists {
			c.logEnd, c.hasLogEnd = info.HighWatermark.At, true
		}
	}
	c.setFloor(allowRewind)
}
