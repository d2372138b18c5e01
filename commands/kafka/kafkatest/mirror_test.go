package kafkatest_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
)

// lastGroup is the newest metadata record of a classic group.
func lastGroup(t *testing.T, recs []*kgo.Record, group string) (v kmsg.GroupMetadataValue, found bool) {
	t.Helper()
	for _, r := range recs {
		if of, kind := groupOf(t, r); of == group && kind == 2 && r.Value != nil {
			v = kmsg.NewGroupMetadataValue()
			require.NoError(t, v.ReadFrom(r.Value))
			found = true
		}
	}
	return v, found
}

// A static member that is gone sends no LeaveGroup: no request tells that its session ran out.
func TestMirrorSeesASessionThatRunsOut(t *testing.T) {
	f := startFake(t, kafkatest.FakeConfig{
		Topics: map[string]int32{"orders": 1}, Configs: map[string]string{"group.min.session.timeout.ms": "100"},
	})
	ctx := timeout(t)
	require.NoError(t, f.Produce(ctx, "orders", 0, 1))
	cl, err := kgo.NewClient(f.Options(
		kgo.ConsumerGroup("static"), kgo.ConsumeTopics("orders"), kgo.InstanceID("one"), kgo.DisableAutoCommit(),
		kgo.SessionTimeout(300*time.Millisecond), kgo.HeartbeatInterval(50*time.Millisecond),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	)...)
	require.NoError(t, err)
	fetches := cl.PollFetches(ctx)
	require.NoError(t, fetches.Err())
	recs, err := f.ReadOffsets(ctx)
	require.NoError(t, err)
	v, _ := lastGroup(t, recs, "static")
	require.Len(t, v.Members, 1)
	require.Equal(t, "one", *v.Members[0].InstanceID)
	require.Equal(t, int32(300), v.Members[0].SessionTimeoutMillis)
	cl.Close()
	require.Eventually(t, func() bool {
		recs, err := f.ReadOffsets(ctx)
		require.NoError(t, err)
		v, _ := lastGroup(t, recs, "static")
		return len(v.Members) == 0
	}, 20*time.Second, 20*time.Millisecond)
}

// Offsets that a transactional consumer commits are there when its transaction has ended.
func TestMirrorWritesWhatATransactionCommitted(t *testing.T) {
	f := startFake(t, kafkatest.FakeConfig{Topics: map[string]int32{"in": 1, "out": 1}})
	ctx := timeout(t)
	require.NoError(t, f.Produce(ctx, "in", 0, 7))
	session, err := kgo.NewGroupTransactSession(f.Options(
		kgo.ConsumerGroup("exact"), kgo.ConsumeTopics("in"), kgo.TransactionalID("exact-1"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	)...)
	require.NoError(t, err)
	defer session.Close()
	require.NoError(t, session.Begin())
	for n := 0; n < 7; {
		fetches := session.PollFetches(ctx)
		require.NoError(t, fetches.Err())
		n += fetches.NumRecords()
	}
	recs, err := f.ReadOffsets(ctx)
	require.NoError(t, err)
	require.Empty(t, committed(t, recs, "exact"))
	ended, err := session.End(ctx, kgo.TryCommit)
	require.NoError(t, err)
	require.True(t, ended)
	recs, err = f.ReadOffsets(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"7"}, committed(t, recs, "exact"))
}

// Members come and go while others commit: the last commit of each is in, and the end is a
// group without members.
func TestMirrorFollowsAGroupWhoseMembersComeAndGo(t *testing.T) {
	f := startFake(t, kafkatest.FakeConfig{Topics: map[string]int32{"orders": 6}})
	ctx := timeout(t)
	for p := range int32(6) {
		require.NoError(t, f.Produce(ctx, "orders", p, 50))
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	acknowledged := make(map[string]int) // by partition and offset
	for i := range 4 {
		wg.Go(func() {
			cl, err := kgo.NewClient(f.Options(
				kgo.ClientID(fmt.Sprint("member-", i)), kgo.ConsumerGroup("churn"), kgo.ConsumeTopics("orders"),
				kgo.DisableAutoCommit(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.BlockRebalanceOnPoll(),
				kgo.HeartbeatInterval(50*time.Millisecond),
			)...)
			if !mustNot(t, err) {
				return
			}
			defer cl.CloseAllowingRebalance()
			for range 20 {
				for _, r := range cl.PollRecords(ctx, 3).Records() {
					cl.CommitOffsetsSync(ctx, map[string]map[int32]kgo.EpochOffset{
						"orders": {r.Partition: {Epoch: -1, Offset: r.Offset + 1}},
					}, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
						if err == nil && resp.Topics[0].Partitions[0].ErrorCode == 0 {
							mu.Lock()
							acknowledged[fmt.Sprint(r.Partition, "@", r.Offset+1)]++
							mu.Unlock()
						}
					})
				}
				cl.AllowRebalance()
			}
		})
	}
	wg.Wait()
	recs, err := f.ReadOffsets(ctx)
	require.NoError(t, err)
	v, found := lastGroup(t, recs, "churn")
	require.True(t, found)
	require.Empty(t, v.Members)
	written := make(map[string]int)
	for _, r := range recs {
		if _, kind := groupOf(t, r); kind == 1 {
			var k kmsg.OffsetCommitKey
			var v kmsg.OffsetCommitValue
			require.NoError(t, k.ReadFrom(r.Key))
			require.NoError(t, v.ReadFrom(r.Value))
			written[fmt.Sprint(k.Partition, "@", v.Offset)]++
		}
	}
	require.NotEmpty(t, acknowledged)
	require.Equal(t, acknowledged, written)
}

// mustNot reports an error from a goroutine, which must not end the test itself.
func mustNot(t *testing.T, err error) bool {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
	return err == nil
}

// BenchmarkFakeCommit is what one commit costs a client, mirror and all.
func BenchmarkFakeCommit(b *testing.B) {
	f, err := kafkatest.StartFake(kafkatest.FakeConfig{Topics: map[string]int32{"orders": 1}})
	require.NoError(b, err)
	defer f.Close()
	n := int64(0)
	for b.Loop() {
		n++
		require.NoError(b, f.Commit(b.Context(), "g", "orders", map[int32]int64{0: n}))
	}
	require.NoError(b, f.Sync(b.Context()))
}
