package e2e

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
)

var names atomic.Int32

// unique is a name that no other test uses.
func unique(name string) string { return fmt.Sprintf("%s-%d", name, names.Add(1)) }

// produce makes a topic with a partition for each count, and so many records in it.
func produce(t *testing.T, r *kafkatest.Real, topic string, counts ...int) {
	t.Helper()
	require.NoError(t, r.CreateTopic(bounded(t), topic, int32(len(counts))))
	for p, n := range counts {
		if n > 0 {
			require.NoError(t, r.Produce(bounded(t), topic, int32(p), n))
		}
	}
}

// client is a client that the end of the test closes.
func client(t *testing.T, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(opts...)
	require.NoError(t, err)
	t.Cleanup(cl.Close)
	return cl
}

// bounded is the context of one request to a broker.
func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// consume reads n records with a classic group, commits them and leaves.
func consume(t *testing.T, r *kafkatest.Real, group, topic string, n int) {
	t.Helper()
	cl, err := kgo.NewClient(r.Options(kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))...)
	require.NoError(t, err)
	defer cl.Close()
	poll(t, cl, n)
	require.NoError(t, cl.CommitUncommittedOffsets(bounded(t)))
	require.NoError(t, cl.LeaveGroupContext(bounded(t)))
}

// poll reads n records.
func poll(t *testing.T, cl *kgo.Client, n int) {
	t.Helper()
	ctx := bounded(t)
	for n > 0 {
		fetches := cl.PollRecords(ctx, n)
		require.NoError(t, fetches.Err())
		n -= fetches.NumRecords()
	}
}

// committed are the committed offsets of a group with one topic, by partition.
func committed(g api.Group) map[int32]int64 {
	out := map[int32]int64{}
	for _, row := range g.Rows {
		if row.CommittedOffset != nil {
			out[row.Partition] = *row.CommittedOffset
		}
	}
	return out
}

// stockRow is one partition as kafka-consumer-groups --describe prints it.
type stockRow struct{ current, end, lag int64 }

// stockDescribe is what the stock tool says of a group, by partition of a topic.
func stockDescribe(t *testing.T, r *kafkatest.Real, group, topic string) map[int32]stockRow {
	t.Helper()
	return stockDescribeAll(t, r, topic, group)[group]
}

// stockDescribeAll is what the stock tool says of groups.
func stockDescribeAll(t *testing.T, r *kafkatest.Real, topic string, groups ...string) map[string]map[int32]stockRow {
	t.Helper()
	args := []string{"--describe"}
	out := map[string]map[int32]stockRow{}
	for _, group := range groups {
		args = append(args, "--group", group)
		out[group] = map[int32]stockRow{}
	}
	// GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID
	for line := range strings.Lines(tool(t, r, kafkatest.ConsumerGroupCommand, args...)) {
		f := strings.Fields(line)
		if len(f) < 6 || out[f[0]] == nil || f[1] != topic || f[3] == "-" {
			continue
		}
		n := make([]int64, 4)
		for i := range n {
			var err error
			n[i], err = strconv.ParseInt(f[2+i], 10, 64)
			require.NoError(t, err, line)
		}
		out[f[0]][int32(n[0])] = stockRow{current: n[1], end: n[2], lag: n[3]}
	}
	return out
}

// asStock is what the program says of a group, as the stock tool would.
func asStock(g api.Group) map[int32]stockRow {
	out := map[int32]stockRow{}
	for _, row := range g.Rows {
		if row.CommittedOffset != nil && row.LogEndOffset != nil && row.Lag != nil {
			out[row.Partition] = stockRow{*row.CommittedOffset, *row.LogEndOffset, *row.Lag}
		}
	}
	return out
}

// rawCommits are the offsets of a topic as the broker stored them, read without any code of
// the program, by group and partition.
func rawCommits(t *testing.T, r *kafkatest.Real, topic string) map[string]map[int32][]sent {
	t.Helper()
	records, err := r.ReadOffsets(bounded(t))
	require.NoError(t, err)
	out := map[string]map[int32][]sent{}
	for _, rec := range records {
		if rec.Attrs.IsControl() || len(rec.Key) < 2 || rec.Key[0] != 0 || rec.Key[1] != 1 || rec.Value == nil {
			continue
		}
		var key kmsg.OffsetCommitKey
		var value kmsg.OffsetCommitValue
		require.NoError(t, key.ReadFrom(rec.Key))
		require.NoError(t, value.ReadFrom(rec.Value))
		if key.Topic != topic {
			continue
		}
		if out[key.Group] == nil {
			out[key.Group] = map[int32][]sent{}
		}
		out[key.Group][key.Partition] = append(out[key.Group][key.Partition], sent{value.Offset, value.Metadata})
	}
	return out
}
