package stream

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/offsetledger/offsetledger/ledger"
)

// What one atomic batch holds. The server takes no more messages; the bytes keep a batch from
// standing in the way of readers for long.
const (
	maxMessages = 1000
	maxBytes    = 8 << 20
)

// maxEvent is the size in bytes above which an event is cut into parts. NATS takes 1 MiB with
// subject and headers.
const maxEvent = 900 << 10

// message is an event ready to be stored.
type message struct {
	subject string
	data    []byte
	id      uuid.UUID // of the event; with part, what the message is known by
	part    int32
	expect  *ledger.Expect // nil for none
}

// transaction is what one caller appends: stored whole or not at all.
type transaction struct {
	messages []message
	expects  []ledger.Expect
	bytes    int

	state   state      // guarded by appender.mu
	entered chan state // tells the caller of leading and finished, each at most once

	// The leader sets these before the transaction is finished; its caller reads them after.
	receipt ledger.Receipt
	err     error
}

// newTransaction encodes events. Those without id get one, those too large are cut; the
// caller's are not touched.
func newTransaction(events []ledger.Event, expects []ledger.Expect) (*transaction, error) {
	t := &transaction{expects: slices.Clone(expects), entered: make(chan state, 2)}
	if len(events) == 0 {
		return nil, fmt.Errorf("%w: there is no event to append", ledger.ErrInvalid)
	}
	t.messages = make([]message, 0, len(events))
	var buf []byte
	for i := range events {
		e := events[i]
		if e.ID == uuid.Nil {
			id, err := uuid.NewV7()
			if err != nil {
				return nil, err
			}
			e.ID = id
		}
		if err := e.Validate(); err != nil {
			return nil, fmt.Errorf("event %d: %w", i, err)
		}
		var err error
		if buf, err = t.add(buf, &e); err != nil {
			return nil, fmt.Errorf("event %d: %w", i, err)
		}
		if i == 0 {
			buf = slices.Grow(buf, min(len(buf)*(len(events)-1), maxBytes)) // the others are much alike
		}
	}
	if len(t.messages) > maxMessages || t.bytes > maxBytes {
		return nil, fmt.Errorf("%w: %d messages of %d bytes, and a batch holds %d of %d: append in several steps",
			ledger.ErrTooLarge, len(t.messages), t.bytes, maxMessages, maxBytes)
	}
	return t, t.placeExpects()
}

// add encodes e at the end of buf, cut into parts if it is too large, and returns what is left
// of buf for the next.
func (t *transaction) add(buf []byte, e *ledger.Event) ([]byte, error) {
	start := len(buf)
	buf, err := e.AppendBinary(buf)
	if err != nil && !errors.Is(err, ledger.ErrTooLarge) { // more rows than one event may have can be cut as well
		return nil, err
	}
	data := buf[start:len(buf):len(buf)]
	if err == nil && len(data) <= maxEvent {
		t.addMessage(e, data)
		return buf, nil
	}
	parts, err := e.Split(maxEvent)
	if err != nil {
		return nil, err
	}
	for i := range parts {
		data, err := parts[i].AppendBinary(nil)
		if err != nil {
			return nil, err
		}
		t.addMessage(&parts[i], data)
	}
	return buf[:start], nil
}

func (t *transaction) addMessage(e *ledger.Event, data []byte) {
	subject := e.Subject()
	t.messages = append(t.messages, message{subject: subject, data: data, id: e.ID, part: e.Part})
	t.bytes += len(subject) + len(data)
}

// placeExpects puts each expectation on a message. The server checks it when it comes to that
// message, against what was stored before the batch, so that it has to come before any message
// that its filter matches, or be on the first of them. A message carries one at most.
func (t *transaction) placeExpects() error {
	type placed struct {
		expect   *ledger.Expect
		deadline int // index of the first message that the filter matches
	}
	all := make([]placed, len(t.expects))
	for i := range t.expects {
		x := &t.expects[i]
		all[i] = placed{x, len(t.messages) - 1}
		matches := matcher(x.Filter)
		for j := range t.messages {
			if matches(t.messages[j].subject) {
				all[i].deadline = j
				break
			}
		}
	}
	slices.SortStableFunc(all, func(a, b placed) int { return cmp.Compare(a.deadline, b.deadline) })
	for i, p := range all {
		if i > p.deadline {
			return fmt.Errorf("%w: %d expectations find no room on %d events in this order", ledger.ErrInvalid, len(all), len(t.messages))
		}
		t.messages[i].expect = p.expect
	}
	return nil
}
