package kafka

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
	"github.com/offsetledger/offsetledger/ledger"
)

// adminOf is an Admin of a cluster, whose client the end of the test closes.
func adminOf(t *testing.T, c *kafkatest.Cluster) *Admin {
	t.Helper()
	client, err := kgo.NewClient(c.Options(kgo.MetadataMinAge(10 * time.Millisecond))...)
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return NewAdmin(client)
}

// eachKafka runs a test on a Kafka in this process and on a real one.
func eachKafka(t *testing.T, test func(t *testing.T, c *kafkatest.Cluster)) {
	t.Run("kfake", func(t *testing.T) {
		fake, err := kafkatest.StartFake(kafkatest.FakeConfig{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, fake.Close()) })
		test(t, fake.Cluster)
	})
	t.Run("Kafka", func(t *testing.T) { test(t, kafkatest.Shared(t, "").Cluster) })
}

// What is written of a group that nobody is in is what is read back: offset, epoch and metadata
// of each partition by itself. Deleted is what was there, and what was not.
func TestAdminWritesAndReadsAGroupThatNobodyIsIn(t *testing.T) {
	eachKafka(t, func(t *testing.T, c *kafkatest.Cluster) {
		const topic, group = "admin-orders", "admin-billing"
		require.NoError(t, c.CreateTopic(within(t), topic, 3))
		require.NoError(t, c.Produce(within(t), topic, 0, 10))
		a := adminOf(t, c)

		before := a.Groups(within(t), []string{group, "admin-nobody"})
		require.Equal(t, []GroupNow{{Name: group, State: "Dead"}, {Name: "admin-nobody", State: "Dead"}}, before)

		rows := []ledger.Offset{
			{Topic: topic, Partition: 0, At: 7, LeaderEpoch: ledger.EpochOf(0), Metadata: "kept"},
			{Topic: topic, Partition: 2, At: 0},
		}
		sent, err := a.Commit(within(t), group, rows)
		require.NoError(t, err)
		for i := range sent {
			require.Zero(t, sent[i].ErrorCode)
			require.NotEqual(t, uuid.Nil, sent[i].TopicID)
		}
		now := a.Groups(within(t), []string{group})[0]
		require.NoError(t, now.Err)
		require.Equal(t, GroupNow{Name: group, Exists: true, State: "Empty", Type: ledger.GroupTypeClassic}, now)

		committed := a.Committed(within(t), []string{group, "admin-nobody"}, nil)
		require.NoError(t, committed[0].Err)
		require.Empty(t, committed[0].Pending)
		require.Equal(t, rows, plainRows(committed[0].Rows))
		require.NoError(t, committed[1].Err)
		require.Empty(t, committed[1].Rows)

		gone, err := a.Delete(within(t), group, []ledger.TopicPartition{{Topic: topic, Partition: 2}, {Topic: topic, Partition: 1}})
		require.NoError(t, err)
		require.Zero(t, gone[0].ErrorCode)
		require.Zero(t, gone[1].ErrorCode)
		require.Equal(t, rows[:1], plainRows(a.Committed(within(t), []string{group}, nil)[0].Rows))
		_, err = a.Delete(within(t), "admin-nobody", []ledger.TopicPartition{{Topic: topic}})
		require.NoError(t, err)
	})
}

// plainRows are rows without the ids of topics, in order.
func plainRows(rows []ledger.Offset) []ledger.Offset {
	out := make([]ledger.Offset, 0, len(rows))
	for _, r := range rows {
		r.TopicID, r.Flags = uuid.Nil, 0
		out = append(out, r)
	}
	for i := range out {
		for j := i; j > 0 && out[j].Partition < out[j-1].Partition; j-- {
			out[j], out[j-1] = out[j-1], out[j]
		}
	}
	return out
}

// What the leaders say of a topic: its id, its partitions, how far they reach, where an epoch
// ends, the first record after a time. A topic that is not there is an answer.
func TestAdminAsksWhatTopicsAre(t *testing.T) {
	eachKafka(t, func(t *testing.T, c *kafkatest.Cluster) {
		const topic = "admin-bounds"
		require.NoError(t, c.CreateTopic(within(t), topic, 2))
		require.NoError(t, c.Produce(within(t), topic, 1, 5))
		a := adminOf(t, c)
		topics, err := a.Topics(within(t), []string{topic, "admin-no-such"})
		require.NoError(t, err)
		require.Len(t, topics, 2)
		require.True(t, topics[0].Exists)
		require.NotEqual(t, uuid.Nil, topics[0].ID)
		require.Len(t, topics[0].Partitions, 2)
		p := topics[0].Partitions[1]
		require.NoError(t, p.Err)
		require.True(t, p.Epoch.Known())
		require.Equal(t, [3]int64{0, 5, 5}, [3]int64{p.LogStart, p.LastStable, p.LogEnd})
		require.Equal(t, TopicNow{Name: "admin-no-such"}, topics[1])

		key := EpochKey{ledger.TopicPartition{Topic: topic, Partition: 1}, p.Epoch}
		require.Equal(t, map[EpochKey]int64{key: 5}, a.EpochEnds(within(t), []EpochKey{key}))

		first := a.RecordsAt(within(t), ledger.AtMillis(0), map[string][]int32{topic: {0, 1}})
		require.Len(t, first, 1)
		require.Zero(t, first[key.TopicPartition].Offset)
		require.True(t, first[key.TopicPartition].Time.Known())

		id, err := a.ClusterID(within(t))
		require.NoError(t, err)
		require.NotEmpty(t, id)
	})
}

// A group that somebody is in tells who, and the broker refuses each row that is written to it
// from outside. A group of KIP-848 is told as what it is.
func TestAdminIsRefusedByAGroupWithMembers(t *testing.T) {
	eachKafka(t, func(t *testing.T, c *kafkatest.Cluster) {
		const topic = "admin-busy"
		require.NoError(t, c.CreateTopic(within(t), topic, 1))
		require.NoError(t, c.Produce(within(t), topic, 0, 5))
		a := adminOf(t, c)
		for group, want := range map[string]ledger.GroupType{"admin-classic": ledger.GroupTypeClassic, "admin-848": ledger.GroupTypeConsumer} {
			if want == ledger.GroupTypeConsumer && strings.HasPrefix(c.String(), "kfake") {
				continue // it describes such a group as a classic one
			}
			opts := []kgo.Opt{kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.ClientID("reader-1"), kgo.DisableAutoCommit()}
			if want == ledger.GroupTypeConsumer {
				opts = append(opts, kgo.ServerSideBalancer())
			}
			member, err := kgo.NewClient(c.Options(opts...)...)
			require.NoError(t, err)
			require.NoError(t, member.PollFetches(within(t)).Err())

			now := a.Groups(within(t), []string{group})[0]
			require.NoError(t, now.Err)
			require.Equal(t, want, now.Type)
			require.Equal(t, "Stable", now.State)
			require.Len(t, now.Members, 1)
			require.Equal(t, "reader-1", now.Members[0].ClientID)

			sent, err := a.Commit(within(t), group, []ledger.Offset{{Topic: topic, At: 1}})
			require.NoError(t, err)
			require.Equal(t, kerr.UnknownMemberID.Code, sent[0].ErrorCode)
			member.Close()
		}
	})
}

// A commit of more than 512 KiB is several, of which none is refused for its size.
func TestAdminCutsALargeCommit(t *testing.T) {
	rows := make([]ledger.Offset, 600)
	for i := range rows {
		rows[i] = ledger.Offset{Topic: "orders", Partition: int32(i), Metadata: strings.Repeat("m", 2000)}
	}
	n := commitOf(rows)
	require.Equal(t, maxCommit/(rowCost+len("orders")+2000), n)
	require.Equal(t, 1, commitOf([]ledger.Offset{{Topic: "t", Metadata: strings.Repeat("m", maxCommit)}, {Topic: "t"}}))
}
