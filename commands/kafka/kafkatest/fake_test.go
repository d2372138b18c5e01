package kafkatest_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
)

func startFake(t *testing.T, cfg kafkatest.FakeConfig) *kafkatest.Fake {
	t.Helper()
	f, err := kafkatest.StartFake(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f
}

func timeout(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// committed are the offsets of one group's rows in the order of the log, "x" for a tombstone
// and "X" for the group's own.
func committed(t *testing.T, recs []*kgo.Record, group string) []string {
	t.Helper()
	var out []string
	for _, r := range recs {
		if r.Attrs.IsControl() {
			continue
		}
		switch r.Key[1] {
		case 1:
			var k kmsg.OffsetCommitKey
			require.NoError(t, k.ReadFrom(r.Key))
			if k.Group != group {
				continue
			}
			if r.Value == nil {
				out = append(out, "x")
				continue
			}
			var v kmsg.OffsetCommitValue
			require.NoError(t, v.ReadFrom(r.Value))
			out = append(out, fmt.Sprint(v.Offset))
		case 2:
			var k kmsg.GroupMetadataKey
			require.NoError(t, k.ReadFrom(r.Key))
			if k.Group == group && r.Value == nil {
				out = append(out, "X")
			}
		}
	}
	return out
}

func TestMirrorTakesNoTwoCommitsForOne(t *testing.T) {
	f := startFake(t, kafkatest.FakeConfig{Topics: map[string]int32{"orders": 1}})
	ctx := timeout(t)
	// Eight clients commit to one key as fast as they can: each commit must have its record.
	const clients, commits = 8, 100
	var wg sync.WaitGroup
	errs := make([]error, clients)
	for i := range clients {
		wg.Go(func() {
			for n := range commits {
				if err := f.Commit(ctx, "busy", "orders", map[int32]int64{0: int64(i*commits + n)}); err != nil {
					errs[i] = err
					return
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	recs, err := f.ReadOffsets(ctx)
	require.NoError(t, err)
	got := committed(t, recs, "busy")
	require.Len(t, got, clients*commits)
	seen := make(map[string]bool)
	for _, at := range got {
		seen[at] = true
	}
	require.Len(t, seen, clients*commits)
}

func TestMirrorGoesOnAfterARestart(t *testing.T) {
	cfg := kafkatest.FakeConfig{DataDir: t.TempDir(), Topics: map[string]int32{"orders": 2}}
	ctx := timeout(t)
	first, err := kafkatest.StartFake(cfg)
	require.NoError(t, err)
	require.NoError(t, first.Commit(ctx, "g", "orders", map[int32]int64{0: 5, 1: 6}))
	require.NoError(t, first.Commit(ctx, "g", "orders", map[int32]int64{0: 7}))
	require.NoError(t, first.Close())

	second := startFake(t, cfg)
	require.NoError(t, second.Commit(ctx, "g", "orders", map[int32]int64{0: 8}))
	require.NoError(t, second.DeleteGroup(ctx, "g"))
	recs, err := second.ReadOffsets(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"5", "6", "7", "8", "x", "x", "X"}, committed(t, recs, "g"))
}

func TestWriteRawTransactions(t *testing.T) {
	f := startFake(t, kafkatest.FakeConfig{Partitions: 1})
	ctx := timeout(t)
	at := time.UnixMilli(1_800_000_000_000)
	row := func(offset int64) kafkatest.Commit {
		return kafkatest.Commit{Group: "g", Topic: "t", At: offset, LeaderEpoch: -1, Time: at, Version: 3}
	}
	require.NoError(t, f.Write(ctx, "g", row(5).Record()))
	kept, err := f.Begin(ctx, "kept")
	require.NoError(t, err)
	require.NoError(t, kept.Write(ctx, "g", row(100).Record()))
	dropped, err := f.Begin(ctx, "dropped")
	require.NoError(t, err)
	require.NoError(t, dropped.Write(ctx, "g", row(200).Record()))
	require.NoError(t, f.Write(ctx, "g", row(50).Record(), kafkatest.Tombstone("g", "t", 0)))
	require.NoError(t, kept.Commit(ctx))
	require.NoError(t, dropped.Abort(ctx))

	recs, err := f.ReadOffsets(ctx)
	require.NoError(t, err)
	var got []string
	for _, r := range recs {
		switch {
		case r.Attrs.IsControl():
			got = append(got, fmt.Sprintf("marker %x", r.Key))
		case r.Attrs.IsTransactional():
			got = append(got, "transactional")
			require.NotEqual(t, int64(-1), r.ProducerID)
		default:
			got = append(got, "plain")
			require.Equal(t, int64(-1), r.ProducerID)
		}
	}
	require.Equal(t, []string{
		"plain", "transactional", "transactional", "plain", "plain", "marker 00000001", "marker 00000000",
	}, got)
	require.Equal(t, at.UnixMilli(), recs[0].Timestamp.UnixMilli())
}

func TestPartitionForIsJavasHash(t *testing.T) {
	// Values of String.hashCode, and where 50 and 4 partitions put them.
	for group, want := range map[string]struct{ hash, of50, of4 int32 }{
		"": {0, 0, 0}, "a": {97, 47, 1}, "orders-service": {23943117, 17, 1}, "über": {7604755, 5, 3}, "\U0001F600": {1772899, 49, 3},
		"busy-294": {-1134041863, 13, 3}, "polygenelubricants": {-2147483648, 0, 0},
	} {
		require.Equal(t, want.of50, kafkatest.PartitionFor(group, 50), "%q", group)
		require.Equal(t, want.of4, kafkatest.PartitionFor(group, 4), "%q", group)
	}
}

// A real broker puts groups there, also those with a negative hash.
func TestARealBrokerPutsGroupsWherePartitionForSays(t *testing.T) {
	r := kafkatest.Shared(t, "")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, r.CreateTopic(ctx, "partition-for", 1))
	want := map[string]int32{}
	for i := range 20 {
		group := fmt.Sprintf("busy-%d", 280+i)
		require.NoError(t, r.Commit(ctx, group, "partition-for", map[int32]int64{0: 0}))
		want[group] = kafkatest.PartitionFor(group, 4)
	}
	recs, err := r.ReadOffsets(ctx)
	require.NoError(t, err)
	got := map[string]int32{}
	for _, rec := range recs {
		var key kmsg.OffsetCommitKey
		if err := key.ReadFrom(rec.Key); err == nil && key.Topic == "partition-for" {
			got[key.Group] = rec.Partition
		}
	}
	require.Equal(t, want, got)
}
