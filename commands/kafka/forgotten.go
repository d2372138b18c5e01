package kafka

import (
	"context"
	"slices"
	"time"

	"github.com/offsetledger/offsetledger/ledger"
)

// askWait and askMost are how long capture waits before it asks again for the offsets that a
// coordinator did not tell: longer each time, up to the second.
const (
	askWait = time.Second
	askMost = 5 * time.Minute
)

// settleHoles asks the coordinators about holes that all records were read behind. A crash
// before the answers are stored leaves the hole in the cursor, and the next capture asks.
func (t *Tail) settleHoles(ctx context.Context) error {
	for _, l := range t.lines {
		if l.hole.ended(l.next) && !time.Now().Before(l.hole.again) {
			if err := t.forgotten(ctx, l); err != nil {
				return err
			}
		}
	}
	return nil
}

// forgotten asks for the offsets that no record behind a hole spoke of. Compaction keeps the
// last row of every key, but a tombstone only for a day: an offset that was deleted while
// capture was away can have left nothing behind, and only the coordinator's answer tells that
// it is gone. An offset that is still there has lost nothing, and is not told, unless records
// were deleted that compaction would have kept.
//
// The hole is settled in the append of the last answers. While one is missing it stays, since
// nothing else would ever ask for it.
func (t *Tail) forgotten(ctx context.Context, l *sourceLine) error {
	seq, err := t.settle(ctx)
	if err != nil {
		return err
	}
	keys, err := t.unspoken(ctx, seq, l)
	if err != nil {
		return err
	}
	answers, unknown, at := t.reread(ctx, keys, 1)
	if !l.hole.Removed {
		answers = slices.DeleteFunc(answers, func(a OffsetAnswer) bool { return a.Exists })
	}
	for _, e := range RereadEvents(t.cfg.Cluster, t.unsaid(ctx, l, l.position(), answers), at) {
		if err := t.addReread(ctx, l, e); err != nil {
			return err
		}
	}
	if unknown > 0 {
		l.hole.again = time.Now().Add(min(askWait<<min(l.hole.tries, 10), askMost))
		l.hole.tries++
	} else {
		l.hole.settled()
		l.moved = true
	}
	return t.send(ctx)
}

// unspoken returns the offsets that the ledger has of a line and that no record behind its
// hole spoke of.
func (t *Tail) unspoken(ctx context.Context, seq uint64, l *sourceLine) ([]OffsetKey, error) {
	keys, err := t.applied(ctx, seq, l, 0)
	if err != nil {
		return nil, err
	}
	since, err := t.applied(ctx, seq, l, l.hole.Until)
	if err != nil {
		return nil, err
	}
	spoken := map[groupKey]bool{}
	for _, k := range since {
		spoken[k.groupKey()] = true
	}
	if !l.hole.Removed {
		for k := range l.hole.seen {
			spoken[k] = true
		}
	}
	keys = slices.DeleteFunc(keys, func(k OffsetKey) bool { return spoken[k.groupKey()] })
	for i := range keys {
		keys[i].NotBefore = l.hole.From
	}
	return keys, nil
}

func (k *OffsetKey) groupKey() groupKey {
	return groupKey{k.Group, ledger.TopicPartition{Topic: k.Topic, Partition: k.Partition}}
}
