package kafkatest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
)

// cluster is what both kinds of cluster offer.
type cluster interface {
	String() string
	Options(more ...kgo.Opt) []kgo.Opt
	CreateTopic(ctx context.Context, topic string, partitions int32) error
	Produce(ctx context.Context, topic string, partition int32, n int) error
	Commit(ctx context.Context, group, topic string, at map[int32]int64) error
	DeleteGroup(ctx context.Context, group string) error
	DeleteOffsets(ctx context.Context, group, topic string, partitions ...int32) error
	DeleteTopic(ctx context.Context, topic string) error
	ReadOffsets(ctx context.Context) ([]*kgo.Record, error)
}

var (
	_ cluster = (*kafkatest.Fake)(nil)
	_ cluster = (*kafkatest.Cluster)(nil)
)

func TestContractOnFake(t *testing.T) {
	contract(t, startFake(t, kafkatest.FakeConfig{}))
}

// contract is what a reader of OffsetsTopic may expect of either cluster.
func contract(t *testing.T, c cluster) {
	t.Logf("kafka: %s", c)
	t.Run("every commit of a group is a record, in order", func(t *testing.T) { groupLife(t, c) })
	t.Run("deleted offsets and topics are tombstones", func(t *testing.T) { deletions(t, c) })
	t.Run("a KIP-848 group tells of its members", func(t *testing.T) { consumerGroup(t, c) })
}

// unique is a name that no earlier run on the same cluster has used.
func unique(name string) string { return fmt.Sprintf("%s-%08x", name, rand.Uint32()) }

// consume reads n records as a member of the group and commits after each, then leaves.
func consume(ctx context.Context, t *testing.T, c cluster, group, topic string, n int, more ...kgo.Opt) {
	t.Helper()
	cl, err := kgo.NewClient(c.Options(append([]kgo.Opt{
		kgo.ClientID("worker-7"), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic),
		kgo.DisableAutoCommit(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	}, more...)...)...)
	require.NoError(t, err)
	defer cl.CloseAllowingRebalance()
	for done := 0; done < n; {
		fetches := cl.PollRecords(ctx, n-done)
		require.NoError(t, fetches.Err())
		for _, r := range fetches.Records() {
			require.NoError(t, cl.CommitRecords(ctx, r))
			done++
		}
	}
	require.NoError(t, cl.LeaveGroupContext(ctx))
}

func groupLife(t *testing.T, c cluster) {
	ctx := timeout(t)
	const commits = 31
	group, topic := unique("life-group"), unique("life")
	require.NoError(t, c.CreateTopic(ctx, topic, 1))
	require.NoError(t, c.Produce(ctx, topic, 0, commits))
	consume(ctx, t, c, group, topic, commits)

	recs, err := c.ReadOffsets(ctx)
	require.NoError(t, err)
	next := int64(1)
	var last kmsg.GroupMetadataValue
	joined := false
	for _, r := range recs {
		switch of, kind := groupOf(t, r); {
		case of != group || r.Value == nil:
		case kind == 1:
			var v kmsg.OffsetCommitValue
			require.NoError(t, v.ReadFrom(r.Value))
			require.Equal(t, next, v.Offset)
			next++
			require.True(t, joined, "a commit of a member before the record of its generation")
			require.Len(t, last.Members, 1)
			require.Equal(t, last.Members[0].MemberID, v.Metadata, "kgo's metadata is the member id")
			require.InDelta(t, r.Timestamp.UnixMilli(), v.CommitTimestamp, 1000)
		case kind == 2:
			last = kmsg.NewGroupMetadataValue()
			require.NoError(t, last.ReadFrom(r.Value))
			if len(last.Members) == 0 {
				continue
			}
			joined = true
			require.Equal(t, "consumer", last.ProtocolType)
			require.Equal(t, "worker-7", last.Members[0].ClientID)
			require.Contains(t, last.Members[0].ClientHost, "127.0.0.1")
			var sub kmsg.ConsumerMemberMetadata
			require.NoError(t, sub.ReadFrom(last.Members[0].Subscription))
			require.Equal(t, []string{topic}, sub.Topics)
			var given kmsg.ConsumerMemberAssignment
			require.NoError(t, given.ReadFrom(last.Members[0].Assignment))
			require.Equal(t, []int32{0}, given.Topics[0].Partitions)
		}
	}
	require.Equal(t, int64(commits+1), next)
	require.True(t, joined)
	require.Empty(t, last.Members, "the last record says that nobody is left")

	require.NoError(t, c.DeleteGroup(ctx, group))
	recs, err = c.ReadOffsets(ctx)
	require.NoError(t, err)
	got := committed(t, recs, group)
	require.Equal(t, []string{"31", "x", "X"}, got[len(got)-3:])
}

func deletions(t *testing.T, c cluster) {
	ctx := timeout(t)
	group, gone, stays := unique("outsider"), unique("gone"), unique("stays")
	require.NoError(t, c.CreateTopic(ctx, gone, 3))
	require.NoError(t, c.CreateTopic(ctx, stays, 1))
	require.NoError(t, c.Commit(ctx, group, gone, map[int32]int64{0: 10, 1: 11, 2: 12}))
	require.NoError(t, c.Commit(ctx, group, stays, map[int32]int64{0: 20}))
	require.NoError(t, c.DeleteOffsets(ctx, group, gone, 1))
	require.NoError(t, c.DeleteTopic(ctx, gone))
	var got []string
	require.Eventually(t, func() bool {
		recs, err := c.ReadOffsets(ctx)
		require.NoError(t, err)
		got = committed(t, recs, group)
		return len(got) >= 7
	}, 30*time.Second, 20*time.Millisecond)
	require.ElementsMatch(t, []string{"10", "11", "12"}, got[:3])
	require.Equal(t, []string{"20", "x", "x", "x"}, got[3:])
}

// consumerGroup checks that a KIP-848 group's members are known while they are there.
func consumerGroup(t *testing.T, c cluster) {
	ctx := timeout(t)
	name, topic := unique("next-group"), unique("next")
	require.NoError(t, c.CreateTopic(ctx, topic, 1))
	require.NoError(t, c.Produce(ctx, topic, 0, 3))
	consume(ctx, t, c, name, topic, 3, kgo.ServerSideBalancer())

	recs, err := c.ReadOffsets(ctx)
	require.NoError(t, err)
	present := make(map[string]bool)
	var order []string
	for _, r := range recs {
		group, kind := groupOf(t, r)
		if group != name {
			continue
		}
		switch kind {
		case 1:
			require.Len(t, present, 1, "the member of a commit is known by then")
			order = append(order, "commit")
		case 5:
			_, member := groupAndMember(t, r.Key)
			if r.Value == nil {
				delete(present, member)
				order = append(order, "left")
			} else if !present[member] {
				present[member] = true
				require.Contains(t, string(r.Value), "worker-7")
				order = append(order, "joined")
			}
		}
	}
	require.Equal(t, []string{"joined", "commit", "commit", "commit", "left"}, order)
}

// groupOf is the group and the key type of a record; -1 of a control record.
func groupOf(t *testing.T, r *kgo.Record) (group string, kind int16) {
	t.Helper()
	if r.Attrs.IsControl() {
		return "", -1
	}
	b := kbin.Reader{Src: r.Key}
	kind = b.Int16()
	group = b.String()
	require.NoError(t, b.Complete())
	return group, kind
}

// groupAndMember reads a key of type 5, 7 or 8.
func groupAndMember(t *testing.T, key []byte) (group, member string) {
	t.Helper()
	b := kbin.Reader{Src: key}
	b.Int16()
	group, member = b.String(), b.String()
	require.NoError(t, b.Complete())
	return group, member
}
