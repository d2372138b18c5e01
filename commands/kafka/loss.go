package kafka

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetledger/offsetledger/ledger"
)

// recover deals with an error of a fetch that says that the partition no longer holds what
// the line is after. It is false for any other error.
func (t *Tail) recover(ctx context.Context, l *sourceLine, err error) (bool, error) {
	var lost *kgo.ErrDataLoss
	switch {
	case errors.As(err, &lost):
		// The client has gone back to ResetTo by itself, and goes on there.
		if lost.ResetTo >= l.position() {
			return true, nil
		}
		return true, t.truncated(ctx, l, lost.ResetTo)
	case errors.Is(err, kerr.OffsetOutOfRange):
		return t.outOfRange(ctx, l)
	}
	return false, nil
}

// outOfRange puts a line back into its partition: it stands before the first record, if the
// brokers removed what it had not read, or past the last, if they lost what it had.
func (t *Tail) outOfRange(ctx context.Context, l *sourceLine) (bool, error) {
	starts, ends, err := t.bounds(ctx)
	if err != nil {
		return false, ctx.Err() // asked again when the next fetch fails
	}
	start, end := starts[l.partition], ends[l.partition]
	switch position := l.position(); {
	case position < start:
		t.removed(l, start)
	case position > end:
		if err := t.truncated(ctx, l, end); err != nil {
			return false, err
		}
	}
	t.consumer.SetOffsets(map[string]map[int32]kgo.EpochOffset{
		offsetsTopic: {l.partition: {Epoch: -1, Offset: l.read}},
	})
	return true, nil
}

// removed tells that the records before position start are gone unread, and goes on there.
// [Tail.settleHoles] asks for the offsets that they may have changed.
func (t *Tail) removed(l *sourceLine, start int64) {
	now := ledger.AtTime(t.cfg.Clock())
	l.flush(now)
	t.shared.out.add(l.lostRange(ledger.CauseCompacted, l.position(), start, now))
	l.hole.removed(l.position(), start, l.latest())
	l.read, l.next, l.moved = start, start, true
}

// truncated tells that the brokers lost the records from position on, which clients could
// read until then, and what they answer now for the offsets that stood there and were not
// committed since. It is one append with the cursor, unless it is more than one holds.
func (t *Tail) truncated(ctx context.Context, l *sourceLine, position int64) error {
	l.run.reset() // never given out, and no longer there
	to := l.position()
	seq, err := t.settle(ctx)
	if err != nil {
		return err
	}
	keys, err := t.applied(ctx, seq, l, position)
	if err != nil {
		return err
	}
	answers, _, at := t.reread(ctx, keys, rereads)
	answers = t.unsaid(ctx, l, position, answers)
	t.shared.out.add(l.lostRange(ledger.CauseTruncated, position, to, at))
	l.cutBack(position)
	for _, e := range RereadEvents(t.cfg.Cluster, answers, at) {
		if e.Kind == ledger.KindDeleted {
			e.Cause = ledger.CauseTruncated
		}
		if err := t.addReread(ctx, l, e); err != nil {
			return err
		}
	}
	return t.send(ctx)
}

// recreated tells that __consumer_offsets was deleted and made again, with all that was in it,
// and begins to read it from its first record.
func (t *Tail) recreated(ctx context.Context, id uuid.UUID) error {
	if t.topicID == uuid.Nil { // it did not exist before
		t.topicID = id
		return nil
	}
	starts, ends, err := t.bounds(ctx)
	if err != nil || len(starts) == 0 {
		return ctx.Err() // it is being made: the next round asks again
	}
	seq, err := t.settle(ctx)
	if err != nil {
		return err
	}
	if t.consumer != nil {
		t.consumer.Close()
		t.consumer = nil
	}
	old := t.sortedLines()
	var gone []OffsetKey
	for _, l := range old {
		keys, err := t.applied(ctx, seq, l, 0)
		if err != nil {
			return err
		}
		gone = append(gone, keys...)
	}
	answers, _, at := t.reread(ctx, gone, rereads)
	t.topicID, t.lines, t.cfg.Resume.Cursor.Lines = id, map[int32]*sourceLine{}, nil
	t.openLines(starts, ends)
	for _, l := range old {
		if l.position() > 0 {
			t.shared.out.add(l.lostRange(ledger.CauseRecreated, l.position(), l.position()+1, at))
		}
		if anew := t.lines[l.partition]; anew != nil {
			anew.maxEffective, anew.completeThrough = l.maxEffective, l.completeThrough
		}
	}
	for _, e := range RereadEvents(t.cfg.Cluster, answers, at) {
		if e.Kind != ledger.KindDeleted {
			continue // it was committed since, and its record will be read
		}
		if err := t.addReread(ctx, t.sortedLines()[0], e); err != nil {
			return err
		}
	}
	t.complete = true
	return t.send(ctx)
}

// lostRange is the gap of positions from, up to and not including to, of the partition.
func (l *sourceLine) lostRange(cause ledger.Cause, from, to int64, now ledger.Time) ledger.Event {
	e := l.event(ledger.KindGap, &sourceRecord{offset: from, epoch: l.epoch})
	e.Time, e.Cause = now, cause
	e.Gap = &ledger.Gap{
		SourcePartition: l.partition, First: from, Last: max(to-1, from), From: notAfter(l.latest(), now), To: now,
	}
	return e
}

// applied returns the offsets that the ledger has from the positions that were lost.
func (t *Tail) applied(ctx context.Context, seq uint64, l *sourceLine, position int64) ([]OffsetKey, error) {
	if t.cfg.Facts == nil {
		return nil, nil
	}
	keys, err := t.cfg.Facts.AppliedFrom(ctx, seq, l.partition, position)
	if err != nil {
		return nil, fmt.Errorf("what the ledger has from position %d of %s/%d on: %w", position, offsetsTopic, l.partition, err)
	}
	for i := range keys {
		keys[i].NotBefore = l.latest()
	}
	return keys, nil
}

// rereads is how often an offset that was lost is asked for whose coordinator does not answer.
// One that never does is told of by the gap alone.
const rereads = 5

// reread asks the coordinators for offsets, some times if need be, and returns what they
// answered, the number of offsets that stay unknown, and the moment after which that was.
func (t *Tail) reread(ctx context.Context, keys []OffsetKey, tries int) (known []OffsetAnswer, unknown int, at ledger.Time) {
	for wait := newBackoff(); len(keys) > 0 && tries > 0; tries-- {
		askCtx, cancel := context.WithTimeout(ctx, requestTimeout)
		answers := Reread(askCtx, t.client, keys)
		cancel()
		keys = nil
		for _, a := range answers {
			if a.Err != nil {
				keys = append(keys, a.OffsetKey)
				continue
			}
			known = append(known, a)
		}
		if len(keys) > 0 && tries > 1 && wait.sleep(ctx) != nil {
			break
		}
	}
	at = ledger.AtTime(t.cfg.Clock())
	for i := range known {
		known[i].NotBefore = notAfter(known[i].NotBefore, at)
	}
	return known, len(keys), at
}

// notAfter is t, or limit if t is later. Clocks of brokers may be ahead of ours.
func notAfter(t, limit ledger.Time) ledger.Time {
	if t.After(limit) {
		return limit
	}
	return t
}

// addReread adds an event of rows that were asked for. They stand where the line does. An event
// that is too large is cut: what was asked for was never one request.
func (t *Tail) addReread(ctx context.Context, l *sourceLine, e ledger.Event) error {
	e.Source.Partition = l.partition
	for i := range e.Offsets {
		e.Offsets[i].Effective = e.Time
	}
	if n := len(e.Offsets); n > 1 && estimate(&e) > maxEventBytes {
		rest := e
		e.Offsets, rest.Offsets = e.Offsets[:n/2], e.Offsets[n/2:]
		if err := t.addReread(ctx, l, e); err != nil {
			return err
		}
		return t.addReread(ctx, l, rest)
	}
	return t.add(ctx, e)
}

// add adds an event that no record tells.
func (t *Tail) add(ctx context.Context, e ledger.Event) error {
	if !t.shared.out.empty() && !t.shared.out.fits(estimate(&e)) {
		if err := t.send(ctx); err != nil {
			return err
		}
	}
	t.shared.out.add(e)
	if t.shared.out.full() {
		return t.send(ctx)
	}
	return nil
}
