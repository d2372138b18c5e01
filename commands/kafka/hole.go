package kafka

import "github.com/offsetledger/offsetledger/ledger"

// hole watches for records that compaction removed before they were read.
//
// A log that is read as it grows has no missing positions. After a pause it may have: then
// of each key some of the first rows since the cursor are missing, and all rows from the
// first one that is there. So the first row of each key behind a hole is told as a gap, from
// where the cursor stood to that row. Compaction removes a row only when a later one of its
// key is in the log, so keys without a row up to the end of that time have lost nothing, or
// were deleted so long ago that their tombstone is gone too: see [Tail.forgotten]. At the first
// start there is no history that could have a hole.
type hole struct {
	watch       bool // the line went on from a cursor
	first, last int64
	until       int64       // end of the partition when the hole was found
	from        ledger.Time // up to which everything was known
	seen        map[groupKey]struct{}
	ended       *endedHole // what is to be done about a hole that all records were read behind
}

// endedHole is a hole behind which the keys in seen had rows. From is up to which everything
// was known before it.
type endedHole struct {
	from ledger.Time
	seen map[groupKey]struct{}
}

type groupKey struct {
	group string
	ledger.TopicPartition
}

// found notes that positions first up to, not including, next are missing in a partition that
// reaches to end. latest is the moment before which nothing can be missing.
func (h *hole) found(first, next, end int64, latest ledger.Time) {
	if !h.watch {
		return
	}
	if h.seen == nil {
		h.seen, h.first, h.from = map[groupKey]struct{}{}, first, latest
	}
	h.last, h.until = next-1, max(h.until, end, next+1)
}

// passed notes the position of the line, and ends the hole when all keys that it can concern
// have been seen.
func (h *hole) passed(position int64) {
	if h.seen != nil && position >= h.until {
		h.ended = &endedHole{h.from, h.seen}
		h.seen, h.until = nil, 0
	}
}

// gaps tells of those rows, if there are any, that are the first of their key behind a hole.
// at is the effective time of the rows, now the capture clock.
func (l *sourceLine) gaps(group string, rows []ledger.Offset, at, now ledger.Time) {
	h := &l.hole
	if h.seen == nil {
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
	e.Gap = &ledger.Gap{OfGroup: true, SourcePartition: l.partition, First: h.first, Last: h.last, From: h.from, To: at}
	l.out.add(e)
}
