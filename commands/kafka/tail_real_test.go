package kafka

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/ledgertest"
	"github.com/offsetledger/offsetledger/projection"
)

// A real broker, of the newest version and of the oldest that is tested, dies and comes back without the last ten records of a partition of
// __consumer_offsets, once while capture is away and once while it is there. Both times the
// ledger says which positions are gone, what the broker answers since, and goes on.
func TestRealTruncation(t *testing.T) {
	for _, version := range []string{kafkatest.Version44, kafkatest.Version40} {
		for name, away := range map[string]bool{"away": true, "there": false} {
			t.Run(version+" "+name, func(t *testing.T) {
				t.Parallel()
				testRealTruncation(t, version, away)
			})
		}
	}
}

func testRealTruncation(t *testing.T, version string, away bool) {
	broker := kafkatest.Start(t, kafkatest.RealConfig{Version: version, Partitions: 1})
	ctx := minute(t)
	require.NoError(t, broker.CreateTopic(ctx, "orders", 2))
	for at := range int64(20) {
		require.NoError(t, broker.Commit(ctx, "g", "orders", map[int32]int64{0: 100 + at}))
	}
	log := ledgertest.New(t)
	withFacts := func(cfg *TailConfig) { cfg.Facts = ViewFacts{View: view(t, log), Cluster: "c"} }
	r := capture(t, broker, log, withFacts)
	r.ready()
	if away {
		require.ErrorIs(t, r.kill(), context.Canceled)
	}
	require.NoError(t, broker.Kill())
	require.NoError(t, broker.TruncatePartition(kafkatest.OffsetsTopic, 0, 10))
	require.NoError(t, broker.Restart(minute(t)))
	if away {
		r = capture(t, broker, log, withFacts)
	}
	require.Eventually(t, func() bool { return len(eventsOf(t, log, ledger.KindGap)) > 0 }, patience, 10*time.Millisecond)
	require.NoError(t, broker.Commit(minute(t), "g", "orders", map[int32]int64{0: 200}))
	r.caughtUp()
	require.ErrorIs(t, r.kill(), context.Canceled)

	gaps := eventsOf(t, log, ledger.KindGap)
	require.Len(t, gaps, 1)
	require.Equal(t, ledger.CauseTruncated, gaps[0].Cause)
	require.Equal(t, []int64{10, 19}, []int64{gaps[0].Gap.First, gaps[0].Gap.Last})

	f, s := []projection.Movement{}, projection.NewState()
	var ats []int64
	for _, rec := range recordsOf(t, log) {
		changes, err := s.Apply(rec)
		require.NoError(t, err)
		for _, c := range changes {
			f, ats = append(f, c.Movement), append(ats, c.To.At)
		}
	}
	require.Equal(t, int64(119), ats[19])
	// A broker that is just coming up may store a commit, and have it sent again.
	require.Equal(t, []int64{109, 200}, slices.Compact(ats[20:]), "what the broker still has, then what came after")
	require.Equal(t, projection.MovementRolledBack, f[20])
}

// The stock broker's own records, of both value versions it writes, become events one to one.
func TestRealCommitsAreCaptured(t *testing.T) {
	broker := kafkatest.Start(t, kafkatest.RealConfig{})
	ctx := minute(t)
	require.NoError(t, broker.CreateTopic(ctx, "orders", 3))
	log := ledgertest.New(t)
	r := capture(t, broker, log, nil)
	for at := range int64(50) {
		require.NoError(t, broker.Commit(ctx, "g", "orders", map[int32]int64{0: at, 1: at + 1, 2: at + 2}))
	}
	require.NoError(t, broker.DeleteOffsets(ctx, "g", "orders", 1))
	require.NoError(t, broker.DeleteGroup(ctx, "g"))
	r.ready()
	r.caughtUp()
	require.ErrorIs(t, r.kill(), context.Canceled)
	committed := eventsOf(t, log, ledger.KindCommitted)
	require.Len(t, committed, 50)
	for at, e := range committed {
		require.Len(t, e.Offsets, 3)
		for _, o := range e.Offsets {
			require.Equal(t, int64(at)+int64(o.Partition), o.At)
		}
	}
	deleted := map[int32]ledger.Cause{}
	for _, e := range eventsOf(t, log, ledger.KindDeleted) {
		for _, o := range e.Offsets {
			deleted[o.Partition] = e.Cause
		}
	}
	require.Len(t, deleted, 3)
	require.Equal(t, ledger.CauseGroupDeleted, deleted[0], "the first may have gone in the same millisecond")
	require.Equal(t, ledger.CauseGroupDeleted, deleted[2])
	require.Empty(t, eventsOf(t, log, ledger.KindGap, ledger.KindOpaque))
}
