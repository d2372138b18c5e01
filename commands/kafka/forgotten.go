package kafka

import (
	"context"
	"slices"

	"github.com/offsetledger/offsetledger/ledger"
)

// forgotten asks for the offsets that no record behind a hole spoke of. Compaction keeps the
// last row of every key, but a tombstone only for a day: an offset that was deleted while
// capture was away can have left nothing behind, and only the coordinator's answer tells that
// it is gone. An offset that is still there has lost nothing, and is not told.
//
// A capture that dies between the cursor behind the hole and the answer has not asked, and the
// next one sees no hole any more.
func (t *Tail) forgotten(ctx context.Context, l *sourceLine, h endedHole) error {
	seq, err := t.settle(ctx)
	if err != nil {
		return err
	}
	keys, err := t.applied(ctx, seq, l, 0)
	if err != nil {
		return err
	}
	keys = slices.DeleteFunc(keys, func(k OffsetKey) bool {
		_, told := h.seen[groupKey{k.Group, ledger.TopicPartition{Topic: k.Topic, Partition: k.Partition}}]
		return told
	})
	for i := range keys {
		keys[i].NotBefore = h.from
	}
	answers, at := t.reread(ctx, keys)
	answers = slices.DeleteFunc(answers, func(a OffsetAnswer) bool { return a.Exists })
	return t.addAnswers(ctx, l, l.position(), answers, at)
}

// addAnswers tells what coordinators answered for offsets of a line, unless records from
// position on tell it, and stores that.
func (t *Tail) addAnswers(ctx context.Context, l *sourceLine, position int64, answers []OffsetAnswer, at ledger.Time) error {
	for _, e := range RereadEvents(t.cfg.Cluster, t.unsaid(ctx, l, position, answers), at) {
		if err := t.addReread(ctx, l, e); err != nil {
			return err
		}
	}
	return t.send(ctx)
}
