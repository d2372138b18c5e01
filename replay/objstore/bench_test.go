package objstore_test

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/replay"
	"github.com/offsetledger/offsetledger/replay/objstore"
)

// million is a log of 10,000 groups that commit a hundred partitions each, three times, and of the
// ends of these partitions.
type million struct{ events []ledger.Event }

func newMillion() million {
	random := rand.New(rand.NewPCG(1, 2))
	m := million{}
	marks := make([]ledger.Event, ledger.WatermarkShards)
	for round := range int64(3) {
		for g := range int64(10_000) {
			topic := fmt.Sprintf("topic-%d", g%100)
			at := ledger.AtMillis(1767225600000 + round*20_000_000 + g*1000)
			ev := ledger.Event{Kind: ledger.KindCommitted, Cluster: "prod", Group: fmt.Sprintf("group-%d", g), Time: at,
				Source: ledger.Source{Kind: ledger.SourceTail, Partition: int32(g % 50)}}
			for p := range int64(100) {
				ev.Offsets = append(ev.Offsets, ledger.Offset{Topic: topic, TopicID: uuid.NewSHA1(uuid.Nil, []byte(topic)), Partition: int32(p), LeaderEpoch: ledger.EpochOf(3),
					At: round<<34 + random.Int64N(1<<33), SourceOffset: (round*10_000+g)*100 + p, CommitTime: at, Effective: at})
			}
			m.events = append(m.events, ev)
			if round == 0 && g < 100 {
				mark := &marks[ledger.WatermarkShard(topic)]
				if mark.Watermarks == nil {
					*mark = ledger.Event{Kind: ledger.KindWatermarks, Cluster: "prod", Time: at, Watermarks: &ledger.Watermarks{Shard: ledger.WatermarkShard(topic)}}
				}
				for p := range int32(100) {
					mark.Watermarks.Rows = append(mark.Watermarks.Rows, ledger.Watermark{Topic: topic, Partition: p, LogEnd: 1 << 35, LastStable: 1 << 35})
				}
			}
		}
	}
	for _, ev := range marks {
		if ev.Watermarks != nil {
			m.events = append(m.events, ev)
		}
	}
	return m
}

func (m million) Last(context.Context) (uint64, error) { return uint64(len(m.events)), nil }

func (m million) Read(_ context.Context, from, to uint64, _ ledger.Filter) iter.Seq2[ledger.Record, error] {
	return func(yield func(ledger.Record, error) bool) {
		for seq := from; seq <= to; seq++ {
			ms, _ := m.events[seq-1].Time.Millis()
			if !yield(ledger.Record{Seq: seq, Appended: time.UnixMilli(ms), Event: m.events[seq-1]}, nil) {
				return
			}
		}
	}
}

// BenchmarkSnapshot writes a million partitions into a bucket, reads them again, and reads one
// group of them.
func BenchmarkSnapshot(b *testing.B) {
	log := newMillion()
	state, err := replay.StateAt(b.Context(), log, replay.Point{}, replay.Scope{})
	require.NoError(b, err)
	require.Equal(b, 1_000_000, state.Size())
	bucket, err := objstore.New(connect(b), objstore.Config{})
	require.NoError(b, err)
	s, err := replay.OpenSnapshots(b.Context(), replay.SnapshotConfig{Store: bucket})
	require.NoError(b, err)
	taking := replay.Taking{Read: func(read func(*projection.State, *projection.Incidents)) { read(state, projection.NewIncidents()) }, Now: time.Now()}
	m, err := s.Take(b.Context(), taking)
	require.NoError(b, err)

	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer() // of one state one snapshot is taken
			require.NoError(b, s.Delete(b.Context(), m.ID()))
			b.StartTimer()
			_, err := s.Take(b.Context(), taking)
			require.NoError(b, err)
		}
		b.ReportMetric(float64(m.Bytes())/1e6, "B/partition")
		b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/5, "of_5s")
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			_, _, ok, err := s.Newest(b.Context(), log)
			require.NoError(b, err)
			require.True(b, ok)
		}
		b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/2, "of_2s")
	})
	b.Run("group", func(b *testing.B) {
		n := 0
		for b.Loop() {
			n++
			group := fmt.Sprintf("group-%d", n*7919%10_000)
			st, err := s.StateAt(b.Context(), log, replay.Point{}, replay.OfGroup("prod", group))
			require.NoError(b, err)
			require.Len(b, st.Partitions("prod", group), 100)
		}
		b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/0.010, "of_10ms")
	})
}
