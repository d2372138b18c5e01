package commands

import (
	"context"
	"fmt"
	"slices"

	"github.com/offsetledger/offsetledger/ledger"
)

// RecordFailed records rows that somebody else tried to commit to Kafka for this manager, and that
// did not come to be committed, with the cause: as offsets in a transaction that was aborted. Where
// the cluster is captured from its log the capture tells that itself, and nothing is written. A ledger
// that is away gets it later, or [Config.WhenLogAway] decides.
func (m *Manager) RecordFailed(ctx context.Context, cause ledger.Cause, rows []ledger.Offset) error {
	if len(rows) == 0 {
		return nil
	}
	if err := m.begin(ctx); err != nil {
		return fmt.Errorf("record a failed commit: %w", err)
	}
	defer m.end()
	tailed, err := m.tailed(ctx)
	if err == nil && !tailed {
		rows = slices.Clone(rows)
		slices.SortFunc(rows, func(a, b ledger.Offset) int {
			return compare(ledger.TopicPartition{Topic: a.Topic, Partition: a.Partition}, ledger.TopicPartition{Topic: b.Topic, Partition: b.Partition})
		})
		err = m.recordFailed(ctx, rows, cause, m.time())
	}
	if err != nil {
		return fmt.Errorf("record a failed commit: %w", err)
	}
	return nil
}

// tailed reports whether the cluster is captured from its log: then the last cursor has positions.
func (m *Manager) tailed(ctx context.Context) (bool, error) {
	subject := ledger.CursorSubject(m.cfg.Cluster, ledger.CursorShardAll)
	seq, err := m.log.LastOf(ctx, subject)
	if err != nil || seq == 0 {
		return false, err
	}
	last, ok, err := m.firstOf(ctx, subject, seq)
	return ok && last.Event.Cursor != nil && len(last.Event.Cursor.Lines) > 0, err
}
