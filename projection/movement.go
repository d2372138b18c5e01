package projection

import (
	"fmt"
	"math"

	"github.com/offsetledger/offsetledger/ledger"
)

// The rule of a jump. Kafka does not record what was read, so a forward move counts as
// reading unless it is far too fast for that.
const (
	// jumpFactor is how many times faster than ever seen a move has to be.
	jumpFactor = 10
	// jumpFloor is the rate, in offsets per second, that every reader is trusted with: a slow
	// topic has bursts.
	jumpFloor = 100
	// jumpSpan and jumpSpanMost bound the milliseconds that a move counts as having taken:
	// commits come close together, and clocks are coarse; and the sums must not overflow.
	jumpSpan     = 1000
	jumpSpanMost = 1 << 28
	// rateMost is where a rate stops, in offsets per second.
	rateMost = 1 << 31
	// jumpSamples is how many forward moves have to be known before any is too fast.
	jumpSamples = 2
)

// judge says how row r moves the cell, and for a jump why it is one.
func (f *folding) judge(cl *cell, r *ledger.Offset, at ledger.Time, who *Who, planned bool) (Movement, string) {
	if cl.has(flagExists) && r.At < cl.at {
		f.setBack(cl, r)
	}
	switch {
	case planned || f.ev.Kind == ledger.KindReset:
		return MovementReset, ""
	case f.otherTopic(cl, r):
		cl.rate, cl.samples = 0, 0
		if f.g.rare != nil {
			delete(f.g.rare.reread, ledger.TopicPartition{Topic: r.Topic, Partition: r.Partition})
		}
		return MovementRecreated, ""
	case cl.has(flagTruncated) && (f.ev.Source.Kind == ledger.SourceReconcile || r.At < cl.at), f.ev.Cause == ledger.CauseTruncated:
		return MovementRolledBack, "" // also of a commit that goes on from what the broker still had
	case !cl.has(flagExists):
		if cl.has(flagGone) && cl.has(flagHad) {
			return MovementAfterLoss, ""
		}
		return MovementAdvance, ""
	case r.At == cl.at:
		return MovementRecommit, ""
	case r.At < cl.at:
		return MovementRewind, ""
	case cl.at < 0:
		return MovementAdvance, "" // nobody can have read from a negative offset
	}
	return f.forward(cl, r, at, who)
}

// forward tells an advance from a jump, and learns how fast the partition is read.
func (f *folding) forward(cl *cell, r *ledger.Offset, at ledger.Time, who *Who) (Movement, string) {
	if who.Kind == WhoNoMember && f.g.members.everMember {
		return MovementJump, "no member of the group made it"
	}
	moved, span, seen := r.At-cl.at, cl.span(at), cl.rate
	if cl.tooFast(moved, span) && !told(f.source) {
		most := cl.most(span)
		fresh := f.unread(cl, r)
		// Once is a jump. Twice in a row is a reader that catches up.
		if fresh > most && !cl.has(flagFast) {
			cl.flags |= flagFast
			return MovementJump, fmt.Sprintf("%d offsets in %d ms; the fastest seen before was %d a second", fresh, span, seen)
		}
		if fresh <= most {
			return MovementAdvance, "" // it reads again what it has read, and may do that fast
		}
	}
	cl.flags &^= flagFast
	cl.learn(moved, span)
	return MovementAdvance, ""
}

// span is the milliseconds that a move until at counts as having taken.
func (c *cell) span(at ledger.Time) int64 {
	return min(max(elapsed(c.effective, at), jumpSpan), jumpSpanMost)
}

// most is how many offsets can have been read in so many milliseconds.
func (c *cell) most(span int64) int64 {
	return jumpFactor * max(int64(c.rate), jumpFloor) * span / 1000
}

// tooFast reports whether more was moved in a span than can have been read.
func (c *cell) tooFast(moved, span int64) bool {
	return c.samples >= jumpSamples && moved > c.most(span)
}

// learn notes how fast the partition was read.
func (c *cell) learn(moved, span int64) {
	if moved > int64(c.rate)*span/1000 {
		c.rate = uint32(min(min(moved, math.MaxInt64/1000)*1000/span, rateMost))
	}
	if c.samples < math.MaxUint8 {
		c.samples++
	}
}

// setBack remembers how far a partition had come before it was set back.
func (f *folding) setBack(cl *cell, r *ledger.Offset) {
	cl.flags &^= flagFast
	ra := f.g.rarities()
	if ra.reread == nil {
		ra.reread = map[ledger.TopicPartition]int64{}
	}
	key := ledger.TopicPartition{Topic: r.Topic, Partition: r.Partition}
	ra.reread[key] = max(ra.reread[key], cl.at)
}

// unread is how much of a forward move goes over what the group had not come to before.
func (f *folding) unread(cl *cell, r *ledger.Offset) int64 {
	if f.g.rare == nil {
		return r.At - cl.at
	}
	key := ledger.TopicPartition{Topic: r.Topic, Partition: r.Partition}
	had, ok := f.g.rare.reread[key]
	if !ok || had <= cl.at {
		return r.At - cl.at
	}
	return max(r.At-had, 0)
}
