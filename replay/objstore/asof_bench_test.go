package objstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/stream"
	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/replay"
	"github.com/offsetledger/offsetledger/replay/objstore"
)

// writer stores commits of a thousand groups of a hundred partitions as capture does: a batch of a
// hundred events, a second of them, ends with its cursor.
type writer struct {
	log    *stream.Log
	topic  uuid.UUID
	random *rand.Rand
	n      int64 // batches so far
	at     [1000][100]int64
	large  [largeGroup]int64
}

// largeGroup is how many partitions a group has that is as large as they come.
const largeGroup = 100_000

const asOfBegin = 1767225600000 // milliseconds, of the first batch

func (w *writer) now() int64 { return asOfBegin + w.n*1000 }

// store stores the next batch, of so many commits of so many rows.
func (w *writer) store(ctx context.Context, commits, rows int64) error {
	var events []ledger.Event
	now := w.now()
	for i := range commits {
		g, position := (w.n*100+i)%1000, (w.n*100+i)*100
		at := ledger.AtMillis(now + i*1000/commits)
		ev := ledger.Event{ID: uuid.Must(uuid.NewV7()), Kind: ledger.KindCommitted, Cluster: "prod", Group: fmt.Sprintf("group-%d", g), Time: at,
			Source: ledger.Source{Kind: ledger.SourceTail, Partition: 3, Offset: position}}
		for p := range rows {
			w.at[g][p] += w.random.Int64N(2000)
			ev.Offsets = append(ev.Offsets, ledger.Offset{Topic: "orders", TopicID: w.topic, Partition: int32(p), LeaderEpoch: ledger.EpochOf(3), At: w.at[g][p],
				CommitTime: at, Effective: at, SourceOffset: position + p})
		}
		events = append(events, ev)
	}
	return w.append(ctx, events)
}

// storeLarge stores a batch in which the large group commits everything that it has.
func (w *writer) storeLarge(ctx context.Context) error {
	const rows = 1000
	var events []ledger.Event
	for i := range int64(largeGroup / rows) {
		position, at := w.n*10_000+i*rows, ledger.AtMillis(w.now()+i)
		ev := ledger.Event{ID: uuid.Must(uuid.NewV7()), Kind: ledger.KindCommitted, Cluster: "prod", Group: "large", Time: at,
			Source: ledger.Source{Kind: ledger.SourceTail, Partition: 3, Offset: position}}
		for p := i * rows; p < (i+1)*rows; p++ {
			w.large[p] += w.random.Int64N(2000)
			ev.Offsets = append(ev.Offsets, ledger.Offset{Topic: "large", TopicID: w.topic, Partition: int32(p), LeaderEpoch: ledger.EpochOf(3), At: w.large[p],
				CommitTime: at, Effective: at, SourceOffset: position + p%rows})
		}
		events = append(events, ev)
	}
	return w.append(ctx, events)
}

// append stores a batch and its cursor.
func (w *writer) append(ctx context.Context, events []ledger.Event) error {
	w.n++
	through := ledger.AtMillis(w.now())
	events = append(events, ledger.Event{ID: uuid.Must(uuid.NewV7()), Kind: ledger.KindCursor, Cluster: "prod", Time: through, Source: ledger.Source{Kind: ledger.SourceTail},
		Cursor: &ledger.Cursor{Shard: ledger.CursorShardAll, Complete: true, Lines: []ledger.SourceLine{{Partition: 3, Next: w.n * 10_000, MaxEffective: through, CompleteThrough: through}}}})
	_, err := w.log.Append(ctx, events)
	return err
}

// daemon is what answers: a view that follows the log, and the snapshots that are taken of it when
// they are due.
type daemon struct {
	log       *stream.Log
	view      *projection.View
	snapshots *replay.Snapshots
}

func (d *daemon) keep(b *testing.B, now int64) {
	size, err := d.log.Size(b.Context())
	require.NoError(b, err)
	require.NoError(b, d.view.WaitFor(b.Context(), size.Events))
	if taken := time.UnixMilli(now); d.snapshots.Due(taken, size.Events, size.Bytes) {
		_, err = d.snapshots.Take(b.Context(), replay.Taking{Read: d.view.ReadIncidents, Now: taken, LogBytes: size.Bytes})
		require.NoError(b, err)
	}
}

// BenchmarkAsOf asks where a group was at a moment of the last 20 million offsets, of which the
// snapshots exist that a daemon would have taken, while commits go on; first with nothing in memory,
// then back to back. Beside it, where everything was, and where one group of 100,000 partitions was.
// Of its memory the process spares as much as the daemon does.
//
//	go test ./replay/objstore -run '^$' -bench AsOf -benchtime 2000x
//
// OFFSETLEDGER_BENCH_OFFSETS changes the size of the history.
func BenchmarkAsOf(b *testing.B) {
	offsets := 20_000_000
	if n, err := strconv.Atoi(os.Getenv("OFFSETLEDGER_BENCH_OFFSETS")); err == nil {
		offsets = n
	}
	spare := make([]byte, 512<<20)
	defer runtime.KeepAlive(spare)
	nc := connect(b)
	log, err := stream.Create(b.Context(), nc, stream.Config{})
	require.NoError(b, err)
	bucket, err := objstore.New(nc, objstore.Config{})
	require.NoError(b, err)
	d := &daemon{log: log, view: projection.NewView()}
	trail := projection.NewTrail(0)
	d.view.Leave(trail)
	fresh := func() *replay.Snapshots {
		s, err := replay.OpenSnapshots(b.Context(), replay.SnapshotConfig{Store: bucket, Incarnation: log.Incarnation(), Trail: trail, Pick: log.Pick})
		require.NoError(b, err)
		return s
	}
	d.snapshots = fresh()
	following, stop := context.WithCancel(b.Context())
	var g errgroup.Group
	g.Go(func() error { return d.view.Run(following, log.Follow(following, 1, ledger.Filter{})) })
	w := &writer{log: log, topic: uuid.New(), random: rand.New(rand.NewPCG(3, 4))}
	for range offsets / 10_000 {
		require.NoError(b, w.store(b.Context(), 100, 100))
		if w.n%20 == 0 {
			d.keep(b, w.now())
		}
	}
	d.keep(b, w.now())
	last := w.now()
	b.Logf("%d snapshots", len(d.snapshots.List()))

	random := rand.New(rand.NewPCG(1, 2))
	ask := func(s *replay.Snapshots) time.Duration {
		group, at := fmt.Sprintf("group-%d", random.IntN(1000)), ledger.AtMillis(asOfBegin+random.Int64N(last-asOfBegin))
		began := time.Now()
		_, err := s.StateAt(b.Context(), log, replay.Point{Time: at}, replay.OfGroup("prod", group))
		require.NoError(b, err)
		return time.Since(began)
	}
	var cold []time.Duration
	for range 40 {
		cold = append(cold, ask(fresh()))
	}
	committing, stopCommits := context.WithCancel(following)
	var commits errgroup.Group
	commits.Go(func() error { // 2,000 commits a second, a hundred at a time
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-committing.Done():
				return nil
			}
			if err := w.store(following, 100, 1); err != nil {
				return err
			}
		}
	})
	for range 200 { // every stretch of the log has been touched
		ask(d.snapshots)
	}
	var took []time.Duration
	for b.Loop() {
		took = append(took, ask(d.snapshots))
	}
	whole := func(sc replay.Scope, from, to int64) (took []time.Duration) {
		for range 5 {
			began := time.Now()
			at := ledger.AtMillis(from + random.Int64N(to-from))
			st, err := d.snapshots.StateAt(b.Context(), log, replay.Point{Time: at}, sc)
			require.NoError(b, err)
			took = append(took, time.Since(began))
			require.Positive(b, st.Size())
		}
		return took
	}
	all := whole(replay.OfCluster("prod"), asOfBegin+2000, last)
	stopCommits()
	require.NoError(b, commits.Wait())
	for range 10 {
		require.NoError(b, w.storeLarge(b.Context()))
	}
	large := w.now()
	d.keep(b, large)
	for range 10 {
		require.NoError(b, w.storeLarge(b.Context()))
	}
	d.keep(b, w.now())
	of := whole(replay.OfGroup("prod", "large"), large, w.now())
	stop()
	if err := g.Wait(); !errors.Is(err, context.Canceled) {
		require.NoError(b, err)
	}
	slow := 0
	for _, t := range took {
		if t > 10*time.Millisecond {
			slow++
		}
	}
	b.Logf("%d of %d took over 10 ms", slow, len(took))
	ms := func(of []time.Duration, percent int) float64 {
		slices.Sort(of)
		return float64(of[len(of)*percent/100].Microseconds()) / 1000
	}
	b.ReportMetric(ms(took, 50), "p50_ms")
	b.ReportMetric(ms(took, 99), "p99_ms")
	b.ReportMetric(ms(took, 99)/10, "of_10ms")
	b.ReportMetric(ms(cold, 50), "cold_p50_ms")
	b.ReportMetric(ms(cold, 95), "cold_p95_ms")
	b.ReportMetric(ms(all, 50), "100000_partitions_ms")
	b.ReportMetric(ms(of, 50), "group_of_100000_ms")
}
