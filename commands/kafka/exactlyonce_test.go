package kafka

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetledger/offsetledger/commands"
	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/ledgertest"
)

// Members with transactions come and go. What they write is there once, whatever they were at
// when partitions were taken from them, and the managers' offsets are those of the transactions.
func TestExactlyOnceWhileMembersComeAndGo(t *testing.T) {
	fake := startFake(t, kafkatest.FakeConfig{Topics: map[string]int32{"in": 4, "out": 1}})
	exactlyOnce(t, fake, "billing", "in", "out")
}

func TestRealExactlyOnceWhileMembersComeAndGo(t *testing.T) {
	kafka := kafkatest.Shared(t, "")
	id := "once-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	require.NoError(t, kafka.CreateTopic(t.Context(), id+"-in", 4))
	require.NoError(t, kafka.CreateTopic(t.Context(), id+"-out", 1))
	exactlyOnce(t, kafka, id, id+"-in", id+"-out")
}

func exactlyOnce(t *testing.T, kafka producer, group, in, out string) {
	const partitions, each = 4, 100
	for p := range int32(partitions) {
		require.NoError(t, kafka.Produce(t.Context(), in, p, each))
	}
	log := ledgertest.New(t)
	member := func(n int) (stop func()) {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			if err := copyInTransactions(ctx, kafka, log, group, in, out, n); err != nil && ctx.Err() == nil {
				t.Errorf("member %d: %v", n, err)
			}
		}()
		t.Cleanup(func() { cancel(); <-done })
		return func() { cancel(); <-done }
	}
	reader := readCommitted(t, kafka, out)
	first := member(1)
	got := reader(partitions * each / 4)
	member(2)
	got = append(got, reader(partitions*each/4)...)
	first()
	member(3)
	got = append(got, reader(partitions*each/2)...)

	var want []string
	for p := range partitions {
		for o := range each {
			want = append(want, fmt.Sprintf("%d/%d", p, o))
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	require.Equal(t, want, got)
	for p := range int32(partitions) {
		require.Eventually(t, func() bool {
			ats := positionsIn(t, log, ledger.KindCommitted, in, p)
			return len(ats) > 0 && ats[len(ats)-1] == each
		}, patience, 10*time.Millisecond)
		ats := positionsIn(t, log, ledger.KindCommitted, in, p)
		require.True(t, slices.IsSorted(ats), "%v", ats)
	}
}

// copyInTransactions copies records, a few a transaction, until ctx ends.
func copyInTransactions(ctx context.Context, kafka reachable, log commands.Log, group, in, out string, n int) error {
	m, err := commands.NewManager(ctx, log, commands.Config{Cluster: "c", Group: group, KafkaCommits: true, Strategy: commands.Manual()})
	if err != nil {
		return err
	}
	session, err := kgo.NewGroupTransactSession(append(kafka.Options(
		kgo.ConsumerGroup(group), kgo.ConsumeTopics(in), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.TransactionalID(group+strconv.Itoa(n)), kgo.DefaultProduceTopic(out), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.HeartbeatInterval(200*time.Millisecond),
	), Opts(m, Bind{})...)...)
	if err != nil {
		return err
	}
	defer session.Close()
	for {
		fetches := session.PollRecords(ctx, 7)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := session.Begin(); err != nil {
			return err
		}
		for r := range fetches.RecordsAll() {
			session.Produce(ctx, kgo.StringRecord(fmt.Sprintf("%d/%d", r.Partition, r.Offset)), nil)
		}
		if _, err := EndTransaction(context.WithoutCancel(ctx), session, kgo.TryCommit); err != nil {
			return err
		}
	}
}

// readCommitted returns a function that reads the next records of a topic that are committed.
func readCommitted(t testing.TB, kafka reachable, topic string) func(n int) []string {
	client, err := kgo.NewClient(kafka.Options(kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))...)
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return func(n int) (values []string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
		defer cancel()
		for len(values) < n {
			fetches := client.PollRecords(ctx, n-len(values))
			require.NoError(t, fetches.Err())
			for r := range fetches.RecordsAll() {
				values = append(values, string(r.Value))
			}
		}
		return values
	}
}
