package kafka

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/offsetledger/offsetledger/ledger"
)

// GroupFacts is what capture has to know of the folded history. The answers may be those of a
// moment ago: they are evidence for conclusions, and positions for repair.
type GroupFacts interface {
	// RetainedFrom returns the moment from which the broker counts the retention of an offset:
	// of a classic group when it became empty, of others the commit time. It is the unknown
	// time while the offset cannot expire, because members of the group are there. It is
	// false when the fold does not know the offset.
	RetainedFrom(group string, tp ledger.TopicPartition) (ledger.Time, bool)
	// AppliedFrom returns the offsets whose last applied row stands at or above a position of
	// a partition of __consumer_offsets, once everything up to sequence seq is folded. Of the
	// keys NotBefore is not used.
	AppliedFrom(ctx context.Context, seq uint64, partition int32, position int64) ([]OffsetKey, error)
	// Committed returns the partitions in which some group has an offset.
	Committed() []ledger.TopicPartition
}

// retention is what tells an expired offset from one that somebody deleted.
type retention struct {
	period time.Duration // offsets.retention.minutes of the brokers
	facts  GroupFacts    // nil: nothing is known
}

// cause concludes why the offsets of a run of tombstones went away. Kafka records nothing of
// it. Expiry comes first, since the broker ends an expired group with the same records as a
// deleted one, and nobody finds offsets to delete that were due to expire. That a topic was
// deleted only metadata can tell: see [explain].
func (l *sourceLine) cause(u *run) ledger.Cause {
	expired, known := l.retention.expired(u)
	switch {
	case expired:
		return ledger.CauseExpired
	case u.gone:
		return ledger.CauseGroupDeleted
	case known:
		return ledger.CauseDeleted
	}
	return ledger.CauseUnknown
}

// expired reports whether every offset of the run had been kept for as long as the brokers
// keep it. It is not known when that of one of them is not.
func (r *retention) expired(u *run) (expired, known bool) {
	if r.facts == nil || r.period <= 0 {
		return false, false
	}
	for i := range u.rows {
		tp := ledger.TopicPartition{Topic: u.rows[i].Topic, Partition: u.rows[i].Partition}
		from, ok := r.facts.RetainedFrom(u.group, tp)
		if !ok {
			return false, false
		}
		if kept, ok := u.first.timestamp.Sub(from); !ok || kept < r.period {
			return false, true
		}
	}
	return true, true
}

// explainDeletions asks for the topics of those deletions in the open batch that the end of a
// topic would explain. The brokers write the tombstones just before the topic disappears, so
// a topic that is still there is asked for once more.
func (t *Tail) explainDeletions(ctx context.Context) {
	topics := map[string]bool{} // gone
	for i := range t.shared.out.events {
		if e := &t.shared.out.events[i]; unexplained(e) {
			for j := range e.Offsets {
				topics[e.Offsets[j].Topic] = false
			}
		}
	}
	for wait := newBackoff(); len(topics) > 0 && wait.next <= maxTopicWait; {
		answers, err := describeTopics(ctx, t.client, slices.Sorted(maps.Keys(topics)))
		if err != nil {
			return
		}
		all := true
		for topic := range topics {
			topics[topic] = isMissingTopic(answers[topic].err)
			all = all && topics[topic]
		}
		if all || wait.sleep(ctx) != nil {
			break
		}
	}
	explain(t.shared.out.events, func(topic string) bool { return topics[topic] })
}

// maxTopicWait ends the waiting for a topic to disappear: 150 ms in all.
const maxTopicWait = 100 * time.Millisecond

// explain gives topic-deleted as the cause of those deletions whose topics are all gone.
func explain(events []ledger.Event, gone func(topic string) bool) {
	for i := range events {
		e := &events[i]
		if !unexplained(e) {
			continue
		}
		all := true
		for j := range e.Offsets {
			all = all && gone(e.Offsets[j].Topic)
		}
		if all {
			e.Cause = ledger.CauseTopicDeleted
		}
	}
}

// unexplained reports whether e is a deletion that the end of a topic would explain.
func unexplained(e *ledger.Event) bool {
	return e.Kind == ledger.KindDeleted && e.CauseInferred &&
		(e.Cause == ledger.CauseDeleted || e.Cause == ledger.CauseUnknown)
}
