package commands

import (
	"fmt"
	"time"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// Own takes partitions over: what was pending of them, and their trackers, are forgotten, and
// updates are taken again after a [Manager.Drop]. A manager that nobody takes partitions from
// does not need it.
func (m *Manager) Own(partitions ...ledger.TopicPartition) error {
	for _, tp := range partitions {
		c, err := m.cell(tp.Topic, tp.Partition)
		if err != nil {
			return fmt.Errorf("own: %w", err)
		}
		c.mu.Lock()
		c.forget()
		c.dropped = false
		c.setFloor(m.cfg.AllowRewind)
		c.mu.Unlock()
	}
	return nil
}

// Drop gives partitions up without committing: what is pending is forgotten, though its updates
// are recorded, and until [Manager.Own] updates of them fail with [ErrNotOwned]. To commit first,
// call [Manager.CommitPartitions].
func (m *Manager) Drop(partitions ...ledger.TopicPartition) {
	for _, tp := range partitions {
		c, err := m.cell(tp.Topic, tp.Partition)
		if err != nil {
			if c = m.cells.find(tp.Topic, tp.Partition); c == nil {
				continue // it has none, and will have none
			}
		}
		c.mu.Lock()
		c.forget()
		c.dropped = true
		c.setFloor(m.cfg.AllowRewind)
		c.mu.Unlock()
	}
}

// SetCommitted tells what Kafka says is committed of a partition. It writes nothing, and leaves
// what is pending as it is.
func (m *Manager) SetCommitted(tp ledger.TopicPartition, info projection.OffsetInfo) error {
	c, err := m.cell(tp.Topic, tp.Partition)
	if err != nil {
		return fmt.Errorf("set committed: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set(info, true, m.cfg.AllowRewind)
	return nil
}

// Observe tells the bounds of a partition's log: the first offset that is still there, and the
// high watermark, the offset after the last record.
func (m *Manager) Observe(topic string, partition int32, logStart, highWatermark int64) error {
	if logStart < 0 || logStart > highWatermark {
		return fmt.Errorf("%w: log of %s/%d from %d to %d", ErrInvalid, topic, partition, logStart, highWatermark)
	}
	c, err := m.cell(topic, partition)
	if err != nil {
		return fmt.Errorf("observe: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.logStart, c.hasLogStart = logStart, true
	c.logEnd, c.hasLogEnd = highWatermark, true
	return nil
}

// Delivered notes that a record was handed to the application, by its own offset. It is for
// those who finish records out of order: from the first Delivered on, [Manager.DoneOffset]
// updates the partition, as far as records are done without a gap.
func (m *Manager) Delivered(topic string, partition int32, offset int64, epoch ledger.Epoch) error {
	c, err := m.cell(topic, partition)
	if err != nil {
		return fmt.Errorf("delivered: %w", err)
	}
	now := time.UnixMilli(m.millis())
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.dropped:
		return fmt.Errorf("delivered %s/%d: %w", topic, partition, ErrNotOwned)
	case offset < 0:
		return fmt.Errorf("%w: record %d of %s/%d", ErrInvalid, offset, topic, partition)
	}
	if c.tracker == nil {
		c.tracker = new(Tracker)
	}
	c.tracker.Delivered(offset, epoch, now)
	return nil
}

// DoneOffset notes that the record at offset is done: its own offset, not the next to read. When
// all that were delivered before it are done too, that is an update of the partition. It fails
// as [Manager.UpdateOffset] does, and with [ErrNotDelivered].
func (m *Manager) DoneOffset(topic string, partition int32, offset int64) error {
	return m.DoneAt(topic, partition, offset, time.Time{})
}

// DoneAt is DoneOffset of a record with an event time, for OnWatermark; the zero time is unknown.
// The update that follows has the latest event time of the records that it is about.
func (m *Manager) DoneAt(topic string, partition int32, offset int64, eventTime time.Time) error {
	u := Update{Topic: topic, Partition: partition, Offset: offset, EventTime: eventTime}
	return m.update(&report{Update: u, logEnd: unknownEnd, record: true})
}

// done makes of a record that is done the update that follows from it. It is false if none
// does. The caller holds c.mu.
func (c *cell) done(r *report) (bool, error) {
	if c.tracker == nil {
		return false, fmt.Errorf("record %d of %s/%d is done: %w", r.Offset, c.tp.Topic, c.tp.Partition, ErrNotDelivered)
	}
	before, had := c.tracker.Committable()
	if err := c.tracker.DoneAt(r.Offset, ledger.AtTime(r.EventTime)); err != nil {
		return false, fmt.Errorf("%s/%d: %w", c.tp.Topic, c.tp.Partition, err)
	}
	now, ok := c.tracker.Committable()
	if !ok || had && now == before || now.Next < c.floor {
		return false, nil
	}
	r.Offset, r.LeaderEpoch = now.Next, now.LeaderEpoch
	r.EventTime, _ = now.EventTime.Std()
	return true, nil
}

// Stuck returns, of each partition with records in flight, the one that keeps it from moving
// on. Whether it is stuck or only being worked on is to be judged by its age.
func (m *Manager) Stuck() map[ledger.TopicPartition]Stuck {
	now := time.UnixMilli(m.millis())
	out := map[ledger.TopicPartition]Stuck{}
	for _, c := range m.cells.list() {
		c.mu.Lock()
		if c.tracker != nil {
			if s, ok := c.tracker.Stuck(now); ok {
				out[c.tp] = s
			}
		}
		c.mu.Unlock()
	}
	return out
}
