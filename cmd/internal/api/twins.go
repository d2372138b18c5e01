package api

import (
	"iter"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// An offset manager that commits to Kafka tells what it did, and the tail tells what it saw: one
// commit, whose row names both sources. The second telling comes some events after the first, so
// rows that wait for one are held back, and all behind them, within bounds: a manager that was cut
// off tells much later, and one that was killed never.
const (
	heldTells = 4096   // events that are told at most while one waits
	heldRows  = 20_000 // rows that are held at most
)

// holder holds events back until their second telling has come.
type holder struct {
	held  []*heldEvent
	open  map[firstTelling]*heldEvent // those that wait, by each row that they wait for
	rows  int                         // in held
	told  uint64                      // events so far
	spare [][]projection.Change
}

// heldEvent is an event with changes of its own.
type heldEvent struct {
	event
	open  int    // rows that it waits for
	since uint64 // in holder.told
}

// firstTelling is what a second telling says of the first. An event tells of a partition once.
type firstTelling struct {
	seq   uint64
	group string
	ledger.TopicPartition
}

// together passes events on, in the same order, with both sources of what was told twice.
func together(events iter.Seq2[event, error]) iter.Seq2[event, error] {
	return func(yield func(event, error) bool) {
		h := holder{open: map[firstTelling]*heldEvent{}}
		for e, err := range events {
			if err != nil {
				yield(event{}, err)
				return
			}
			h.told++
			h.match(&e)
			if !h.release(yield, false) {
				return
			}
			if e.size() > 0 && (len(h.held) > 0 || waits(&e)) {
				h.hold(e)
			} else if !yield(e, nil) {
				return
			}
		}
		h.release(yield, true)
	}
}

// waits reports whether a row of e is to be told again.
func waits(e *event) bool {
	for i := range e.changes {
		if e.changes[i].Twin {
			return true
		}
	}
	return false
}

func (h *holder) hold(e event) {
	var own []projection.Change
	if n := len(h.spare); n > 0 {
		own, h.spare = h.spare[n-1], h.spare[:n-1]
	}
	e.changes = append(own, e.changes...)
	w := &heldEvent{event: e, since: h.told}
	for i := range e.changes {
		ch := &e.changes[i]
		key := firstTelling{e.seq, ch.Group, ledger.TopicPartition{Topic: ch.Topic, Partition: ch.Partition}}
		if _, twice := h.open[key]; ch.Twin && !twice {
			h.open[key] = w
			w.open++
		}
	}
	h.held = append(h.held, w)
	h.rows += e.size()
}

// match notes in the events that are held what e tells again.
func (h *holder) match(e *event) {
	for i := range e.twins {
		twin := &e.twins[i]
		key := firstTelling{twin.Seq, twin.Group, twin.TopicPartition}
		w, ok := h.open[key]
		if !ok {
			continue
		}
		delete(h.open, key)
		w.open--
		for j := range w.changes {
			ch := &w.changes[j]
			if ch.Partition == twin.Partition && ch.Topic == twin.Topic && ch.Group == twin.Group && ch.To.At == twin.At {
				ch.Also = e.source
			}
		}
	}
}

// release passes on the oldest events for as far as they wait for nothing, or have waited enough;
// all of them at the end. It is false when no more are wanted.
func (h *holder) release(yield func(event, error) bool, all bool) bool {
	n := 0
	for _, w := range h.held {
		if !all && w.open > 0 && h.told-w.since <= heldTells && h.rows <= heldRows {
			break
		}
		n++
		h.rows -= w.size()
		h.forget(w)
		if !yield(w.event, nil) {
			return false
		}
		h.spare = append(h.spare, w.changes[:0])
	}
	left := copy(h.held, h.held[n:])
	clear(h.held[left:])
	h.held = h.held[:left]
	return true
}

// forget ends what w waits for.
func (h *holder) forget(w *heldEvent) {
	for i := range w.changes {
		if w.open == 0 {
			return
		}
		ch := &w.changes[i]
		key := firstTelling{w.seq, ch.Group, ledger.TopicPartition{Topic: ch.Topic, Partition: ch.Partition}}
		if h.open[key] == w {
			delete(h.open, key)
			w.open--
		}
	}
}
