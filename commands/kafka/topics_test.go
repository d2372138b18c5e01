package kafka

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetledger/offsetledger/ledger"
)

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
