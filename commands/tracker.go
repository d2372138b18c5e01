package commands

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/offsetledger/offsetledger/ledger"
)

// ErrNotDelivered says that a record was reported done which was never delivered: a mistake of
// the caller, most often a next offset given where the record's own is meant.
var ErrNotDelivered = errors.New("never delivered")

// Position is where reading goes on: what a commit says.
type Position struct {
	Next        int64        // the offset to read next
	LeaderEpoch ledger.Epoch // of the last record before Next
	// EventTime is the latest event time of the records that the position passed when it last
	// moved, of those that were told; unknown if none was.
	EventTime ledger.Time
}

// Stuck is the record that keeps the position from moving on.
type Stuck struct {
	Offset int64
	Age    time.Duration // since it was delivered; up to a second too long
}

// Tracker tells how far the records of one partition are done without a gap, whatever the
// order in which parallel workers finish them.
//
// The records have to be delivered in the order of the log, as a poll returns them. What
// follows a record is the next one delivered, not the next number: compacted records,
// transaction markers and aborted batches leave holes in the offsets that nobody is ever done
// with.
//
// The memory it takes is that of the ranges of records that are in flight or done behind one
// in flight, not of the records: one stuck record with ten million done behind it is two
// ranges.
//
// A Tracker holds no clock and no lock. The zero Tracker is ready to use; a partition that is
// assigned anew, and one whose position was set on purpose, gets a new one.
type Tracker struct {
	prefix Position // the end of what is done; meaningless unless any
	any    bool     // something is done
	// spans are what lies behind the prefix, ascending. The first is in flight. Two that are
	// done never stand side by side.
	spans []span

	first, last int64 // delivered; meaningless unless seen
	floor       int64 // what lies before it is done with, or none of ours
	seen        bool
	epoch       ledger.Epoch // the highest delivered
	inFlight    int
}

// span is a range of records that are all done or all in flight. One in flight holds every
// offset of its range, all of one leader epoch; one that is done may have holes.
type span struct {
	first, last int64
	since       int64        // in flight: when its first record was delivered, nanoseconds
	epoch       ledger.Epoch // of its last record
	latest      ledger.Time  // done: the latest event time of its records
	done        bool
}

// sameAge is the difference in age within which records in flight share a span, and so the
// inaccuracy of [Stuck].
const sameAge = int64(time.Second)

// Delivered notes that a record was handed to the application.
//
// One that was delivered before changes nothing: in flight it stays in flight, done it stays
// done, so that a record that comes again after a rebalance is waited for once. There are two
// exceptions, in which all that is known at and after the offset is forgotten and the position
// goes back there: a leader epoch above all that were delivered, since then the log was
// truncated and this is another record; and an offset before the first delivered, since then
// the caller has gone back.
func (t *Tracker) Delivered(offset int64, epoch ledger.Epoch, now time.Time) {
	switch {
	case !t.seen:
		t.first, t.floor, t.seen = offset, offset, true
	case offset > t.last:
	case offset < t.first || newer(epoch, t.epoch):
		t.forget(offset)
	default:
		return
	}
	t.last = offset
	if newer(epoch, t.epoch) {
		t.epoch = epoch
	}
	t.inFlight++
	at := now.UnixNano()
	if n := len(t.spans); n > 0 {
		s := &t.spans[n-1]
		if !s.done && s.last+1 == offset && s.epoch == epoch && at-s.since < sameAge {
			s.last = offset
			return
		}
	}
	t.spans = append(t.spans, span{first: offset, last: offset, since: at, epoch: epoch})
}

// newer reports whether epoch a is known to be above epoch b.
func newer(a, b ledger.Epoch) bool {
	an, aok := a.Get()
	bn, bok := b.Get()
	return aok && bok && an > bn || aok && !bok
}

// forget drops what is known at and after offset.
func (t *Tracker) forget(offset int64) {
	t.first, t.floor = min(t.first, offset), min(t.floor, offset)
	if t.any && offset < t.prefix.Next {
		t.prefix, t.any = Position{}, false
	}
	i := sort.Search(len(t.spans), func(i int) bool { return t.spans[i].last >= offset })
	kept := t.spans[:i]
	for _, s := range t.spans[i:] {
		if !s.done {
			t.inFlight -= int(s.last - max(s.first, offset) + 1)
		}
		if s.first < offset {
			s.last = offset - 1
			if s.done { // it may have held several
				s.epoch = ledger.Epoch{}
			}
			kept = append(kept, s)
		}
	}
	t.spans = kept
}

// Done notes that the application is done with the record at offset: the record's own offset,
// not the one after it. What is done already, and what lies before the first record that was
// delivered, is ignored; any other record that was never delivered is [ErrNotDelivered].
func (t *Tracker) Done(offset int64) error { return t.DoneAt(offset, ledger.Time{}) }

// DoneAt is Done of a record with an event time.
func (t *Tracker) DoneAt(offset int64, eventTime ledger.Time) error {
	if !t.seen || offset > t.last {
		return fmt.Errorf("record %d is done: %w", offset, ErrNotDelivered)
	}
	i := sort.Search(len(t.spans), func(i int) bool { return t.spans[i].last >= offset })
	if i == len(t.spans) || offset < t.spans[i].first {
		if offset < t.floor {
			return nil
		}
		return fmt.Errorf("record %d is done: %w", offset, ErrNotDelivered)
	}
	if t.spans[i].done {
		return nil
	}
	t.inFlight--
	t.take(i, offset, eventTime)
	return nil
}

// take makes the record at offset, in flight in span i, a done one, in one span with what is
// done beside it.
func (t *Tracker) take(i int, offset int64, eventTime ledger.Time) {
	s := t.spans[i]
	done := span{first: offset, last: offset, epoch: s.epoch, latest: eventTime, done: true}
	if i == 0 && s.first == offset && offset < s.last { // the common case moves no memory
		t.reach(&done)
		t.spans[0].first++
		return
	}
	from, to := i, i+1
	var parts [3]span
	n := 0
	if s.first < offset {
		parts[n] = s
		parts[n].last = offset - 1
		n++
	} else if i > 0 && t.spans[i-1].done {
		from--
		done.first, done.latest = t.spans[from].first, ledger.MaxTime(done.latest, t.spans[from].latest)
	}
	if offset == s.last && to < len(t.spans) && t.spans[to].done {
		done.last, done.epoch = t.spans[to].last, t.spans[to].epoch
		done.latest = ledger.MaxTime(done.latest, t.spans[to].latest)
		to++
	}
	parts[n] = done
	n++
	if offset < s.last {
		parts[n] = s
		parts[n].first = offset + 1
		n++
	}
	t.spans = slices.Replace(t.spans, from, to, parts[:n]...)
	if t.spans[0].done {
		t.reach(&t.spans[0])
		t.dropFirst()
	}
}

// fewSpans is how many are moved down rather than given up at the front, which would have the
// next one allocate.
const fewSpans = 64

func (t *Tracker) dropFirst() {
	if len(t.spans) > fewSpans {
		t.spans = t.spans[1:]
		return
	}
	t.spans = slices.Delete(t.spans, 0, 1)
}

// reach moves the prefix over a span that is done.
func (t *Tracker) reach(s *span) {
	t.prefix, t.any = Position{s.last + 1, s.epoch, s.latest}, true
	t.floor = t.prefix.Next
}

// Committable is the position after the last record up to which all that were delivered are
// done. It is false if the first delivered is not: the start is no position that was reached.
func (t *Tracker) Committable() (Position, bool) { return t.prefix, t.any }

// Stuck is the first record in flight, with its age at now. It is false if none is in flight.
// Whether it is stuck or only being worked on is the caller's to judge, by its age.
func (t *Tracker) Stuck(now time.Time) (Stuck, bool) {
	if len(t.spans) == 0 {
		return Stuck{}, false
	}
	s := &t.spans[0]
	return Stuck{Offset: s.first, Age: time.Duration(now.UnixNano() - s.since)}, true
}

// InFlight is how many records were delivered and are not done.
func (t *Tracker) InFlight() int { return t.inFlight }
