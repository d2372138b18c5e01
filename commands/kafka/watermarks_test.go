package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/ledgertest"
)

// fakeKafka is a fake cluster with a client and one thing to do it with.
type fakeKafka struct {
	*kfake.Cluster
	client *kgo.Client
}

func startKafka(t testing.TB, opts ...kfake.Opt) fakeKafka {
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return fakeKafka{c, client}
}

// produce writes n records to a partition.
func (f fakeKafka) produce(t testing.TB, topic string, partition int32, n int) {
	for range n {
		require.NoError(t, f.client.ProduceSync(within(t), &kgo.Record{Topic: topic, Partition: partition}).FirstErr())
	}
}

// createTopic makes a topic and returns its id.
func (f fakeKafka) createTopic(t testing.TB, topic string, partitions int32) uuid.UUID {
	req := kmsg.NewPtrCreateTopicsRequest()
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = topic, partitions, 1
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(within(t), f.client)
	require.NoError(t, err)
	require.NoError(t, kerr.ErrorForCode(resp.Topics[0].ErrorCode))
	return resp.Topics[0].TopicID
}

func (f fakeKafka) deleteTopic(t testing.TB, topic string) {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TopicNames = []string{topic}
	rt := kmsg.NewDeleteTopicsRequestTopic()
	rt.Topic = kmsg.StringPtr(topic)
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(within(t), f.client)
	require.NoError(t, err)
	require.NoError(t, kerr.ErrorForCode(resp.Topics[0].ErrorCode))
}

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// timedOut is a context for questions that nobody will answer.
func timedOut(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// tracked are rows of the first n partitions of a topic.
func tracked(topic string, n int32) []ledger.Offset {
	var rows []ledger.Offset
	for p := range n {
		rows = append(rows, ledger.Offset{Topic: topic, Partition: p})
	}
	return rows
}

func newObserver(t testing.TB, f fakeKafka, change func(*ObserverConfig)) *Observer {
	cfg := ObserverConfig{Client: f.client, Cluster: "test"}
	if change != nil {
		change(&cfg)
	}
	o, err := NewObserver(cfg)
	require.NoError(t, err)
	return o
}

// tick is the moment of the n-th observation of a test.
func tick(n int) time.Time { return time.UnixMilli(1767225600000 + 10000*int64(n)) }

// requireValid fails unless the events may be stored, once the appender has given them ids.
func requireValid(t testing.TB, events []ledger.Event) {
	for _, e := range events {
		e.ID = uuid.Must(uuid.NewV7())
		require.NoError(t, e.Validate())
	}
}

// ofKind returns the events of one kind.
func ofKind(events []ledger.Event, kind ledger.Kind) []ledger.Event {
	var some []ledger.Event
	for _, e := range events {
		if e.Kind == kind {
			some = append(some, e)
		}
	}
	return some
}

// Only partitions that groups use are observed; the first event of a shard is complete, the
// next ones hold what changed, and no change makes no event.
func TestObserveTellsWhatChanged(t *testing.T) {
	f := startKafka(t, kfake.SeedTopics(3, "orders"))
	f.produce(t, "orders", 0, 5)
	f.produce(t, "orders", 1, 2)
	o := newObserver(t, f, func(c *ObserverConfig) { c.CompleteEvery = 3 })

	events, err := o.Observe(within(t), tick(0))
	require.NoError(t, err)
	require.Empty(t, events, "nothing is tracked")

	o.Track(tracked("orders", 2))
	events, err = o.Observe(within(t), tick(1))
	require.NoError(t, err)
	require.Len(t, events, 2)
	requireValid(t, events)
	id := events[0].TopicInfo.TopicID
	require.NotZero(t, id)
	require.Equal(t, ledger.Event{
		Kind: ledger.KindTopic, Cluster: "test", Topic: "orders", Time: ledger.AtTime(tick(1)),
		Source: ledger.Source{Kind: ledger.SourcePoll}, TopicInfo: &ledger.TopicInfo{TopicID: id, Partitions: 3},
	}, events[0])
	require.Equal(t, ledger.Event{
		Kind: ledger.KindWatermarks, Cluster: "test", Time: ledger.AtTime(tick(1)),
		Source: ledger.Source{Kind: ledger.SourcePoll},
		Watermarks: &ledger.Watermarks{Shard: ledger.WatermarkShard("orders"), Complete: true, Rows: []ledger.Watermark{
			{Topic: "orders", TopicID: id, Partition: 0, LastStable: 5, LogEnd: 5},
			{Topic: "orders", TopicID: id, Partition: 1, LastStable: 2, LogEnd: 2},
		}},
	}, events[1])

	events, err = o.Observe(within(t), tick(2))
	require.NoError(t, err)
	require.Empty(t, events)

	f.produce(t, "orders", 1, 1)
	changed := ledger.Watermark{Topic: "orders", Partition: 1, LastStable: 3, LogEnd: 3}
	events, err = o.Observe(within(t), tick(3))
	require.NoError(t, err)
	require.Len(t, events, 1)
	require.False(t, events[0].Watermarks.Complete)
	require.Equal(t, []ledger.Watermark{changed}, events[0].Watermarks.Rows)

	for n, complete := range []bool{false, true, false} {
		f.produce(t, "orders", 0, 1)
		events, err = o.Observe(within(t), tick(4+n))
		require.NoError(t, err)
		require.Equal(t, complete, events[0].Watermarks.Complete, "one event in three")
	}

	o.Reset()
	events, err = o.Observe(within(t), tick(9))
	require.NoError(t, err)
	require.Len(t, events, 2, "what could not be stored is told again")
}

// An open transaction holds the last stable offset back, and deleted records move the start
// of the log.
func TestObserveLastStableAndStart(t *testing.T) {
	f := startKafka(t, kfake.SeedTopics(1, "orders"))
	f.produce(t, "orders", 0, 4)
	txn, err := kgo.NewClient(kgo.SeedBrokers(f.ListenAddrs()...), kgo.TransactionalID("x"))
	require.NoError(t, err)
	defer txn.Close()
	require.NoError(t, txn.BeginTransaction())
	require.NoError(t, txn.ProduceSync(within(t), &kgo.Record{Topic: "orders"}).FirstErr())

	require.NoError(t, f.DeleteRecords("orders", 0, 2))

	o := newObserver(t, f, nil)
	o.Track(tracked("orders", 1))
	events, err := o.Observe(within(t), tick(1))
	require.NoError(t, err)
	row := ofKind(events, ledger.KindWatermarks)[0].Watermarks.Rows[0]
	require.Equal(t, []int64{2, 4, 5}, []int64{row.LogStart, row.LastStable, row.LogEnd})
	require.NoError(t, txn.EndTransaction(within(t), kgo.TryAbort))
}

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
	var led []int32
	for p := range int32(6) {
		if f.LeaderFor("orders", p) == 1 {
			led = append(led, p)
		}
	}
	require.NotEmpty(t, led)
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

// A topic is deleted only when it has been missing twice; made again, it has another id.
func TestObserveTopicDeletedAndMadeAgain(t *testing.T) {
	f := startKafka(t)
	first := f.createTopic(t, "orders", 2)
	o := newObserver(t, f, nil)
	o.Track(tracked("orders", 2))
	_, err := o.Observe(within(t), tick(1))
	require.NoError(t, err)

	f.deleteTopic(t, "orders")
	events, err := o.Observe(within(t), tick(2))
	require.ErrorIs(t, err, kerr.UnknownTopicOrPartition)
	require.Len(t, events, 1)
	require.Equal(t, []ledger.TopicPartitions{{Topic: "orders", Partitions: []int32{0, 1}}}, events[0].Watermarks.Unanswered)
	require.False(t, o.Gone("orders"))

	events, err = o.Observe(within(t), tick(3))
	require.NoError(t, err)
	require.Equal(t, []ledger.Event{{
		Kind: ledger.KindTopic, Cluster: "test", Topic: "orders",
		Time: ledger.AtTime(tick(3)), NotBefore: ledger.AtTime(tick(1)),
		Source: ledger.Source{Kind: ledger.SourcePoll}, TopicInfo: &ledger.TopicInfo{TopicID: first, Deleted: true},
	}}, ofKind(events, ledger.KindTopic))
	require.True(t, o.Gone("orders"))
	requireValid(t, events)

	events, err = o.Observe(within(t), tick(4))
	require.NoError(t, err)
	require.Empty(t, events)

	second := f.createTopic(t, "orders", 1)
	events, err = o.Observe(within(t), tick(5))
	require.NoError(t, err)
	require.Empty(t, events, "nobody asks about a topic that is gone")
	o.Track(tracked("orders", 2))
	events, err = o.Observe(within(t), tick(6))
	require.NoError(t, err)
	require.Equal(t, &ledger.TopicInfo{TopicID: second, Partitions: 1, Recreated: true}, events[0].TopicInfo)
	require.Equal(t, []ledger.Watermark{{Topic: "orders", TopicID: second}}, events[1].Watermarks.Rows,
		"of the partitions that it still has")
	require.False(t, o.Gone("orders"))
}

// What no group has an offset in any more is left, and so is a topic that is gone. Where a group
// commits again it is all told anew.
func TestObserveForgetsWhatNobodyCommits(t *testing.T) {
	f := startKafka(t, kfake.SeedTopics(2, "orders", "payments"))
	var asked []string
	f.ControlKey(int16(kmsg.ListOffsets), func(r kmsg.Request) (kmsg.Response, error, bool) {
		f.KeepControl()
		for _, topic := range r.(*kmsg.ListOffsetsRequest).Topics {
			for _, p := range topic.Partitions {
				if p.Timestamp == pointLogStart.timestamp {
					asked = append(asked, fmt.Sprintf("%s/%d", topic.Topic, p.Partition))
				}
			}
		}
		return nil, nil, false
	})
	o := newObserver(t, f, nil)
	observe := func(n int) []ledger.Event {
		asked = nil
		events, err := o.Observe(within(t), tick(n))
		require.NoError(t, err)
		slices.Sort(asked)
		return events
	}
	o.Track(tracked("orders", 2))
	o.Track(tracked("payments", 1))
	observe(1)
	require.Equal(t, []string{"orders/0", "orders/1", "payments/0"}, asked)

	committed := []ledger.TopicPartition{{Topic: "orders", Partition: 1}}
	o.Retain(committed)
	observe(2)
	require.Equal(t, []string{"orders/0", "orders/1", "payments/0"}, asked, "the fold may not have them yet")
	o.Retain(committed)
	require.Empty(t, observe(3))
	require.Equal(t, []string{"orders/1"}, asked)
	require.Len(t, o.topics["orders"].rows, 1)
	require.Empty(t, o.topics["payments"].rows)

	o.Track(tracked("orders", 1))
	events := observe(4)
	require.Equal(t, []string{"orders/0", "orders/1"}, asked)
	require.Len(t, events, 1)
	require.Equal(t, []ledger.Watermark{{Topic: "orders", TopicID: o.topics["orders"].TopicID}}, events[0].Watermarks.Rows)
}

// Topics that come and go for ever do not fill the memory.
func TestObserverRemembersSoManyTopics(t *testing.T) {
	o := newObserver(t, startKafka(t), nil)
	for n := range keptTopics {
		o.topics[fmt.Sprint(n)] = &topicState{TopicInfo: ledger.TopicInfo{Deleted: true}}
	}
	o.topics["orders"] = &topicState{}
	o.Retain([]ledger.TopicPartition{{Topic: "orders"}})
	o.forget()
	require.Len(t, o.topics, keptTopics+1)
	o.topics["one more"] = &topicState{}
	o.Retain([]ledger.TopicPartition{{Topic: "orders"}})
	o.forget()
	require.Len(t, o.topics, 1)
	require.NotNil(t, o.topics["orders"])
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

// A topic is deleted and made again between two ticks, with as many records as it had: it is
// another log, and all of it is told. Partitions that are added to it are told once a group
// commits there.
func TestObserveTopicMadeAgainBetweenTicks(t *testing.T) {
	f := startKafka(t)
	f.createTopic(t, "orders", 2)
	f.produce(t, "orders", 0, 3)
	o := newObserver(t, f, nil)
	o.Track(tracked("orders", 2))
	_, err := o.Observe(within(t), tick(1))
	require.NoError(t, err)

	f.deleteTopic(t, "orders")
	again := f.createTopic(t, "orders", 2)
	f.client.PurgeTopicsFromClient("orders")
	f.produce(t, "orders", 0, 3)
	events, err := o.Observe(within(t), tick(2))
	require.NoError(t, err)
	require.Len(t, events, 2)
	require.Equal(t, &ledger.TopicInfo{TopicID: again, Partitions: 2, Recreated: true}, events[0].TopicInfo)
	require.Equal(t, []ledger.Watermark{
		{Topic: "orders", TopicID: again, LastStable: 3, LogEnd: 3}, {Topic: "orders", TopicID: again, Partition: 1},
	}, events[1].Watermarks.Rows)
	requireValid(t, events)

	_, err = kadm.NewClient(f.client).UpdatePartitions(within(t), 4, "orders")
	require.NoError(t, err)
	o.Track(tracked("orders", 4))
	events, err = o.Observe(within(t), tick(3))
	require.NoError(t, err)
	require.Len(t, events, 2)
	require.Equal(t, &ledger.TopicInfo{TopicID: again, Partitions: 4}, events[0].TopicInfo)
	require.Equal(t, []ledger.Watermark{
		{Topic: "orders", TopicID: again, Partition: 2}, {Topic: "orders", TopicID: again, Partition: 3},
	}, events[1].Watermarks.Rows)
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

// What happened to topics while nobody looked is noticed from what the ledger knows of them.
func TestObserveTopicsSinceTheLastTime(t *testing.T) {
	f := startKafka(t)
	same, other := f.createTopic(t, "same", 1), f.createTopic(t, "other", 1)
	old := uuid.MustParse("00000000-0000-0000-0000-00000000000a")
	o := newObserver(t, f, func(c *ObserverConfig) {
		c.Topics = map[string]ledger.TopicInfo{
			"same":  {TopicID: same, Partitions: 1},
			"other": {TopicID: old, Partitions: 1},
		}
	})
	o.Track(append(tracked("same", 1), tracked("other", 1)...))
	events, err := o.Observe(within(t), tick(1))
	require.NoError(t, err)
	topics := ofKind(events, ledger.KindTopic)
	require.Len(t, topics, 1)
	require.Equal(t, "other", topics[0].Topic)
	require.Equal(t, &ledger.TopicInfo{TopicID: other, Partitions: 1, Recreated: true}, topics[0].TopicInfo)
}

// 20,000 partitions cost one request for the topics and three for the offsets, to each broker.
func TestObserveAsksFewRequests(t *testing.T) {
	f := startKafka(t, kfake.SeedTopics(100, topicNames(200)...))
	requests := map[int16]int{}
	f.Control(func(r kmsg.Request) (kmsg.Response, error, bool) {
		f.KeepControl()
		requests[r.Key()]++ // kfake runs control functions one after the other
		return nil, nil, false
	})
	o := newObserver(t, f, nil)
	for _, topic := range topicNames(200) {
		o.Track(tracked(topic, 100))
	}
	started := time.Now()
	events, err := o.Observe(within(t), tick(1))
	require.NoError(t, err)
	t.Logf("20,000 partitions observed in %s", time.Since(started))
	rows := 0
	for _, e := range ofKind(events, ledger.KindWatermarks) {
		rows += len(e.Watermarks.Rows)
	}
	require.Equal(t, 20000, rows)
	require.Len(t, ofKind(events, ledger.KindWatermarks), ledger.WatermarkShards)
	f.Close()
	require.Equal(t, 3, requests[int16(kmsg.ListOffsets)])
	require.LessOrEqual(t, requests[int16(kmsg.Metadata)], 3, "the client's own included")
}

func topicNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("topic-%03d", i)
	}
	return names
}

// A configuration that cannot work names all of its faults.
func TestObserverConfigFaults(t *testing.T) {
	_, err := NewObserver(ObserverConfig{CompleteEvery: -1, Timeout: -time.Second})
	require.ErrorContains(t, err, "no Kafka client")
	require.ErrorContains(t, err, "no name")
	require.ErrorContains(t, err, "-1")
	require.ErrorContains(t, err, "-1s")
}
