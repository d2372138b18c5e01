package kafkatest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
)

// A reader stands at the end in one epoch when the broker goes away, and the last records are
// lost with it. The reader that resumes there with its epoch is told so.
func TestTruncatedPartitionIsTold(t *testing.T) {
	skipShort(t)
	r := kafkatest.Start(t, kafkatest.RealConfig{Partitions: 1})
	ctx := timeout(t)
	require.NoError(t, r.CreateTopic(ctx, "orders", 1))
	commit := func(n int) (recs []*kgo.Record) {
		t.Helper()
		for i := range n {
			require.NoError(t, r.Commit(ctx, "g", "orders", map[int32]int64{0: int64(i)}))
		}
		recs, err := r.ReadOffsets(ctx)
		require.NoError(t, err)
		return recs
	}
	require.Error(t, r.TruncatePartition(kafkatest.OffsetsTopic, 0, 1), "the broker is running")
	recs := commit(20)
	require.Len(t, recs, 20)
	for _, step := range []struct {
		end     func() error
		to, now int64
	}{{r.Kill, 10, 25}, {r.Stop, 20, 35}} {
		before := int64(len(recs))
		epoch := recs[before-1].LeaderEpoch
		require.NoError(t, step.end())
		require.NoError(t, r.TruncatePartition(kafkatest.OffsetsTopic, 0, step.to))
		require.Error(t, r.TruncatePartition(kafkatest.OffsetsTopic, 0, before), "nothing is there any more")
		require.NoError(t, r.Restart(ctx))
		recs = commit(15)
		require.Len(t, recs, int(step.now))
		require.Greater(t, recs[step.now-1].LeaderEpoch, epoch)

		loss := resume(ctx, t, r, kgo.NewOffset().At(before).WithEpoch(epoch))
		require.NotNil(t, loss)
		require.Equal(t, before, loss.ConsumedTo)
		require.Equal(t, step.to, loss.ResetTo)
	}
}

// resume reads from a point until records or an error come, and returns the loss told of.
func resume(ctx context.Context, t *testing.T, r *kafkatest.Real, at kgo.Offset) *kgo.ErrDataLoss {
	t.Helper()
	cl, err := kgo.NewClient(r.Options(
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{kafkatest.OffsetsTopic: {0: at}}),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()), kgo.KeepControlRecords(),
	)...)
	require.NoError(t, err)
	defer cl.Close()
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for {
		fetches := cl.PollFetches(ctx)
		for _, e := range fetches.Errors() {
			var loss *kgo.ErrDataLoss
			require.True(t, errors.As(e.Err, &loss), "%v", e.Err)
			return loss
		}
		if fetches.NumRecords() > 0 {
			return nil
		}
	}
}
