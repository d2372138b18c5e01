package commands

import (
	"context"
	"fmt"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// What a consumer that is bound to a manager has to know and to tell.

// Config is what the manager was made with, with its defaults filled in.
func (m *Manager) Config() Config { return m.cfg }

// CommitsByItself reports whether a manager with this strategy commits what is pending when it
// is closed and when partitions are taken from its consumer. OnWatermark commits nothing
// that no watermark has come to, and Manual nothing at all.
func (s Strategy) CommitsByItself() bool { return s.withDefaults().runs() }

// Recorded returns the committed offsets of the group as the ledger tells them now, whoever
// committed them. Unlike [Manager.Restore] it leaves the manager as it is. It reads the whole
// history of the group.
func (m *Manager) Recorded(ctx context.Context) (map[ledger.TopicPartition]projection.OffsetInfo, error) {
	if err := m.stop(); err != nil {
		return nil, fmt.Errorf("recorded offsets: %w", err)
	}
	s, err := m.fold(ctx)
	if err != nil {
		return nil, fmt.Errorf("recorded offsets: %w", err)
	}
	return s.Offsets(m.cfg.Cluster, m.cfg.Group), nil
}

// SetUncommitted tells that Kafka has no committed offset of a partition. It writes nothing, and
// leaves what is pending as it is.
func (m *Manager) SetUncommitted(tp ledger.TopicPartition) error {
	c, err := m.cell(tp.Topic, tp.Partition)
	if err != nil {
		return fmt.Errorf("set uncommitted: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set(projection.OffsetInfo{}, false, m.cfg.AllowRewind)
	return nil
}
