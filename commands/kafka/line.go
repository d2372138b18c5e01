package kafka

import (
	"encoding/binary"
	"fmt"

	"github.com/offsetledger/offsetledger/ledger"
)

// sourceRecord is one record of __consumer_offsets, as it was fetched.
type sourceRecord struct {
	offset        int64
	epoch         ledger.Epoch
	timestamp     ledger.Time
	producerID    int64
	transactional bool // idempotent producers have an id as well: only this bit makes a transaction
	control       bool // a marker: the end of a transaction
	key, value    []byte
}

// truncatedError says that a partition of __consumer_offsets no longer holds records that were
// read from it: those from position from up to, not including, position to.
type truncatedError struct {
	partition int32
	from, to  int64
}

func (e *truncatedError) Error() string {
	return fmt.Sprintf("partition %d of %s lost positions %d to %d", e.partition, offsetsTopic, e.from, e.to-1)
}

// sourceLine turns the records of one partition of __consumer_offsets, fed in order, into
// events, and knows the position up to which the events given out tell everything. It is
// pure: it neither waits nor looks at a clock.
//
// Plain rows are gathered into runs. Rows of a transaction wait in pending until their marker
// decides, so that no event ever holds a value that no client could read.
type sourceLine struct {
	*lineShared
	partition int32

	read int64 // the record expected next
	// next is the first record whose outcome is not among the events given out. It is below
	// read while a run is open, and above it after a restart that reads an open transaction
	// again.
	next  int64
	epoch ledger.Epoch // of the record before next

	maxEffective    ledger.Time
	completeThrough ledger.Time
	target          endTarget
	firstEnd        int64 // end of the partition at start: ready once it is reached
	high            int64 // high watermark of the newest fetch or listing

	run     run
	pending pendingTable
	hole    hole
	moved   bool // since the last cursor that holds this line

	stoodAt int64 // position at the last listing of ends
	stood   int   // how many listings before found it there too, short of the end
}

// lineShared is what all lines of a capture share.
type lineShared struct {
	cluster   string
	retention retention
	decoder   Decoder
	counts    Counts
	out       *batch
}

// feed takes the next record, now being the capture clock. It has taken it once read is past
// it: the end of a large transaction is given out in steps, and has to be fed until then. The
// error is a [*truncatedError]: the record has not been taken, the line has to be cut back.
func (l *sourceLine) feed(r *sourceRecord, now ledger.Time) error {
	switch {
	case r.offset < l.read:
		return &truncatedError{l.partition, r.offset, max(l.read, l.next)}
	case r.offset < l.next:
		return l.readAgain(r)
	}
	if expected := max(l.read, l.next); r.offset > expected {
		l.closeRun(now)
		if l.hole.watch || r.offset > l.firstEnd {
			l.hole.found(expected, r.offset, l.high, l.latest())
		}
	}
	if r.control {
		l.closeRun(now)
		if !l.end(r, now) {
			l.read, l.next, l.moved = r.offset, r.offset, true
			return nil
		}
		l.counts.Records++
		l.read = r.offset + 1
		l.settle(r)
		return nil
	}
	l.counts.Records++
	l.read = r.offset + 1
	e := l.decode(r)
	switch e.Kind {
	case EntryOffset:
		l.counts.Rows++
		e.Offset.SourceOffset = r.offset
		if r.transactional {
			l.closeRun(now)
			l.pending.add(r, e.Group, e.Offset)
			l.settle(r)
			return nil
		}
		l.extend(r, &e, now)
	case EntryTombstone:
		l.counts.Tombstones++
		e.Offset.SourceOffset = r.offset
		l.pending.kill(e.Group, e.Offset.Topic, e.Offset.Partition)
		l.extend(r, &e, now)
	case EntryGroup, EntryCounted:
		l.metadata(r, &e, now)
	default:
		l.closeRun(now)
		l.opaque(r, &e, now)
		l.settle(r)
	}
	return nil
}

// decode decodes r. A key that names no topic is damaged: no event can hold it as a row, and
// neither one with more metadata than a message has room for.
func (l *sourceLine) decode(r *sourceRecord) Entry {
	e := l.decoder.Decode(r.key, r.value)
	switch {
	case e.Kind != EntryOffset && e.Kind != EntryTombstone:
	case e.Offset.Topic == "":
		return e.opaque("key without a topic")
	case len(e.Offset.Metadata) > maxElementBytes:
		return e.opaque("metadata too large for an event")
	}
	return e
}

// flush closes the open run, since no more records are at hand. A fetch holds whole batches
// and a request never spans two, so no request is cut.
func (l *sourceLine) flush(now ledger.Time) { l.closeRun(now) }

// settle says that the outcome of r, and of all records before it, has been given out.
func (l *sourceLine) settle(r *sourceRecord) {
	l.next, l.epoch, l.moved = r.offset+1, r.epoch, true
}

// readAgain takes from a record that was read before a restart what only memory held: the
// rows of transactions that were open at the cursor. Everything else of it is in the ledger.
func (l *sourceLine) readAgain(r *sourceRecord) error {
	if was, ok := l.epoch.Get(); ok {
		if is, ok := r.epoch.Get(); ok && is > was {
			return &truncatedError{l.partition, r.offset, l.next} // written after what was here
		}
	}
	l.read = r.offset + 1
	if r.control {
		return nil
	}
	e := l.decode(r)
	switch {
	case e.Kind == EntryTombstone:
		l.pending.kill(e.Group, e.Offset.Topic, e.Offset.Partition)
	case e.Kind == EntryOffset && r.transactional && l.pending.waitsFor(r):
		e.Offset.SourceOffset = r.offset
		l.pending.add(r, e.Group, e.Offset)
	}
	return nil
}

// The types of control records: the second number of their key.
const (
	controlAbort  = 0
	controlCommit = 1
)

// end takes the marker of a transaction: one event per group with all of its rows. Which of
// them apply is for the fold to say, since it knows what came after them. It is false when
// there are more than one step gives out.
func (l *sourceLine) end(r *sourceRecord, now ledger.Time) (done bool) {
	if len(r.key) < 4 {
		return true
	}
	kind := binary.BigEndian.Uint16(r.key[2:])
	if kind != controlAbort && kind != controlCommit {
		return true
	}
	if kind == controlCommit {
		l.pending.committed(r.producerID)
	}
	rows, done := l.pending.take(r.producerID)
	if len(rows) == 0 {
		return done
	}
	at := l.effective(now, r.timestamp)
	for _, g := range byGroup(rows) {
		e := l.event(ledger.KindCommitted, r)
		e.Group, e.Time = g.group, at
		if kind == controlAbort {
			e.Kind, e.Cause = ledger.KindFailed, ledger.CauseAborted
			l.counts.AbortedRows += uint64(len(g.rows))
		}
		e.Source.ProducerID, e.Source.Transactional = r.producerID, true
		for i := range g.rows {
			g.rows[i].Effective = at
		}
		if kind == controlCommit {
			l.gaps(g.group, g.rows, at, now)
		}
		e.Offsets = l.out.keep(g.rows)
		l.out.add(e)
	}
	return done
}

// metadata takes a record that is about a group, not about an offset. The end of a group
// stands behind the tombstones of its offsets and tells why they went, so the run waits for it.
func (l *sourceLine) metadata(r *sourceRecord, e *Entry, now ledger.Time) {
	if !l.run.endsWith(r, e) {
		l.closeRun(now)
	}
	if e.Kind == EntryCounted {
		l.counts.countType(e.KeyType)
	}
	if l.run.open() {
		l.run.follow(r, e)
		return
	}
	if e.Kind == EntryGroup {
		l.group(r, e, now)
	}
	l.settle(r)
}

func (l *sourceLine) group(r *sourceRecord, e *Entry, now ledger.Time) {
	problem := ""
	switch {
	case largestMember(e.Membership) > maxElementBytes:
		problem = "a member too large for an event"
	case estimateMembers(e.Membership) > maxEventBytes:
		problem = "a group too large for an event"
	}
	if problem != "" {
		opaque := e.opaque(problem)
		l.opaque(r, &opaque, now)
		return
	}
	l.counts.Groups++
	ev := l.event(ledger.KindGroup, r)
	ev.Group, ev.Membership = e.Group, e.Membership
	ev.Time = l.effective(now, r.timestamp)
	l.out.add(ev)
}

func (l *sourceLine) opaque(r *sourceRecord, e *Entry, now ledger.Time) {
	l.counts.Opaque++
	ev := l.event(ledger.KindOpaque, r)
	// When the record was written, not when it was read: since then a key may hold what nobody
	// here can read, and an answer about a moment after it must not be surer than that.
	ev.Time = l.effective(now, r.timestamp)
	ev.Opaque = rawRecord(r, e.Problem)
	l.out.add(ev)
}

// event returns an event that stands at r.
func (l *sourceLine) event(kind ledger.Kind, r *sourceRecord) ledger.Event {
	return ledger.Event{Kind: kind, Cluster: l.cluster, Source: ledger.Source{
		Kind: ledger.SourceTail, Partition: l.partition, LeaderEpoch: r.epoch, Offset: r.offset,
		ProducerID: r.producerID, Transactional: r.transactional,
	}}
}
