package commands

import (
	"context"
	"fmt"
	"time"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// Checkpoint is a named mark in the history of the group, with the offsets that were committed
// at it.
type Checkpoint struct {
	Name    string
	Seq     uint64 // of its event in the ledger
	Time    time.Time
	Offsets map[ledger.TopicPartition]projection.OffsetInfo
}

// maxName is the longest name of a checkpoint, in bytes.
const maxName = 255

// Checkpoint marks the present in the history: by its name, the offsets that are committed as far
// as this manager knows can be asked for later, and restored. What is pending is not in it. A name
// can be used again; the last one counts. Offsets with more than 8 MiB of metadata fail with
// [ledger.ErrTooLarge].
func (m *Manager) Checkpoint(ctx context.Context, name string) (Checkpoint, error) {
	if err := validName(name); err != nil {
		return Checkpoint{}, err
	}
	if err := m.begin(ctx); err != nil {
		return Checkpoint{}, fmt.Errorf("checkpoint %q: %w", name, err)
	}
	defer m.end()
	c, err := m.checkpoint(ctx, name)
	if err != nil {
		return Checkpoint{}, fmt.Errorf("checkpoint %q: %w", name, err)
	}
	return c, nil
}

func validName(name string) error {
	if name == "" || len(name) > maxName {
		return fmt.Errorf("%w: name of a checkpoint has %d bytes, and 1 to %d are taken", ErrInvalid, len(name), maxName)
	}
	return nil
}

func (m *Manager) checkpoint(ctx context.Context, name string) (Checkpoint, error) {
	if err := m.drain(ctx); err != nil {
		return Checkpoint{}, err
	}
	o, err := m.event(ledger.KindCheckpoint)
	if err != nil {
		return Checkpoint{}, err
	}
	o.event.Checkpoint = &ledger.Checkpoint{Name: name}
	out := Checkpoint{Name: name, Offsets: map[ledger.TopicPartition]projection.OffsetInfo{}}
	out.Time, _ = o.event.Time.Std()
	for _, c := range m.cells.list() {
		c.mu.Lock()
		if c.hasCommitted {
			when := ledger.AtMillis(c.committed.when)
			o.event.Offsets = append(o.event.Offsets, ledger.Offset{
				Topic: c.tp.Topic, Partition: c.tp.Partition, At: c.committed.at, LeaderEpoch: c.committed.epoch,
				Metadata: c.committed.metadata, CommitTime: when, Effective: when, SourceOffset: o.event.Source.Offset,
			})
			out.Offsets[c.tp] = c.info(&c.committed)
		}
		c.mu.Unlock()
	}
	o.then = func(bool) {} // one that is not stored is not sent again: the caller learns of it
	if err := m.write(ctx, o); err != nil {
		return Checkpoint{}, err
	}
	out.Seq = o.seq
	return out, nil
}

// RestoreCheckpoint sets the committed offsets to those of the last checkpoint of that name, as
// [Manager.ResetOffset] would, all of them in one event, and returns how many. Partitions that
// the checkpoint does not have stay as they are. It fails with [ErrUnknown] if the group has no
// such checkpoint.
func (m *Manager) RestoreCheckpoint(ctx context.Context, name string) (int, error) {
	if err := validName(name); err != nil {
		return 0, err
	}
	if err := m.begin(ctx); err != nil {
		return 0, fmt.Errorf("restore checkpoint %q: %w", name, err)
	}
	defer m.end()
	rows, err := m.checkpointRows(ctx, name)
	if err == nil && len(rows) > 0 {
		err = m.rewrite(ctx, rows, fmt.Sprintf("restore checkpoint %q", name))
	}
	if err != nil {
		return 0, fmt.Errorf("restore checkpoint %q: %w", name, err)
	}
	return len(rows), nil
}

// checkpointRows are the rows of the last checkpoint of that name.
func (m *Manager) checkpointRows(ctx context.Context, name string) ([]ledger.Offset, error) {
	var parts []ledger.Event
	only := ledger.Filter{Subjects: []string{ledger.GroupSubject(m.cfg.Cluster, m.cfg.Group, ledger.KindCheckpoint)}}
	for rec, err := range m.log.Read(ctx, 1, 0, only) {
		if err != nil {
			return nil, err
		}
		if rec.Event.Checkpoint == nil || rec.Event.Checkpoint.Name != name {
			continue
		}
		if rec.Event.Part <= 1 {
			parts = nil
		}
		parts = append(parts, rec.Clone().Event)
	}
	if len(parts) == 0 {
		return nil, fmt.Errorf("%w: the group has no checkpoint of this name", ErrUnknown)
	}
	whole, err := ledger.Join(parts)
	return whole.Offsets, err
}
