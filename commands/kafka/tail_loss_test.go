package kafka

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/ledgertest"
)

// __consumer_offsets is deleted and made again, while capture runs and while it is away. The
// positions begin anew, and the ledger says that history may be missing between.
func TestOffsetsTopicMadeAgain(t *testing.T) {
	t.Parallel() // it waits more than it works
	for name, away := range map[string]bool{"away": true, "there": false} {
		t.Run(name, func(t *testing.T) {
			fake := startFake(t, kafkatest.FakeConfig{Partitions: 2})
			log := ledgertest.New(t)
			group := groupIn(t, 1, 2)
			require.NoError(t, fake.Write(t.Context(), group, commits(group, "t", 0, 1, 2, 3)...))
			withFacts := func(cfg *TailConfig) { cfg.Facts = ViewFacts{View: view(t, log), Cluster: "c"} }
			r := capture(t, fake, log, withFacts)
			r.ready()
			if away {
				require.ErrorIs(t, r.kill(), context.Canceled)
			}
			require.NoError(t, fake.Kafka.DeleteTopic(offsetsTopic))
			require.NoError(t, fake.Kafka.CreateTopic(offsetsTopic, 2, nil))
			if away {
				r = capture(t, fake, log, withFacts)
			}
			require.Eventually(t, func() bool { return len(eventsOf(t, log, ledger.KindGap)) > 0 }, patience, 5*time.Millisecond)
			writeAnew(t, fake, commits("h", "t", 0, 7)...)
			r.eventually(func(s Status) bool { return len(s.Lines) == 2 && s.Lines[0].Next == 1 })
			gaps := eventsOf(t, log, ledger.KindGap)
			require.Len(t, gaps, 1)
			require.Equal(t, ledger.CauseRecreated, gaps[0].Cause)
			require.Equal(t, int32(1), gaps[0].Gap.SourcePartition)
			require.Equal(t, []int64{1, 2, 3, 7}, allAts(eventsOf(t, log, ledger.KindCommitted)))
		})
	}
}

// A topic is deleted, and with it the offsets that groups had committed for it.
func TestOffsetsOfADeletedTopic(t *testing.T) {
	fake := startFake(t, kafkatest.FakeConfig{Topics: map[string]int32{"orders": 2, "payments": 1}})
	log := ledgertest.New(t)
	ctx := t.Context()
	require.NoError(t, fake.Commit(ctx, "g", "orders", map[int32]int64{0: 1, 1: 2}))
	require.NoError(t, fake.Commit(ctx, "g", "payments", map[int32]int64{0: 3}))
	require.NoError(t, fake.Sync(ctx))
	r := capture(t, fake, log, func(cfg *TailConfig) { cfg.Facts = ViewFacts{View: view(t, log), Cluster: "c"} })
	r.ready()
	require.NoError(t, fake.DeleteTopic(ctx, "orders"))
	require.NoError(t, fake.Sync(ctx))
	require.NoError(t, fake.DeleteOffsets(ctx, "g", "payments", 0))
	require.NoError(t, fake.Sync(ctx))
	r.caughtUp()
	// The tombstones of one topic share a millisecond, or they do not: how many events they become is
	// not asked.
	causes := map[ledger.TopicPartition]ledger.Cause{}
	for _, event := range eventsOf(t, log, ledger.KindDeleted) {
		for _, row := range event.Offsets {
			causes[ledger.TopicPartition{Topic: row.Topic, Partition: row.Partition}] = event.Cause
		}
	}
	require.Equal(t, map[ledger.TopicPartition]ledger.Cause{
		{Topic: "orders", Partition: 0}:   ledger.CauseTopicDeleted,
		{Topic: "orders", Partition: 1}:   ledger.CauseTopicDeleted,
		{Topic: "payments", Partition: 0}: ledger.CauseDeleted,
	}, causes)
}

// Kafka goes away and comes back. Capture says so meanwhile, and goes on by itself.
func TestKafkaAway(t *testing.T) {
	dir := t.TempDir()
	fake, port := startAgainLater(t, kafkatest.FakeConfig{Partitions: 1, DataDir: dir})
	require.NoError(t, fake.Write(t.Context(), "g", commits("g", "t", 0, 1)...))
	log := ledgertest.New(t)
	r := capture(t, fake, log, nil)
	r.ready()
	require.NoError(t, fake.Close())
	r.eventually(func(s Status) bool { return s.KafkaError != nil && !s.Healthy() })

	fake, err := kafkatest.StartFake(kafkatest.FakeConfig{Partitions: 1, DataDir: dir, Ports: []int{port}})
	require.NoError(t, err)
	defer func() { require.NoError(t, fake.Close()) }()
	require.NoError(t, fake.Write(t.Context(), "g", commits("g", "t", 0, 2)...))
	r.caughtUp()
	r.eventually(Status.Healthy)
	require.Equal(t, []int64{1, 2}, allAts(eventsOf(t, log, ledger.KindCommitted)))
	require.ErrorIs(t, r.kill(), context.Canceled)
}

// Kafka is not there when capture begins.
func TestKafkaNotThereYet(t *testing.T) {
	gone, port := startAgainLater(t, kafkatest.FakeConfig{})
	require.NoError(t, gone.Close())
	log := ledgertest.New(t)
	r := capture(t, gone, log, nil)
	r.eventually(func(s Status) bool { return s.KafkaError != nil })
	require.False(t, r.Status().Ready)
	startFake(t, kafkatest.FakeConfig{Ports: []int{port}})
	r.ready()
}

// writeAnew writes to partition 0 of the topic that has the name now.
func writeAnew(t testing.TB, fake *kafkatest.Fake, records ...*kgo.Record) {
	cl, err := kgo.NewClient(fake.Options(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DisableIdempotentWrite())...)
	require.NoError(t, err)
	defer cl.Close()
	for _, r := range records {
		r.Topic = offsetsTopic
	}
	require.NoError(t, cl.ProduceSync(t.Context(), records...).FirstErr())
}

// startAgainLater starts a cluster on a port that nobody takes while it is closed: one below
// those that systems hand out by themselves.
func startAgainLater(t testing.TB, cfg kafkatest.FakeConfig) (*kafkatest.Fake, int) {
	const low, high, tries = 15000, 32000, 50
	var err error
	for range tries {
		cfg.Ports = []int{low + rand.IntN(high-low)}
		var fake *kafkatest.Fake
		if fake, err = kafkatest.StartFake(cfg); err == nil {
			return fake, cfg.Ports[0]
		}
	}
	require.NoError(t, err)
	return nil, 0
}
