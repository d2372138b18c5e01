package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/offsetledger/offsetledger/ledger"
)

// writer is what whoever has the turn to write owns.
type writer struct {
	claim  uint64      // sequence of the manager's claim; 0 without
	known  uint64      // the last sequence that this manager saw stored
	number int64       // events made so far
	last   ledger.Time // of the last of them

	// doubt is the event that was sent and may be stored or not, nil if there is none. Nothing
	// else is written before that is settled.
	doubt *outgoing
	// backlog holds events that have to be stored and could not be, oldest first: commits that
	// Kafka has, and updates that a failed commit carried.
	backlog []*outgoing
	gap     gap

	watermark time.Time // the last one that was committed for
	tried     time.Time // when a commit to Kafka last tried to reach a ledger that was away

	collected
}

// outgoing is an event on its way into the ledger.
type outgoing struct {
	event ledger.Event
	cost  int64  // of the budget, which is free again when the event is stored
	sent  bool   // it may be stored
	after uint64 // then above this sequence
	seq   uint64 // of the event once it is known to be stored, of its last part if it is in parts
	again bool   // it was looked for and was not there, up to looked
	// looked is the last sequence of the event's subject at that time.
	looked uint64
	// then is told how it ended, nil if nobody has to know. An event with then that is found not
	// to be stored is not sent again: what it says may be overtaken. One without is sent until it is.
	then func(stored bool)
}

// event makes an event of this manager.
func (m *Manager) event(kind ledger.Kind) (*outgoing, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return nil, err
	}
	m.w.number++
	return &outgoing{event: ledger.Event{
		ID: id, Kind: kind, Cluster: m.cfg.Cluster, Group: m.cfg.Group, Time: m.time(),
		Source: ledger.Source{Kind: ledger.SourceManager, Offset: m.w.number, Instance: m.instance},
	}}, nil
}

// write stores an event. If it fails nothing is stored, unless the error is ErrOutcomeUnknown:
// then the event is in doubt. That ctx ends on the way is no reason for doubt by itself: a moment
// is taken to find out.
func (m *Manager) write(ctx context.Context, o *outgoing) error {
	sent := m.send(ctx, o)
	if m.w.doubt != o {
		return sent
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.cfg.LogWait)
	defer cancel()
	stored, err := m.find(grace, o)
	if err != nil {
		m.away.Store(true)
		return fmt.Errorf("%w: %w: %w", ErrLogAway, ErrOutcomeUnknown, sent)
	}
	if !stored && o.then == nil {
		return fmt.Errorf("%w: %w", ErrLogAway, sent) // in doubt until it is sent again
	}
	m.finish(o, stored)
	if stored {
		return nil
	}
	if err := m.fenced(); err != nil {
		return err
	}
	return fmt.Errorf("nothing was stored: %w", sent)
}

// send appends o, and leaves it in doubt if the answer does not say what became of it.
func (m *Manager) send(ctx context.Context, o *outgoing) error {
	if !o.sent {
		if err := m.lookUp(ctx); err != nil {
			m.w.doubt = o
			return err
		}
		o.sent, o.after = true, m.w.known
	}
	r, err := m.log.Append(ctx, []ledger.Event{o.event}, m.expects(o)...)
	switch {
	case errors.Is(err, ledger.ErrConflict) && m.cfg.KafkaCommits:
		// Somebody has written since it was looked for: it may have been this very event.
	case err == nil:
		m.w.known, o.seq = r.Last, r.Last
		m.away.Store(false)
		m.finish(o, true)
		return nil
	case errors.Is(err, ledger.ErrConflict):
		m.finish(o, false)
		return m.fence(fmt.Errorf("offset manager of %s/%s was taken over: %w", m.cfg.Cluster, m.cfg.Group, err))
	case errors.Is(err, ledger.ErrInvalid), errors.Is(err, ledger.ErrTooLarge):
		m.finish(o, false)
		return err
	}
	m.w.doubt = o
	return err
}

// lookUp learns where the history of the group ends, before the first event is sent: to look
// for that event must not mean to read all of it.
func (m *Manager) lookUp(ctx context.Context) error {
	if m.w.known > 0 {
		return nil
	}
	last, err := m.log.LastOf(ctx, ledger.GroupSubjects(m.cfg.Cluster, m.cfg.Group))
	m.w.known = last
	return err
}

// finish ends o.
func (m *Manager) finish(o *outgoing, stored bool) {
	if m.w.doubt == o {
		m.w.doubt = nil
	}
	if stored || o.then == nil {
		m.budget.used.Add(-o.cost)
	}
	if o.then != nil {
		o.then(stored)
	}
}

// settle finds out what became of the event in doubt.
func (m *Manager) settle(ctx context.Context) error {
	o := m.w.doubt
	if o == nil {
		return nil
	}
	stored, err := m.find(ctx, o)
	switch {
	case err != nil:
		m.away.Store(true)
		return fmt.Errorf("%w: %w: %w", ErrLogAway, ErrOutcomeUnknown, err)
	case stored || o.then != nil:
		m.away.Store(false)
		m.finish(o, stored)
		return m.fenced()
	case m.fenced() != nil:
		return m.fenced()
	}
	for range maxAgain {
		if err = m.write(ctx, o); !errors.Is(err, ledger.ErrConflict) || m.fenced() != nil {
			break // or another member of the group has written in between
		}
	}
	return err
}

// maxAgain is how often an event is sent again at a time if others write between a look and that.
const maxAgain = 5

// find looks for an event that may be stored. If the manager has a claim it renews it first:
// what was sent under the old one is then stored already or never will be.
func (m *Manager) find(ctx context.Context, o *outgoing) (bool, error) {
	if !o.sent {
		return false, nil
	}
	if !m.cfg.KafkaCommits {
		if err := m.claim(ctx); err != nil && m.fenced() == nil {
			return false, err
		}
	}
	subject := o.event.Subject()
	last, err := m.log.LastOf(ctx, subject)
	if err != nil {
		return false, err
	}
	if last > o.after {
		for rec, err := range m.log.Read(ctx, o.after+1, last, ledger.Filter{Subjects: []string{subject}}) {
			if err != nil {
				return false, err
			}
			if rec.Event.ID == o.event.ID {
				o.seq = rec.Seq
			}
		}
	}
	if o.seq != 0 {
		m.w.known = max(m.w.known, o.seq)
		return true, nil
	}
	o.again, o.looked = true, last
	return false, nil
}

// expects is what has to hold for o to be stored: that the manager's claim is still the last. One
// that has none makes sure, when it sends an event again, that nothing was stored under its
// subject since it was looked for there: what was sent first would have been.
func (m *Manager) expects(o *outgoing) []ledger.Expect {
	switch {
	case !m.cfg.KafkaCommits:
		return []ledger.Expect{{Filter: m.claims, Seq: m.w.claim}}
	case o.again:
		return []ledger.Expect{{Filter: o.event.Subject(), Seq: o.looked}}
	}
	return nil
}

// drain stores what is left over from before: the event in doubt, the backlog, the gap.
func (m *Manager) drain(ctx context.Context) error {
	if err := m.settle(ctx); err != nil {
		return err
	}
	for len(m.w.backlog) > 0 {
		o := m.w.backlog[0]
		m.w.backlog = m.w.backlog[1:] // if it is in doubt, that is where it waits
		if err := m.write(ctx, o); err != nil {
			if m.w.doubt != o && m.fenced() == nil {
				m.cfg.Logger.Error("an event of the offset manager cannot be stored", "kind", o.event.Kind.String(), "error", err)
				continue
			}
			return err
		}
	}
	return m.writeGap(ctx)
}

// leave hands an event over to those who write later.
func (m *Manager) leave(o *outgoing) {
	m.w.backlog = append(m.w.backlog, o)
	m.boundBacklog()
}
