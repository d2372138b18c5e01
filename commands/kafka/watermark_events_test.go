package kafka

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/ledgertest"
)

// What cannot be observed is named as unanswered, and reported beside what can. The event is
// not complete, and the first one without a failure is.
func TestObserveReportsFailures(t *testing.T) {
	f := startKafka(t, kfake.SeedTopics(2, "orders", "payments"))
	var failing atomic.Bool
	failing.Store(true)
	f.ControlKey(int16(kmsg.ListOffsets), func(r kmsg.Request) (kmsg.Response, error, bool) {
		f.KeepControl()
		if !failing.Load() {
			return nil, nil, false
		}
		return failPartition(r.(*kmsg.ListOffsetsRequest), "payments", 1), nil, true
	})
	o := newObserver(t, f, nil)
	o.Track(tracked("orders", 2))
	o.Track(tracked("payments", 2))
	events, err := o.Observe(within(t), tick(1))

	var failed *ObservationError
	require.ErrorAs(t, err, &failed)
	require.ErrorIs(t, err, kerr.TopicAuthorizationFailed)
	require.Equal(t, 1, failed.Failed)
	require.Equal(t, ledger.TopicPartition{Topic: "payments", Partition: 1}, failed.First)
	var told []string
	for _, e := range ofKind(events, ledger.KindWatermarks) {
		for _, row := range e.Watermarks.Rows {
			told = append(told, fmt.Sprintf("%s/%d %d..%d", row.Topic, row.Partition, row.LogStart, row.LogEnd))
		}
	}
	require.ElementsMatch(t, []string{"orders/0 7..7", "orders/1 7..7", "payments/0 7..7"}, told)
	requireValid(t, events)
	require.Equal(t, map[string]*ledger.Watermarks{
		"orders": {Complete: true}, "payments": {Unanswered: []ledger.TopicPartitions{{Topic: "payments", Partitions: []int32{1}}}},
	}, withoutRows(events))

	events, err = o.Observe(within(t), tick(2))
	require.ErrorAs(t, err, &failed)
	require.Empty(t, events, "nothing is new")

	failing.Store(false)
	events, err = o.Observe(within(t), tick(3))
	require.NoError(t, err)
	require.Equal(t, map[string]*ledger.Watermarks{"orders": {}, "payments": {Complete: true}}, withoutRows(events))
}

// withoutRows are the watermarks of events by the topic of their first row, without shard and rows.
func withoutRows(events []ledger.Event) map[string]*ledger.Watermarks {
	all := map[string]*ledger.Watermarks{}
	for _, e := range ofKind(events, ledger.KindWatermarks) {
		w := *e.Watermarks
		topic := w.Rows[0].Topic
		w.Shard, w.Rows = 0, nil
		all[topic] = &w
	}
	return all
}

// A failure without a change is told, and so is its end: what is left out counts as answered.
func TestObserveTellsFailuresWithoutChanges(t *testing.T) {
	f := startKafka(t, kfake.SeedTopics(2, "payments"))
	o := newObserver(t, f, nil)
	o.Track(tracked("payments", 2))
	_, err := o.Observe(within(t), tick(1))
	require.NoError(t, err)

	rows := []ledger.Watermark{{Topic: "payments"}}
	missing := map[string][]int32{"payments": {1}}
	at := ledger.AtTime(tick(2))
	events := o.watermarkEvents(rows, missing, at)
	require.Len(t, events, 1)
	require.Equal(t, &ledger.Watermarks{Shard: ledger.WatermarkShard("payments"),
		Unanswered: []ledger.TopicPartitions{{Topic: "payments", Partitions: []int32{1}}}}, events[0].Watermarks)
	requireValid(t, events)
	require.Empty(t, o.watermarkEvents(rows, missing, at))

	events = o.watermarkEvents(append(rows, ledger.Watermark{Topic: "payments", Partition: 1}), nil, at)
	require.Len(t, events, 1)
	require.Equal(t, &ledger.Watermarks{Shard: ledger.WatermarkShard("payments")}, events[0].Watermarks)
	requireValid(t, events)
}

// One of three brokers hangs. What the others lead is told with its new ends, and what it leads
// is named.
func TestObserveWhileABrokerHangs(t *testing.T) {
	f := startKafka(t, kfake.NumBrokers(3), kfake.SeedTopics(6, "orders"))
	var away atomic.Bool
	f.ControlKey(int16(kmsg.ListOffsets), func(kmsg.Request) (kmsg.Response, error, bool) {
		f.KeepControl()
		if away.Load() && f.CurrentNode() == 1 {
			return nil, errors.New("broken"), true
		}
		return nil, nil, false
	})
	for p := range int32(6) {
		require.NoError(t, f.MoveTopicPartition("orders", p, p%3))
	}
	led := []int32{1, 4}
	o := newObserver(t, f, func(c *ObserverConfig) { c.Timeout = time.Second })
	o.Track(tracked("orders", 6))
	_, err := o.Observe(within(t), tick(1))
	require.NoError(t, err)

	away.Store(true)
	for p := range int32(6) {
		f.produce(t, "orders", p, 1)
	}
	events, err := o.Observe(within(t), tick(2))
	var failed *ObservationError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, len(led), failed.Failed)
	require.Len(t, events, 1)
	require.Equal(t, []ledger.TopicPartitions{{Topic: "orders", Partitions: led}}, events[0].Watermarks.Unanswered)
	require.Len(t, events[0].Watermarks.Rows, 6-len(led))

	away.Store(false)
	events, err = o.Observe(within(t), tick(3))
	require.NoError(t, err)
	require.Len(t, events[0].Watermarks.Rows, len(led))
	require.Empty(t, events[0].Watermarks.Unanswered)
}

// failPartition answers 7 to every question but those about one partition.
func failPartition(req *kmsg.ListOffsetsRequest, topic string, partition int32) *kmsg.ListOffsetsResponse {
	resp := req.ResponseKind().(*kmsg.ListOffsetsResponse)
	for _, t := range req.Topics {
		rt := kmsg.NewListOffsetsResponseTopic()
		rt.Topic = t.Topic
		for _, p := range t.Partitions {
			rp := kmsg.NewListOffsetsResponseTopicPartition()
			rp.Partition, rp.Offset = p.Partition, 7
			if t.Topic == topic && p.Partition == partition {
				rp.Offset, rp.ErrorCode = -1, kerr.TopicAuthorizationFailed.Code
			}
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

// Of two partitions of a group the brokers stop to answer for one. Its lag is not known from
// then on, that of the other is; when they answer again both are.
func TestLagWhileBrokersDoNotAnswer(t *testing.T) {
	fake := startFake(t, kafkatest.FakeConfig{Partitions: 1, Topics: map[string]int32{"t": 2}})
	var failing atomic.Bool
	fake.Kafka.ControlKey(int16(kmsg.ListOffsets), func(r kmsg.Request) (kmsg.Response, error, bool) {
		fake.Kafka.KeepControl()
		req := r.(*kmsg.ListOffsetsRequest)
		if !failing.Load() || req.Topics[0].Topic != "t" {
			return nil, nil, false
		}
		return failPartition(req, "t", 1), nil, true
	})
	log := ledgertest.New(t)
	r := capture(t, fake, log, nil)
	require.NoError(t, fake.Commit(t.Context(), "g", "t", map[int32]int64{0: 0, 1: 0}))
	require.NoError(t, fake.Sync(t.Context()))
	known := func(zero, one bool) {
		t.Helper()
		r.eventually(func(Status) bool {
			s := folded(t, log)
			for p, want := range []bool{zero, one} {
				at, ok := s.Partition("c", "g", "t", int32(p))
				if !ok || s.Lag("c", &at).Known != want {
					return false
				}
			}
			return true
		})
	}
	known(true, true)
	failing.Store(true)
	known(true, false)
	failing.Store(false)
	known(true, true)
}

// Events of a tick that capture could not store, since nothing was ever committed, are told by
// the next tick.
func TestTickThatIsDroppedIsToldAgain(t *testing.T) {
	f := startKafka(t, kfake.SeedTopics(1, "orders"))
	o := newObserver(t, f, nil)
	o.Track(tracked("orders", 1))
	tail := &Tail{watermarks: o, lines: map[int32]*sourceLine{}}
	tail.shared.out = &batch{}
	first, err := o.Observe(within(t), tick(1))
	require.NoError(t, err)
	require.NoError(t, tail.takeObservation(within(t), observation{tick: true, events: first, taken: make(chan struct{})}))
	require.Empty(t, tail.shared.out.events)

	tail.lines[0] = newLine(&tail.shared, 0, 0)
	again, err := o.Observe(within(t), tick(1))
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.NoError(t, tail.takeObservation(within(t), observation{tick: true, events: again, taken: make(chan struct{})}))
	require.Equal(t, again, tail.shared.out.events)
}

// Events that were long in coming count from the answer.
func TestObservationThatTookLong(t *testing.T) {
	asked, topic := ledger.AtTime(tick(1)), ledger.Event{Kind: ledger.KindTopic, Time: ledger.AtTime(tick(1)), NotBefore: ledger.AtTime(tick(0))}
	events := func() []ledger.Event { return []ledger.Event{topic, {Kind: ledger.KindWatermarks, Time: asked}} }
	require.Equal(t, events(), late(events(), asked, asked.Add(100*time.Millisecond)))

	answered := asked.Add(8 * time.Second)
	topic.Time = answered
	require.Equal(t, []ledger.Event{topic, {Kind: ledger.KindWatermarks, Time: answered, NotBefore: asked}},
		late([]ledger.Event{topic, {Kind: ledger.KindWatermarks, Time: asked}}, asked, answered))
}
