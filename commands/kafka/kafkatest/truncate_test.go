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

// A reader stands at 20 in epoch 0 when the broker dies; 20..10 are lost with it. The reader
// that resumes at 20 with its epoch is told so, and the one that lived through it as well.
func TestTruncatedPartitionIsTold(t *testing.T) {
	for name, end := range map[string]func(*kafkatest.Real) error{
		"killed": (*kafkatest.Real).Kill, "stopped": (*kafkatest.Real).Stop,
	} {
		t.Run(name, func(t *testing.T) {
			r := kafkatest.Start(t, kafkatest.RealConfig{Partitions: 1})
			ctx := timeout(t)
			require.NoError(t, r.CreateTopic(ctx, "orders", 1))
			for i := range 20 {
				require.NoError(t, r.Commit(ctx, "g", "orders", map[int32]int64{0: int64(i)}))
			}
			recs, err := r.ReadOffsets(ctx)
			require.NoError(t, err)
			require.Len(t, recs, 20)
			epoch := recs[19].LeaderEpoch

			require.NoError(t, end(r))
			require.NoError(t, r.TruncatePartition(kafkatest.OffsetsTopic, 0, 10))
			require.NoError(t, r.Restart(ctx))
			for i := range 15 {
				require.NoError(t, r.Commit(ctx, "g", "orders", map[int32]int64{0: int64(100 + i)}))
			}
			recs, err = r.ReadOffsets(ctx)
			require.NoError(t, err)
			require.Len(t, recs, 25)
			require.Greater(t, recs[24].LeaderEpoch, epoch)

			loss := resume(ctx, t, r, kgo.NewOffset().At(20).WithEpoch(epoch))
			require.NotNil(t, loss)
			require.Equal(t, int64(20), loss.ConsumedTo)
			require.Equal(t, int64(10), loss.ResetTo)
		})
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
