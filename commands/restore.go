package commands

import (
	"context"
	"fmt"

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
	capture, err := m.firstCursor(ctx)
	if err != nil {
		return nil, err
	}
	var own ledger.Filter
	for _, k := range folded {
		own.Subjects = append(own.Subjects, ledger.GroupSubject(m.cfg.Cluster, m.cfg.Group, k))
	}
	for rec, err := range m.log.Read(ctx, 1, 0, own) {
		if err != nil {
			return nil, err
		}
		if capture != nil && capture.Seq < rec.Seq {
			if err := apply(s, *capture); err != nil {
				return nil, err
			}
			capture = nil
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

// firstCursor is the record by which capture began, nil if nothing is captured here. The fold
// has to know, since a reset that capture tells too counts once.
func (m *Manager) firstCursor(ctx context.Context) (*ledger.Record, error) {
	cursors := ledger.Filter{Subjects: []string{ledger.CursorSubject(m.cfg.Cluster, ledger.CursorShardAll)}}
	for rec, err := range m.log.Read(ctx, 1, 0, cursors) {
		if err != nil {
			return nil, err
		}
		first := rec.Clone()
		return &first, nil
	}
	return nil, nil
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
