package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"golang.org/x/sync/errgroup"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
)

// While two groups commit without a pause, the daemon is killed twenty times at any moment and
// started again. Each commit is in the history once and in order, and there is no gap.
func TestADaemonKilledTwentyTimesLosesAndDoublesNothing(t *testing.T) {
	r := kafkatest.Shared(t, "")
	topic := unique("orders")
	produce(t, r, topic, 0, 0, 0)
	d := serve(t, t.TempDir(), r.Addrs()[0])

	committing, stop := context.WithCancel(t.Context())
	defer stop()
	groups := []*recorder{{group: unique("flow")}, {group: unique("flow")}}
	var flow errgroup.Group
	for _, rec := range groups {
		flow.Go(func() error { return commitUntil(committing, r, rec, topic) })
	}
	for range 20 {
		<-time.After(time.Duration(rand.IntN(250)) * time.Millisecond) // the moment is what is random
		require.False(t, d.ended(), "%s", d.log)
		d.restart(r.Addrs()[0])
	}
	stop()
	require.NoError(t, flow.Wait())
	d.ready()
	d.through()

	for _, rec := range groups {
		require.Greater(t, len(rec.sent[0]), 20)
		require.Equal(t, rec.sent, historyOf(d, rec.group))
		h := answer[api.History](d, "history", rec.group, "--all")
		require.Empty(t, h.Coverage.Gaps)
	}
	require.True(t, answer[api.Groups](d, "group", "list").Coverage.Complete)
	require.Empty(t, rows[api.EventRow](d, "events", "--kind", "gap,opaque"))
	require.Zero(t, d.stop())
}

// commitUntil commits to three partitions, again and again, until ctx ends.
func commitUntil(ctx context.Context, r *kafkatest.Real, rec *recorder, topic string) error {
	for i := int64(0); ctx.Err() == nil; i++ {
		var offsets kadm.Offsets
		for p := range int32(3) {
			offsets.Add(kadm.Offset{Topic: topic, Partition: p, At: i, LeaderEpoch: -1, Metadata: fmt.Sprint(i)})
		}
		// A commit that ctx ended in the middle of would be stored or not, and nobody would know.
		if err := r.CommitOffsets(context.WithoutCancel(ctx), rec.group, offsets); err != nil {
			return err
		}
		for p := range int32(3) {
			rec.record(p, sent{i, fmt.Sprint(i)})
		}
	}
	return nil
}
