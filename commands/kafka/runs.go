package kafka

import "github.com/offsetledger/offsetledger/ledger"

// run gathers adjacent plain rows that make one event: same group, producer, record timestamp
// and commit time, all values or all tombstones, no key twice. Whatever one request wrote is
// one run, in whatever order its rows come, unless it is larger than [maxRunBytes]; two
// requests of the same millisecond cannot be told apart and may share one.
type run struct {
	first    sourceRecord // without key and value
	group    string
	deletes  bool
	rows     []ledger.Offset
	bytes    int        // estimate of the events that it becomes
	keys     keySet     // of rows
	end      int64      // position after the last record
	trailing []trailing // group metadata that ended behind the tombstones
	gone     bool       // the group itself ended
}

// trailing is a record behind a run of tombstones that belongs to the same end of a group.
type trailing struct {
	record sourceRecord
	entry  Entry
}

func (u *run) open() bool { return len(u.rows) > 0 }

// takes reports whether r continues the run.
func (u *run) takes(r *sourceRecord, e *Entry) bool {
	switch {
	case len(u.trailing) > 0,
		u.bytes > maxRunBytes,
		e.Group != u.group,
		r.producerID != u.first.producerID,
		r.transactional != u.first.transactional,
		r.timestamp != u.first.timestamp,
		r.epoch != u.first.epoch,
		u.deletes != (e.Kind == EntryTombstone),
		e.Offset.CommitTime != u.rows[0].CommitTime:
		return false
	}
	return !u.keys.has(e.Offset.Topic, e.Offset.Partition)
}

func (u *run) add(row *ledger.Offset) {
	u.bytes += rowBytes + len(row.Topic) + len(row.Metadata)
	u.rows = append(u.rows, *row)
	u.keys.add(row.Topic, row.Partition)
	u.end = row.SourceOffset + 1
}

// endsWith reports whether r, a metadata record, is part of the same end of a group as the
// tombstones of the run: written in one batch with them, and a tombstone as well.
func (u *run) endsWith(r *sourceRecord, e *Entry) bool {
	return u.open() && u.deletes && r.value == nil && e.Group == u.group && len(u.trailing) < maxTrailing &&
		r.offset == u.end && r.timestamp == u.first.timestamp && r.epoch == u.first.epoch
}

// maxTrailing bounds what stands behind the tombstones of a run, each of which may be an event.
// A group has to be empty to be deleted, so that its end is a handful of records.
const maxTrailing = 50

func (u *run) follow(r *sourceRecord, e *Entry) {
	u.bytes += eventBytes + 3*len(r.key)
	u.trailing = append(u.trailing, trailing{*r, *e})
	u.end = r.offset + 1
	u.gone = u.gone || e.KeyType == keyClassicGroup || e.KeyType == keyConsumerGroup
}

func (u *run) reset() {
	u.rows, u.trailing, u.gone, u.bytes = u.rows[:0], u.trailing[:0], false, 0
	u.keys.clear()
}

// extend adds a plain row to the open run, or closes that one and begins another.
func (l *sourceLine) extend(r *sourceRecord, e *Entry, now ledger.Time) {
	if l.run.open() && !l.run.takes(r, e) {
		l.closeRun(now)
	}
	if !l.run.open() {
		l.run.first = *r
		l.run.first.key, l.run.first.value = nil, nil
		l.run.group, l.run.deletes = e.Group, e.Kind == EntryTombstone
		l.run.bytes = eventBytes + 2*len(e.Group)
	}
	l.run.add(&e.Offset)
}

// closeRun gives out the event of the open run, if there is one.
func (l *sourceLine) closeRun(now ledger.Time) {
	u := &l.run
	if !u.open() {
		return
	}
	e := l.event(ledger.KindCommitted, &u.first)
	e.Group = u.group
	e.Time = l.effective(now, u.first.timestamp, u.rows[0].CommitTime)
	if u.deletes {
		e.Kind = ledger.KindDeleted
		e.Cause, e.CauseInferred = l.cause(u), true
	}
	for i := range u.rows {
		u.rows[i].Effective = e.Time
	}
	l.gaps(u.group, u.rows, e.Time, now)
	e.Offsets = l.out.keep(u.rows)
	l.out.add(e)
	last := u.first
	last.offset = u.end - 1
	for i := range u.trailing {
		if t := &u.trailing[i]; t.entry.Kind == EntryGroup {
			l.group(&t.record, &t.entry, now)
		}
	}
	u.reset()
	l.settle(&last)
}
