package kafka

import (
	"time"

	"github.com/offsetledger/offsetledger/ledger"
)

// hole watches for records that were removed before they were read.
//
// A log that is read as it grows has no missing positions. After a pause it may have: then
// of each key some of the first rows since the cursor are missing, and all rows from the
// first one that is there. So the first row of each key behind a hole is told as a gap, from
// where the cursor stood to that row. Compaction removes a row only when a later one of its
// key is in the log, so keys without a row up to the end of that time have lost nothing, or
// were deleted so long ago that their tombstone is gone too: see [Tail.forgotten]. What was in
// the log when capture first started may miss anything: there is no history that could have a
// hole.
//
// Until all of that is done the cursor tells the hole, so that a restart goes on with it.
type hole struct {
	watch bool // the line went on from a cursor
	ledger.Hole
	seen map[groupKey]struct{} // keys that are told; nil when there is no hole

	again time.Time // when the coordinators are asked next, after one did not answer
	tries int       // how often that was
}

type groupKey struct {
	group string
	ledger.TopicPartition
}

// open reports whether something is left to do about a hole.
func (h *hole) open() bool { return h.seen != nil }

// ended reports whether the line, at position, has passed all records that can concern the
// hole, so that what is left is to ask for the keys that none of them spoke of.
func (h *hole) ended(position int64) bool { return h.open() && position >= h.Until }

// found notes that positions first up to, not including, next are missing in a partition that
// reaches to end. from is the moment before which nothing can be missing.
func (h *hole) found(first, next, end int64, from ledger.Time) {
	if h.ended(first) {
		// The questions about the one before are still open: its time counts for both, and
		// each key may have lost rows anew.
		from = h.From
		h.seen = nil
	}
	if !h.open() {
		h.seen = map[groupKey]struct{}{}
		h.First, h.From, h.Until = first, from, 0
	}
	h.Last, h.Until = next-1, max(h.Until, end, next+1)
}

// removed notes that the brokers deleted the records from first up to, not including, next,
// whatever they said. Nothing behind them tells which keys that concerns: all are asked for.
func (h *hole) removed(first, next int64, from ledger.Time) {
	h.found(first, next, next, from)
	h.Until, h.Removed = next, true
}

// settled forgets the hole: nothing is left to do about it.
func (h *hole) settled() { *h = hole{watch: h.watch} }

// cursor is the hole as a cursor tells it.
func (h *hole) cursor() *ledger.Hole {
	if !h.open() {
		return nil
	}
	told := h.Hole
	return &told
}

// resume takes up the hole of a cursor. told are the keys that the ledger has a gap of.
func (h *hole) resume(c *ledger.Hole, told []OffsetKey) {
	h.watch = true
	if c == nil {
		return
	}
	h.Hole, h.seen = *c, map[groupKey]struct{}{}
	for _, k := range told {
		h.seen[k.groupKey()] = struct{}{}
	}
}

// cutBack takes the hole back to a position from which on the partition holds other records
// than were read.
func (h *hole) cutBack(position int64) {
	switch {
	case !h.open():
	case position <= h.First:
		h.settled()
	default:
		h.Until = min(h.Until, position)
		h.Last = min(h.Last, h.Until-1)
	}
}

// gaps tells of those rows, if there are any, that are the first of their key behind a hole.
// at is the effective time of the rows, now the capture clock.
func (l *sourceLine) gaps(group string, rows []ledger.Offset, at, now ledger.Time) {
	h := &l.hole
	if !h.open() || h.ended(l.next) {
		return
	}
	var keys []ledger.Offset
	for i := range rows {
		key := groupKey{group, ledger.TopicPartition{Topic: rows[i].Topic, Partition: rows[i].Partition}}
		if _, ok := h.seen[key]; ok {
			continue
		}
		h.seen[key] = struct{}{}
		keys = append(keys, ledger.Offset{Topic: key.Topic, TopicID: rows[i].TopicID, Partition: key.Partition, Effective: now})
	}
	if len(keys) == 0 {
		return
	}
	e := l.event(ledger.KindGap, &sourceRecord{offset: rows[0].SourceOffset, epoch: l.epoch})
	e.Group, e.Time = group, now
	e.Cause, e.CauseInferred = ledger.CauseCompacted, true
	e.Offsets = keys
	e.Gap = &ledger.Gap{OfGroup: true, SourcePartition: l.partition, First: h.First, Last: h.Last, From: h.From, To: at}
	l.out.add(e)
}
