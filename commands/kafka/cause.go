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
// topic would explain: one question for all of them. The brokers write the tombstones just
// before the topic disappears, so a topic that is still there is asked for once more.
//
// Reading stands still meanwhile, so that the waiting is rationed: see [ration]. An answer
// that does not come costs no more than a cause, so it is not waited for as others are.
func (t *Tail) explainDeletions(ctx context.Context) {
	topics := map[string]bool{} // gone
	for i := range t.shared.out.events {
		if e := &t.shared.out.events[i]; unexplained(e) {
			for j := range e.Offsets {
				topics[e.Offsets[j].Topic] = false
			}
		}
	}
	if len(topics) == 0 || !t.topicWaits.asks(time.Now()) {
		return
	}
	for wait := newBackoff(); ; {
		askCtx, cancel := context.WithTimeout(ctx, causeTimeout)
		answers, err := describeTopics(askCtx, t.client, slices.Sorted(maps.Keys(topics)))
		cancel()
		if err != nil {
			t.topicWaits.refused(time.Now())
			break
		}
		all := true
		for topic := range topics {
			topics[topic] = isMissingTopic(answers[topic].err)
			all = all && topics[topic]
		}
		if all || wait.next > maxTopicWait || !t.topicWaits.takes(wait.next, time.Now()) || wait.sleep(ctx) != nil {
			break
		}
	}
	explain(t.shared.out.events, func(topic string) bool { return topics[topic] })
}

const (
	// maxTopicWait ends the waiting for a topic to disappear: 150 ms in all.
	maxTopicWait = 100 * time.Millisecond
	// mostTopicWaits is what may be waited at once, after a while without deletions.
	mostTopicWaits = 150 * time.Millisecond
	// topicWaitShare is the part of the time that may go into waiting if deletions keep coming.
	topicWaitShare = 0.05
	// causeTimeout is how long the brokers may take to answer, and causeRest how long they are
	// not asked after they did not.
	causeTimeout = 2 * time.Second
	causeRest    = 30 * time.Second
)

// ration limits the waiting for topics to disappear. Of a topic with thousands of groups
// the first batch of tombstones waits, and by then the topic is gone. Thousands of deletions
// that have nothing to do with topics slow reading down by a twentieth, and no more.
type ration struct {
	left  time.Duration
	since time.Time // when left was true
	rest  time.Time // until when nobody is asked
}

// takes takes a wait from what is left, if there is enough.
func (r *ration) takes(wait time.Duration, now time.Time) bool {
	if r.since.IsZero() {
		r.left = mostTopicWaits
	} else {
		r.left = min(mostTopicWaits, r.left+time.Duration(topicWaitShare*float64(now.Sub(r.since))))
	}
	r.since = now
	if wait > r.left {
		return false
	}
	r.left -= wait
	return true
}

func (r *ration) asks(now time.Time) bool { return !now.Before(r.rest) }

func (r *ration) refused(now time.Time) { r.rest = now.Add(causeRest) }

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
