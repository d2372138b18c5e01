package kafka

import (
	"time"

	"github.com/offsetledger/offsetledger/ledger"
)

// finality is how long before the moment at which a line had been read to its end answers are
// promised not to change: brokers' clocks differ, and a record can be younger than its time.
const finality = time.Second

// endTarget is an end of the partition, and the moment at which the brokers were asked for it.
type endTarget struct {
	end   int64
	asked ledger.Time
	// reached is the latest such moment whose end the line has passed: everything that was
	// there at it has been given out.
	reached ledger.Time
}

// newLine returns the line of a partition that capture has never read, from position start.
func newLine(shared *lineShared, partition int32, start int64) *sourceLine {
	return &sourceLine{lineShared: shared, partition: partition, read: start, next: start, moved: true}
}

// resumeLine returns the line that goes on where a cursor stood. told are the keys that the
// ledger has a gap of behind the hole that the cursor tells.
func resumeLine(shared *lineShared, c ledger.SourceLine, told []OffsetKey) *sourceLine {
	l := newLine(shared, c.Partition, c.Next)
	l.epoch, l.maxEffective, l.completeThrough = c.LeaderEpoch, c.MaxEffective, c.CompleteThrough
	l.read = l.pending.restore(c.Open, c.Next)
	l.hole.resume(c.Hole, told)
	l.moved = false
	return l
}

// position is the first record that has not been given out and is not part of an open run.
func (l *sourceLine) position() int64 { return max(l.read, l.next) }

// observeEnd takes an end offset that the brokers gave when asked at the moment asked. An end
// not reached yet stays the one to reach, so that a line that never stands still gets on too.
func (l *sourceLine) observeEnd(end int64, asked ledger.Time) {
	l.high = max(l.high, end)
	if t := &l.target; !t.asked.Known() || t.reached == t.asked {
		t.end, t.asked = end, asked
	}
	l.checkEnd()
}

// checkEnd notes whether the line has reached the end that it is after.
func (l *sourceLine) checkEnd() {
	t := &l.target
	if !t.asked.Known() || t.reached == t.asked || l.next < t.end || l.run.open() {
		return
	}
	t.reached = t.asked
	if through := t.reached.Add(-finality); through.After(l.completeThrough) {
		l.completeThrough = through
	}
}

// cursor returns the line as a cursor tells it, standing before the open run. Pending rows are
// listed as long as there is room.
func (l *sourceLine) cursor(room *int) ledger.SourceLine {
	return ledger.SourceLine{
		Partition: l.partition, Next: l.next, LeaderEpoch: l.epoch,
		MaxEffective: l.maxEffective, CompleteThrough: l.completeThrough,
		Open: l.pending.cursor(room), Hole: l.hole.cursor(),
	}
}

// cutBack takes the line back to a position, since the partition no longer holds what it had
// read from there on.
func (l *sourceLine) cutBack(position int64) {
	l.run.reset()
	l.pending.truncate(position)
	l.read, l.next, l.moved = position, position, true
	l.target = endTarget{reached: l.target.reached}
	l.hole.cutBack(position)
	l.high = position
}
