package kafka

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetledger/offsetledger/commands"
	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/ledgertest"
	"github.com/offsetledger/offsetledger/projection"
)

// Offsets that are committed inside of a transaction are the manager's when it is committed, and
// nobody's when it is aborted.
func TestOffsetsInsideATransaction(t *testing.T) {
	fake := startFake(t, kafkatest.FakeConfig{Topics: map[string]int32{"in": 1, "out": 1}})
	transact(t, fake, ledgertest.New(t), "billing", "in", "out")
}

// On a real broker, and captured meanwhile: each transaction is one commit, told twice.
func TestRealOffsetsInsideATransaction(t *testing.T) {
	kafka := kafkatest.Shared(t, "")
	id := "transact-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	for _, topic := range []string{id + "-in", id + "-out"} {
		require.NoError(t, kafka.CreateTopic(t.Context(), topic, 1))
	}
	log := ledgertest.New(t)
	tail := capture(t, kafka, log, nil)
	tail.ready()
	transact(t, kafka, log, id, id+"-in", id+"-out")
	tail.caughtUp()
	require.ErrorIs(t, tail.kill(), context.Canceled)

	s, to := projection.NewState(), []int64{}
	for _, rec := range recordsOf(t, log) {
		changes, err := s.Apply(rec)
		require.NoError(t, err)
		for _, c := range changes {
			if c.Group == id {
				require.Equal(t, projection.MovementAdvance, c.Movement, "%+v", c)
				to = append(to, c.To.At)
			}
		}
	}
	require.Equal(t, []int64{4, 7}, to)
}

func transact(t *testing.T, kafka producer, log *ledgertest.Ledger, group, in, out string) {
	require.NoError(t, kafka.Produce(t.Context(), in, 0, 10))
	m, err := commands.NewManager(t.Context(), log, commands.Config{Cluster: "c", Group: group, KafkaCommits: true, Strategy: commands.Manual()})
	require.NoError(t, err)
	session, err := kgo.NewGroupTransactSession(append(kafka.Options(
		kgo.ConsumerGroup(group), kgo.ConsumeTopics(in), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.TransactionalID(group), kgo.DefaultProduceTopic(out), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
	), Opts(m, Bind{})...)...)
	require.NoError(t, err)
	defer session.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()

	// turn polls up to n records, copies them, and ends the transaction.
	turn := func(n int, end kgo.TransactionEndTry) (first int64, committed bool) {
		require.NoError(t, session.Begin())
		fetches := session.PollRecords(ctx, n)
		require.NoError(t, fetches.Err())
		records := fetches.Records()
		require.NotEmpty(t, records)
		for _, r := range records {
			require.NoError(t, session.ProduceSync(ctx, kgo.StringRecord(string(r.Value))).FirstErr())
			require.NoError(t, Done(m, r)) // not needed, and no harm
		}
		committed, err := EndTransaction(ctx, session, end)
		require.NoError(t, err)
		return records[0].Offset, committed
	}
	first, committed := turn(4, kgo.TryCommit)
	require.True(t, committed)
	require.Zero(t, first)
	awaitCommitted(t, kafka, group, in, 4)

	first, committed = turn(3, kgo.TryAbort)
	require.False(t, committed)
	require.EqualValues(t, 4, first)
	require.Empty(t, m.Pending())

	first, committed = turn(3, kgo.TryCommit)
	require.True(t, committed)
	require.EqualValues(t, 4, first, "the records of the aborted transaction come again")
	at, ok := m.Offset(in, 0)
	require.True(t, ok)
	require.EqualValues(t, 7, at)
	awaitCommitted(t, kafka, group, in, 7)
	require.Equal(t, []int64{4, 7}, toldByManager(t, log, group))

	require.NoError(t, m.UpdateOffset(in, 0, 9))
	_, err = m.Commit(ctx)
	require.ErrorIs(t, err, ErrInTransaction)
	awaitCommitted(t, kafka, group, in, 7)
}

// A rebalance comes between the offsets of a transaction and its end, and it is aborted: the
// attempt is in the history, and its records come again. Where the cluster is captured from its
// log it is capture that tells so.
func TestOffsetsOfAnAbortedTransactionAreRecordedAsFailed(t *testing.T) {
	for name, captured := range map[string]bool{"alone": false, "captured": true} {
		t.Run(name, func(t *testing.T) {
			fake := startFake(t, kafkatest.FakeConfig{Topics: map[string]int32{"in": 1, "out": 1}})
			require.NoError(t, fake.Produce(t.Context(), "in", 0, 3))
			log := ledgertest.New(t)
			if captured {
				tail := capture(t, fake, log, nil)
				tail.ready()
				require.ErrorIs(t, tail.kill(), context.Canceled)
			}
			m, err := commands.NewManager(t.Context(), log, commands.Config{Cluster: "c", Group: "billing", KafkaCommits: true, Strategy: commands.Manual()})
			require.NoError(t, err)
			session, err := kgo.NewGroupTransactSession(append(fake.Options(
				kgo.ConsumerGroup("billing"), kgo.ConsumeTopics("in"), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
				kgo.TransactionalID("billing"), kgo.DefaultProduceTopic("out"),
			), Opts(m, Bind{})...)...)
			require.NoError(t, err)
			defer session.Close()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			turn := func() bool {
				require.NoError(t, session.Begin())
				fetches := session.PollRecords(ctx, 3)
				require.NoError(t, fetches.Err())
				require.Zero(t, fetches.Records()[0].Offset)
				require.NoError(t, session.ProduceSync(ctx, kgo.StringRecord("out")).FirstErr())
				committed, err := EndTransaction(ctx, session, kgo.TryCommit)
				require.NoError(t, err)
				return committed
			}
			fake.Kafka.ControlKey(int16(kmsg.TxnOffsetCommit), func(req kmsg.Request) (kmsg.Response, error, bool) {
				commit := req.(*kmsg.TxnOffsetCommitRequest)
				resp := commit.ResponseKind().(*kmsg.TxnOffsetCommitResponse)
				for _, topic := range commit.Topics {
					out := kmsg.NewTxnOffsetCommitResponseTopic()
					out.Topic = topic.Topic
					for _, part := range topic.Partitions {
						answer := kmsg.NewTxnOffsetCommitResponseTopicPartition()
						answer.Partition, answer.ErrorCode = part.Partition, kerr.RebalanceInProgress.Code
						out.Partitions = append(out.Partitions, answer)
					}
					resp.Topics = append(resp.Topics, out)
				}
				return resp, nil, true
			})
			require.False(t, turn())
			failed := eventsOf(t, log, ledger.KindFailed)
			if captured {
				require.Empty(t, failed)
			} else {
				require.Len(t, failed, 1)
				require.Equal(t, ledger.CauseAborted, failed[0].Cause)
				require.EqualValues(t, 3, failed[0].Offsets[0].At)
			}
			require.Empty(t, m.Committed())
			require.True(t, turn())
			require.Equal(t, []int64{3}, toldByManager(t, log, "billing"))
			require.Len(t, eventsOf(t, log, ledger.KindFailed), len(failed))
		})
	}
}

// awaitCommitted waits until the broker has an offset: the marker of a transaction is written
// after its end was acknowledged.
func awaitCommitted(t testing.TB, kafka reachable, group, topic string, want int64) {
	t.Helper()
	require.Eventually(t, func() bool { return committedAt(t, kafka, group, topic, 0) == want }, patience, 10*time.Millisecond)
}

// toldByManager are the offsets that managers of a group have told of one partition.
func toldByManager(t testing.TB, log ledgerLog, group string) (ats []int64) {
	t.Helper()
	for _, e := range eventsOf(t, log, ledger.KindCommitted) {
		if e.Group == group && e.Source.Kind == ledger.SourceManager {
			ats = append(ats, e.Offsets[0].At)
		}
	}
	return ats
}
