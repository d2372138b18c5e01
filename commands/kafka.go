package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/offsetledger/offsetledger/ledger"
)

// commitToKafka commits b to the broker and records what came of it. What the broker has
// accepted is committed, whether or not the ledger is to be had.
func (m *Manager) commitToKafka(ctx context.Context, b *batch) (int, error) {
	sent := m.time()
	for i := range b.rows {
		if b.rows[i].Metadata == "" { // the client may put its own there; a reset means none
			b.rows[i].Flags |= ledger.FlagNoMetadata
		}
	}
	rows, err := (*m.broker.Load()).Commit(ctx, b.rows)
	if err == nil && len(rows) != len(b.rows) {
		err = fmt.Errorf("the answer has %d rows instead of %d", len(rows), len(b.rows))
	}
	if err != nil {
		m.settled(b, false, 0)
		lost := m.recordFailed(ctx, b.rows, ledger.CauseTimedOut, sent)
		return 0, errors.Join(fmt.Errorf("to Kafka: %w", err), lost)
	}
	at := m.time()
	when, _ := at.Millis()
	var accepted, refused []ledger.Offset
	fenced := true
	for i, e := range b.entries {
		if rows[i].ErrorCode == 0 {
			m.landAs(e, &rows[i], when)
			accepted = append(accepted, rows[i])
			continue
		}
		refused = append(refused, rows[i])
		fenced = fenced && fences(rows[i].ErrorCode)
		m.putBack(e, !passes(rows[i].ErrorCode))
	}
	if len(refused) == 0 {
		m.stats.succeeded(len(accepted), m.cfg.Clock(), b.began)
		return len(accepted), m.recordCommitted(ctx, accepted, sent, at)
	}
	m.stats.partly(len(accepted))
	cause := ledger.CauseRefused
	if fenced {
		cause = ledger.CauseFenced
	}
	var lost error
	if len(accepted) > 0 {
		lost = m.recordCommitted(ctx, accepted, sent, at)
	}
	lost = errors.Join(lost, m.recordFailed(ctx, refused, cause, sent))
	return len(accepted), errors.Join(&RefusedError{Rows: refused}, lost)
}

// Kafka's error codes that say how to go on.
const (
	codeCoordinatorLoading      = 14
	codeCoordinatorNotAvailable = 15
	codeNotCoordinator          = 16
	codeIllegalGeneration       = 22
	codeUnknownMember           = 25
	codeRebalanceInProgress     = 27
	codeFencedInstance          = 82
	codeFencedMemberEpoch       = 110
	codeStaleMemberEpoch        = 113
	codeUnknownTopic            = 3
	codeRequestTimedOut         = 7
)

// passes reports whether a refused row can be accepted later as it is.
func passes(code int16) bool {
	return slices.Contains([]int16{
		codeCoordinatorLoading, codeCoordinatorNotAvailable, codeNotCoordinator, codeRebalanceInProgress,
		codeUnknownTopic, codeRequestTimedOut,
	}, code)
}

// fences reports whether a row was refused because the member no longer owns what it commits.
func fences(code int16) bool {
	return slices.Contains([]int16{
		codeIllegalGeneration, codeUnknownMember, codeFencedInstance, codeFencedMemberEpoch, codeStaleMemberEpoch,
	}, code)
}

// landAs is land for a row as the broker took it: with its own idea of epoch and metadata.
func (m *Manager) landAs(e entry, row *ledger.Offset, when int64) {
	c := e.c
	c.mu.Lock()
	if c.hasInflight {
		c.inflight.epoch, c.inflight.metadata = row.LeaderEpoch, row.Metadata
	}
	c.mu.Unlock()
	m.land(e, when)
}

// recordCommitted records rows that Kafka has committed, between the moments sent and at, with
// the updates before them.
func (m *Manager) recordCommitted(ctx context.Context, rows []ledger.Offset, sent, at ledger.Time) error {
	now := !m.waiting()
	o, err := m.commitEvent(rows, at, now)
	if err != nil {
		return err
	}
	o.event.NotBefore = sent
	return m.record(ctx, o, now)
}

// recordFailed records rows that Kafka has not committed, or not for all that is known.
func (m *Manager) recordFailed(ctx context.Context, rows []ledger.Offset, cause ledger.Cause, sent ledger.Time) error {
	o, err := m.event(ledger.KindFailed)
	if err != nil {
		return err
	}
	o.event.Cause, o.event.NotBefore = cause, sent
	for i := range rows {
		rows[i].Effective, rows[i].SourceOffset = o.event.Time, o.event.Source.Offset
	}
	o.event.Offsets = rows
	return m.record(ctx, o, !m.waiting())
}

// waiting reports whether earlier events have not found their way into the ledger, so that
// later ones have to line up.
func (m *Manager) waiting() bool { return m.w.doubt != nil || len(m.w.backlog) > 0 }

// record stores an event of a commit that is a fact in Kafka. If it cannot be stored now it is
// later. Under Block that is an error.
func (m *Manager) record(ctx context.Context, o *outgoing, now bool) error {
	if !now {
		m.leave(o)
		return m.late(nil)
	}
	if m.cfg.WhenLogAway == CommitAndMarkGap {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, m.cfg.LogWait)
		defer cancel()
	}
	err := m.write(ctx, o)
	if err == nil || m.w.doubt == o {
		return m.late(err)
	}
	return err
}

// late is what the caller of a commit is told of an event that will be stored later.
func (m *Manager) late(err error) error {
	if m.cfg.WhenLogAway == CommitAndMarkGap {
		return nil
	}
	if err == nil && m.waiting() {
		err = fmt.Errorf("%w: the commit is in Kafka and is recorded later", ErrLogAway)
	}
	return err
}
