package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/offsetledger/offsetledger/ledger"
)

// Reset says where a partition is to be set.
type Reset struct {
	kind ResetKind
	at   int64
	time time.Time
}

// ResetKind is how a [Reset] names an offset.
type ResetKind uint8

// The kinds of reset.
const (
	ResetEarliest  ResetKind = iota + 1 // the first offset that is still there
	ResetLatest                         // the high watermark
	ResetSpecific                       // an offset
	ResetTimestamp                      // the first record at or after a time
)

// Earliest is the first offset that is still in the log.
func Earliest() Reset { return Reset{kind: ResetEarliest} }

// Latest is the high watermark: only what comes from now on is read.
func Latest() Reset { return Reset{kind: ResetLatest} }

// Specific is the offset n.
func Specific(n int64) Reset { return Reset{kind: ResetSpecific, at: n} }

// Timestamp is the offset of the first record whose timestamp is at or after t.
func Timestamp(t time.Time) Reset { return Reset{kind: ResetTimestamp, time: t} }

// Kind says what r is; 0 for the zero Reset, which is none.
func (r Reset) Kind() ResetKind { return r.kind }

// Offset is n of [Specific].
func (r Reset) Offset() (int64, bool) { return r.at, r.kind == ResetSpecific }

// Time is t of [Timestamp].
func (r Reset) Time() (time.Time, bool) { return r.time, r.kind == ResetTimestamp }

// String is the reset in words, as in "offset 42" or "earliest".
func (r Reset) String() string {
	switch r.kind {
	case ResetEarliest:
		return "earliest"
	case ResetLatest:
		return "latest"
	case ResetSpecific:
		return fmt.Sprintf("offset %d", r.at)
	case ResetTimestamp:
		return "time " + r.time.UTC().Format(time.RFC3339Nano)
	}
	return "no reset"
}

// ResetOffset sets the committed offset of a partition on purpose, forward or back, and returns
// what it is now. What was pending of the partition is forgotten. It is a reset event in the
// history, with the offset before.
//
// Earliest, latest and a time are for Kafka to resolve. Without commits to Kafka earliest and
// latest are those that were told last ([Manager.Observe], [Manager.UpdateOffsetWithWatermark]),
// and what was never told is refused with [ErrUnknown], as is a time.
func (m *Manager) ResetOffset(ctx context.Context, topic string, partition int32, r Reset) (int64, error) {
	if err := m.begin(ctx); err != nil {
		return 0, fmt.Errorf("reset %s/%d: %w", topic, partition, err)
	}
	defer m.end()
	at, err := m.resolve(ctx, topic, partition, r)
	if err == nil {
		err = m.rewrite(ctx, []ledger.Offset{{Topic: topic, Partition: partition, At: at}}, "reset to "+r.String())
	}
	if err != nil {
		return 0, fmt.Errorf("reset %s/%d to %s: %w", topic, partition, r, err)
	}
	return at, nil
}

func (m *Manager) resolve(ctx context.Context, topic string, partition int32, r Reset) (int64, error) {
	if err := validKey(topic, partition); err != nil {
		return 0, err
	}
	if r.kind < ResetEarliest || r.kind > ResetTimestamp {
		return 0, fmt.Errorf("%w: the zero Reset says nothing", ErrInvalid)
	}
	if at, ok := r.Offset(); ok {
		if at < 0 {
			return 0, fmt.Errorf("%w: the offset is negative", ErrInvalid)
		}
		return at, nil
	}
	if m.cfg.KafkaCommits {
		b := m.broker.Load()
		if b == nil {
			return 0, ErrNoBroker
		}
		return (*b).Resolve(ctx, ledger.TopicPartition{Topic: topic, Partition: partition}, r)
	}
	if at, ok := m.logEnd(topic, partition, r.kind); ok {
		return at, nil
	}
	return 0, fmt.Errorf("%w without Kafka: name the offset with Specific", ErrUnknown)
}

// logEnd is the end of a partition's log that a reset means, if it was told.
func (m *Manager) logEnd(topic string, partition int32, kind ResetKind) (int64, bool) {
	c := m.cells.find(topic, partition)
	if c == nil {
		return 0, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch kind {
	case ResetEarliest:
		return c.logStart, c.hasLogStart
	case ResetLatest:
		return c.logEnd, c.hasLogEnd
	}
	return 0, false
}

// rewrite makes rows the committed offsets: what was intended is recorded before anything is
// written to Kafka, and what was done after.
func (m *Manager) rewrite(ctx context.Context, rows []ledger.Offset, reason string) error {
	if err := m.drain(ctx); err != nil {
		return err
	}
	if err := m.flushAll(ctx); err != nil { // what was updated before comes before
		return err
	}
	plan, err := m.intend(ctx, rows, reason)
	if err != nil {
		return err
	}
	if m.cfg.KafkaCommits {
		if rows, err = m.rewriteKafka(ctx, rows); err != nil {
			return err
		}
	}
	o, err := m.event(ledger.KindReset)
	if err != nil {
		return err
	}
	ev := &o.event
	for i := range rows {
		rows[i].CommitTime, rows[i].Effective, rows[i].SourceOffset = ev.Time, ev.Time, ev.Source.Offset
	}
	ev.Offsets, ev.Before, ev.Reason, ev.Plan = rows, m.before(rows), reason, plan
	when, _ := ev.Time.Millis()
	if m.cfg.KafkaCommits { // it is done, whatever becomes of its record
		m.setAll(rows, when)
		return m.record(ctx, o, true)
	}
	o.then = func(stored bool) {
		if stored {
			m.setAll(rows, when)
		}
	}
	return m.write(ctx, o)
}

// maxIntents is how often the intent of a reset tries to get past the commits of others.
const maxIntents = 5

// intend records what is about to be written to Kafka, and returns the id that links it to what
// follows. It expects that nobody writes of the group meanwhile.
func (m *Manager) intend(ctx context.Context, rows []ledger.Offset, reason string) (string, error) {
	if !m.cfg.KafkaCommits {
		return "", nil
	}
	if m.broker.Load() == nil {
		return "", ErrNoBroker
	}
	id, err := uuid.NewV7()
	if err != nil {
		return "", err
	}
	group := ledger.GroupSubjects(m.cfg.Cluster, m.cfg.Group)
	for range maxIntents {
		var last uint64
		if last, err = m.log.LastOf(ctx, group); err != nil {
			return "", err
		}
		var o *outgoing
		if o, err = m.event(ledger.KindIntent); err != nil {
			return "", err
		}
		o.event.Offsets, o.event.Before, o.event.Reason, o.event.Plan = rows, m.before(rows), reason, id.String()
		_, err = m.log.Append(ctx, []ledger.Event{o.event}, ledger.Expect{Filter: group, Seq: last})
		if !errors.Is(err, ledger.ErrConflict) {
			break
		}
	}
	return id.String(), err
}

// before are the committed offsets that rows are about to replace.
func (m *Manager) before(rows []ledger.Offset) []ledger.Offset {
	var before []ledger.Offset
	for i := range rows {
		c := m.cells.find(rows[i].Topic, rows[i].Partition)
		if c == nil {
			continue
		}
		c.mu.Lock()
		if c.hasCommitted {
			when := ledger.AtMillis(c.committed.when)
			before = append(before, ledger.Offset{
				Topic: c.tp.Topic, Partition: c.tp.Partition, At: c.committed.at, LeaderEpoch: c.committed.epoch,
				Metadata: c.committed.metadata, CommitTime: when, Effective: when,
			})
		}
		c.mu.Unlock()
	}
	return before
}

// rewriteKafka commits rows to Kafka and returns them as they were sent.
func (m *Manager) rewriteKafka(ctx context.Context, rows []ledger.Offset) ([]ledger.Offset, error) {
	sent := m.time()
	answered, err := (*m.broker.Load()).Commit(ctx, rows)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("to Kafka: %w", err), m.recordFailed(ctx, rows, ledger.CauseTimedOut, sent))
	}
	var accepted, refused []ledger.Offset
	for _, r := range answered {
		if r.ErrorCode == 0 {
			accepted = append(accepted, r)
		} else {
			refused = append(refused, r)
		}
	}
	if len(refused) == 0 {
		return accepted, nil
	}
	now, _ := m.time().Millis()
	m.setAll(accepted, now)
	return nil, errors.Join(&RefusedError{Rows: refused}, m.recordFailed(ctx, refused, ledger.CauseRefused, sent))
}

// setAll makes rows the committed offsets and forgets what is pending of their partitions.
func (m *Manager) setAll(rows []ledger.Offset, when int64) {
	for i := range rows {
		c := m.cells.make(rows[i].Topic, rows[i].Partition)
		c.mu.Lock()
		c.forget()
		c.committed = mark{at: rows[i].At, when: when, epoch: rows[i].LeaderEpoch, metadata: rows[i].Metadata}
		c.hasCommitted = true
		c.setFloor(m.cfg.AllowRewind)
		c.mu.Unlock()
	}
}
