package commands

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/offsetledger/offsetledger/ledger"
)

// Update is one report of progress on one partition.
type Update struct {
	Topic     string
	Partition int32
	Offset    int64 // the next to read, that is one more than that of the last record processed
	// Metadata is free text that is committed with the offset, at most 4,096 bytes, as in Kafka.
	Metadata    string
	LeaderEpoch ledger.Epoch // of the last record processed; the zero Epoch is unknown
	// EventTime is that of the last record processed, for OnWatermark; the zero time is unknown.
	EventTime time.Time
}

// maxMetadata is Kafka's default limit in bytes.
const maxMetadata = 4096

// maxTopic is the longest name that Kafka's protocol carries, in bytes. One that no event can hold
// would keep everything from being committed.
const maxTopic = 1<<15 - 1

// UpdateOffset notes that the next offset to read is offset: one more than that of the last
// record processed, as everywhere in Kafka. [Manager.DoneOffset] takes a record's own offset.
//
// The update is pending until it is committed, and every single one is recorded. It fails with
// [ErrBehind], and is not taken, if it goes back behind the committed offset, unless
// [Config.AllowRewind] says otherwise; with [ErrInvalid] for a negative offset or partition or a
// topic that is empty or too long; with [ErrLogAway] when it cannot be recorded (see [WhenLogAway]); with
// [ErrNotOwned] after [Manager.Drop]. [ErrNotRunning] is different: the update was taken, but two
// intervals went by in which nobody ran [Manager.Run] and nothing was committed.
func (m *Manager) UpdateOffset(topic string, partition int32, offset int64) error {
	return m.update(&report{Update: Update{Topic: topic, Partition: partition, Offset: offset}, logEnd: unknownEnd})
}

// UpdateOffsetWithWatermark is UpdateOffset, and tells the high watermark (the offset after the
// last record in the partition's log), which lag is counted to.
func (m *Manager) UpdateOffsetWithWatermark(topic string, partition int32, offset, highWatermark int64) error {
	if highWatermark < 0 {
		return fmt.Errorf("%w: high watermark %d of %s/%d is negative", ErrInvalid, highWatermark, topic, partition)
	}
	return m.update(&report{Update: Update{Topic: topic, Partition: partition, Offset: offset}, logEnd: highWatermark})
}

// Update is UpdateOffset with all that can be said.
func (m *Manager) Update(u Update) error { return m.update(&report{Update: u, logEnd: unknownEnd}) }

const unknownEnd = -1

// report is an update on its way into its cell.
type report struct {
	Update
	logEnd int64
	// record says that Offset is a record's own, which is done: how far that brings the
	// partition is for its tracker to say.
	record bool
}

// update takes one report. It is the path that everything else keeps out of the way of: one
// lock of its partition, no allocation, no clock.
func (m *Manager) update(r *report) error {
	c := m.cells.find(r.Topic, r.Partition)
	if c == nil || r.Offset < 0 || len(r.Metadata) > maxMetadata {
		var err error
		if c, err = m.firstUpdate(&r.Update); err != nil {
			return err
		}
	}
	now := m.millis()
	c.mu.Lock()
	for c.credit == 0 && m.stopped.Load() == nil {
		again, err := m.refill(c)
		if err != nil {
			return err
		}
		if !again {
			break
		}
	}
	if taken, err := m.take(c, r, now); !taken {
		c.mu.Unlock()
		return err
	}
	c.mu.Unlock()
	if m.cfg.Strategy.kind == strategyEveryN && m.counted.Add(1) == int64(m.cfg.Strategy.n) {
		m.wake()
	}
	if m.clock.coarse.Load() == 0 {
		return m.notRunning(now)
	}
	return nil
}

// take puts a report into its cell, whose lock the caller holds. It is false without an error if
// there is nothing new in it.
func (m *Manager) take(c *cell, r *report, now int64) (bool, error) {
	switch {
	case m.stopped.Load() != nil:
		return false, m.stop()
	case c.dropped:
		return false, fmt.Errorf("update %s/%d: %w", c.tp.Topic, c.tp.Partition, ErrNotOwned)
	case r.record:
		if moved, err := c.done(r); !moved || err != nil {
			return false, err
		}
	case r.Offset < c.floor:
		return false, &BehindError{Topic: c.tp.Topic, Partition: c.tp.Partition, Offset: r.Offset, Committed: c.floor}
	}
	if c.credit > 0 {
		c.credit--
		if r.LeaderEpoch != (ledger.Epoch{}) || r.Metadata != "" || !r.EventTime.IsZero() {
			m.addExtra(c, &r.Update)
		}
		c.buf = append(c.buf, r.Offset)
	} else {
		m.lose(1) // there is no room for it and the business goes on
	}
	m.advance(c, &r.Update, now)
	if r.logEnd >= 0 {
		c.logEnd, c.hasLogEnd = r.logEnd, true
	}
	return true, nil
}

// advance makes u what the next commit says. The caller holds c.mu.
func (m *Manager) advance(c *cell, u *Update, now int64) {
	p := &c.pending
	p.at, p.when, p.epoch = u.Offset, now, u.LeaderEpoch
	if p.metadata != u.Metadata {
		p.metadata = u.Metadata
	}
	c.hasPending, c.refused = true, false
	if m.cfg.Strategy.kind == strategyOnWatermark {
		c.addWait(ledger.AtTime(u.EventTime))
	}
}

// firstUpdate checks what is rarely wrong and makes the partition's cell.
func (m *Manager) firstUpdate(u *Update) (*cell, error) {
	switch {
	case u.Offset < 0:
		return nil, fmt.Errorf("%w: offset %d of %s/%d is negative", ErrInvalid, u.Offset, u.Topic, u.Partition)
	case len(u.Metadata) > maxMetadata:
		return nil, fmt.Errorf("%w: metadata of %s/%d has %d bytes, and Kafka takes %d",
			ErrInvalid, u.Topic, u.Partition, len(u.Metadata), maxMetadata)
	}
	return m.cell(u.Topic, u.Partition)
}

// cell returns the cell of a partition, making it at need. A manager that takes nothing any more
// has none to write to.
func (m *Manager) cell(topic string, partition int32) (*cell, error) {
	if err := m.stop(); err != nil {
		return nil, err
	}
	if c := m.cells.find(topic, partition); c != nil {
		return c, nil
	}
	if err := validKey(topic, partition); err != nil {
		return nil, err
	}
	return m.cells.make(topic, partition), nil
}

func validKey(topic string, partition int32) error {
	switch {
	case topic == "":
		return fmt.Errorf("%w: the topic is empty", ErrInvalid)
	case len(topic) > maxTopic:
		return fmt.Errorf("%w: the name of a topic has %d bytes, and %d are taken", ErrInvalid, len(topic), maxTopic)
	case partition < 0 || partition >= maxPartition:
		return fmt.Errorf("%w: partition %d of %s is not in 0 to %d", ErrInvalid, partition, topic, maxPartition-1)
	}
	return nil
}

// addExtra notes what the update about to be buffered has beside its offset.
func (m *Manager) addExtra(c *cell, u *Update) {
	cost := int64(extraCost + len(u.Metadata)/8)
	m.budget.used.Add(cost) // over the limit by this one at most
	c.cost += cost
	c.extras = append(c.extras, extra{
		i: len(c.buf), epoch: u.LeaderEpoch, eventTime: ledger.AtTime(u.EventTime), metadata: u.Metadata,
	})
}

// budget bounds the updates that are not recorded yet.
type budget struct {
	used   atomic.Int64
	limit  int64
	enough int64 // from here on it is worth recording what there is
}

// What an update costs beside the one unit for its offset if it has more, in offsets.
const extraCost = 5

// maxCredit is how many updates a partition may take before it asks the budget again. It grows
// with what is buffered, so that partitions with few updates do not hold what others need.
const maxCredit = 256

// reserve takes n of the budget; crossed is whether there has come to be enough to record.
func (b *budget) reserve(n int64) (ok, crossed bool) {
	used := b.used.Add(n)
	if used > b.limit {
		b.used.Add(-n)
		return false, false
	}
	return true, used >= b.enough && used-n < b.enough
}

// refill gets c room for more updates. The caller holds c.mu, and does not if there is an error.
// Again is whether it was let go meanwhile, so that everything has to be looked at again.
func (m *Manager) refill(c *cell) (again bool, err error) {
	n := int64(min(max(len(c.buf), 1), maxCredit))
	ok, crossed := m.budget.reserve(n)
	if !ok {
		n = 1
		ok, crossed = m.budget.reserve(n)
	}
	if ok {
		c.credit += int(n)
		c.cost += n
		if !crossed {
			return false, nil
		}
		c.mu.Unlock()
		m.enough()
		c.mu.Lock()
		return true, nil
	}
	if m.away.Load() {
		return m.full(c)
	}
	c.mu.Unlock()
	err = m.makeRoom()
	c.mu.Lock()
	if err != nil && m.stop() == nil {
		return m.full(c)
	}
	return true, nil
}

// full is what happens to an update for which there is no room and will be none soon.
func (m *Manager) full(c *cell) (again bool, err error) {
	if m.cfg.WhenLogAway == CommitAndMarkGap {
		return false, nil
	}
	c.mu.Unlock()
	return false, fmt.Errorf("update %s/%d: %w: %d updates wait to be recorded", c.tp.Topic, c.tp.Partition, ErrLogAway, m.cfg.BufferLimit)
}

// wake tells Run that there is something to do.
func (m *Manager) wake() {
	select {
	case m.nudge <- struct{}{}:
	default:
	}
}
