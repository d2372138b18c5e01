package kafka

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetledger/offsetledger/ledger"
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

// produce writes n records to a partition. A client that has written to a topic does not soon
// learn that it was made again, so this one is new.
func (f fakeKafka) produce(t testing.TB, topic string, partition int32, n int) {
	client, err := kgo.NewClient(kgo.SeedBrokers(f.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	require.NoError(t, err)
	defer client.Close()
	for range n {
		require.NoError(t, client.ProduceSync(within(t), &kgo.Record{Topic: topic, Partition: partition}).FirstErr())
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
