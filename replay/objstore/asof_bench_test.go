package objstore_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/stream"
	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/replay"
	"github.com/offsetledger/offsetledger/replay/objstore"
)

// history stores commits of a thousand groups of a hundred partitions as capture does: a batch of
// a hundred events, a second of them, ends with its cursor.
func history(b *testing.B, log *stream.Log, snapshots *replay.Snapshots, batches int) (first, last int64) {
	const begin = 1767225600000
	topic, random := uuid.New(), rand.New(rand.NewPCG(3, 4))
	view := projection.NewView()
	for n := range int64(batches) {
		now := begin + n*1000
		var events []ledger.Event
		for i := range int64(100) {
			g := (n*100 + i) % 1000
			at := ledger.AtMillis(now + i*10)
			ev := ledger.Event{ID: uuid.Must(uuid.NewV7()), Kind: ledger.KindCommitted, Cluster: "prod", Group: fmt.Sprintf("group-%d", g), Time: at,
				Source: ledger.Source{Kind: ledger.SourceTail, Partition: 3, Offset: (n*100 + i) * 100}}
			for p := range int64(100) {
				ev.Offsets = append(ev.Offsets, ledger.Offset{Topic: "orders", TopicID: topic, Partition: int32(p), LeaderEpoch: ledger.EpochOf(3), At: n*2000 + random.Int64N(2000),
					CommitTime: at, Effective: at, SourceOffset: (n*100+i)*100 + p})
			}
			events = append(events, ev)
		}
		through := ledger.AtMillis(now + 1000)
		events = append(events, ledger.Event{ID: uuid.Must(uuid.NewV7()), Kind: ledger.KindCursor, Cluster: "prod", Time: through, Source: ledger.Source{Kind: ledger.SourceTail},
			Cursor: &ledger.Cursor{Shard: ledger.CursorShardAll, Complete: true, Lines: []ledger.SourceLine{{Partition: 3, Next: (n + 1) * 10_000, MaxEffective: through, CompleteThrough: through}}}})
		_, err := log.Append(b.Context(), events)
		require.NoError(b, err)
		if n%5 != 4 {
			continue
		}
		seq, err := log.Last(b.Context())
		require.NoError(b, err)
		require.NoError(b, view.Run(b.Context(), log.Read(b.Context(), view.Seq()+1, seq, ledger.Filter{})))
		size, err := log.Size(b.Context())
		require.NoError(b, err)
		if taken := time.UnixMilli(now); snapshots.Due(taken, seq, size.Bytes) {
			_, err = snapshots.Take(b.Context(), replay.Taking{Read: view.ReadIncidents, Now: taken, LogBytes: size.Bytes})
			require.NoError(b, err)
		}
	}
	return begin, begin + int64(batches)*1000
}

// BenchmarkAsOf asks where a group was at a moment, with the snapshots that a daemon would have
// taken, and reports the 99th percentile beside its goal.
func BenchmarkAsOf(b *testing.B) {
	nc := connect(b)
	log, err := stream.Create(b.Context(), nc, stream.Config{})
	require.NoError(b, err)
	bucket, err := objstore.New(nc, objstore.Config{})
	require.NoError(b, err)
	snapshots, err := replay.OpenSnapshots(b.Context(), replay.SnapshotConfig{Store: bucket, Incarnation: log.Incarnation()})
	require.NoError(b, err)
	first, last := history(b, log, snapshots, 300)
	b.Logf("%d snapshots", len(snapshots.List()))
	random := rand.New(rand.NewPCG(1, 2))
	var took []time.Duration
	for b.Loop() {
		group := fmt.Sprintf("group-%d", random.IntN(1000))
		at := ledger.AtMillis(first + random.Int64N(last-first))
		began := time.Now()
		_, err := snapshots.StateAt(b.Context(), log, replay.Point{Time: at}, replay.OfGroup("prod", group))
		require.NoError(b, err)
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	p99 := took[len(took)*99/100]
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50_ms")
	b.ReportMetric(float64(p99.Microseconds())/1000, "p99_ms")
	b.ReportMetric(p99.Seconds()/0.010, "of_10ms")
}
