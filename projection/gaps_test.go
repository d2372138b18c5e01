package projection

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/offsetledger/offsetledger/ledger"
)

// Spans answer as the plain list of all stretches does, as long as they are not too many.
func TestSpansAnswerAsAListDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s spans
		var list []Interval
		moment := rapid.Map(rapid.Int64Range(0, 60), func(ms int64) ledger.Time {
			if ms == 0 {
				return ledger.Time{} // of a gap that does not say when it began
			}
			return ledger.AtMillis(ms)
		})
		for range rapid.IntRange(0, 12).Draw(t, "n") {
			i := Interval{moment.Draw(t, "from"), moment.Draw(t, "to")}
			s.add(i)
			list = append(list, i)
		}
		for i := 1; i < len(s); i++ {
			require.False(t, s[i].From.Before(s[i-1].To), "%v overlap", s)
		}
		for ms := range int64(62) {
			at, want := ledger.AtMillis(ms), false
			for _, i := range list {
				want = want || at.After(i.From) && at.Before(i.To)
			}
			require.Equal(t, want, s.hold(at), "at %d of %v", ms, list)
		}
	})
}

// gapped is a state of a group with a hundred partitions and n gaps a second apart, each of
// half a second: every other one of the whole source partition, and one of a single partition.
func gapped(n int) *State {
	s := NewState()
	seq := uint64(0)
	add := func(ev ledger.Event) {
		seq++
		ev.Cluster, ev.Source = "c", ledger.Source{Kind: ledger.SourceTail, Partition: 3}
		if _, err := s.Apply(ledger.Record{Seq: seq, Event: ev}); err != nil {
			panic(err)
		}
	}
	rows := make([]ledger.Offset, 100)
	for p := range rows {
		rows[p] = ledger.Offset{Topic: "t", Partition: int32(p), At: 5}
	}
	add(ledger.Event{Kind: ledger.KindCommitted, Group: "g", Time: ledger.AtMillis(1000), Offsets: rows})
	for i := range n {
		from := int64(i+2) * 1000
		gap := &ledger.Gap{SourcePartition: 3, From: ledger.AtMillis(from), To: ledger.AtMillis(from + 500)}
		ev := ledger.Event{Kind: ledger.KindGap, Time: gap.To, Cause: ledger.CauseCompacted, Gap: gap}
		if i%2 == 1 {
			gap.OfGroup, ev.Group, ev.Offsets = true, "g", rows[7:8]
		}
		add(ev)
	}
	return s
}

// However many gaps there are, what is kept of them has an end; of the newest each is told
// apart, and of those of long ago nothing becomes surer than it was.
func TestGapsAreBounded(t *testing.T) {
	const n = 5000
	s := gapped(n)
	c := s.clusters["c"]
	require.Len(t, c.capture.lineGaps[3].list, maxGaps)
	require.Len(t, c.capture.lineGaps[3].whole, maxGaps)
	require.Len(t, c.capture.groupGaps["g"].list, maxGaps)
	everything := Interval{ledger.AtMillis(0), ledger.AtMillis(n * 2000)}
	all := s.Gaps("c", nil, everything)
	require.Len(t, all, 2*maxGaps)
	group, other := "g", "other"
	require.Equal(t, all, s.Gaps("c", &group, everything))
	require.Empty(t, s.Gaps("c", &other, everything))
	require.Equal(t, "several gaps of long ago", all[0].Reason)
	require.Equal(t, Interval{ledger.AtMillis(2000), ledger.AtMillis(2000 + 1000*(n-2*maxGaps) + 500)}, all[0].Span())

	hidden := func(partition int32, ms int64) bool {
		k := s.Known("c", "g", ledger.TopicPartition{Topic: "t", Partition: partition}, nil, Asked{Time: ledger.AtMillis(ms)})
		return k.Why == WhyGap
	}
	for i := range int64(n) {
		from := (i + 2) * 1000
		require.Equal(t, i%2 == 0 || i < n-2*maxGaps, hidden(0, from+250), "gap %d", i)
		require.True(t, hidden(7, from+250), "gap %d", i)
		require.Equal(t, i < n-2*maxGaps, hidden(0, from+750), "after gap %d", i)
	}
}

// Of a group that commits its partitions one by one, the gaps behind one hole are one to look
// at, and each partition is unknown for its own time.
func TestGapsBehindOneHoleAreOne(t *testing.T) {
	s := NewState()
	for i := range int32(3 * maxGaps) {
		_, err := s.Apply(ledger.Record{Seq: uint64(i + 1), Event: ledger.Event{
			Kind: ledger.KindGap, Cluster: "c", Group: "g", Cause: ledger.CauseCompacted, Time: ledger.AtMillis(9000),
			Gap:     &ledger.Gap{OfGroup: true, SourcePartition: 3, First: 10, Last: 20, From: ledger.AtMillis(1000), To: ledger.AtMillis(2000 + int64(i))},
			Offsets: []ledger.Offset{{Topic: "t", Partition: i}},
		}})
		require.NoError(t, err)
	}
	all := s.Gaps("c", nil, Interval{ledger.AtMillis(0), ledger.AtMillis(9000)})
	require.Len(t, all, 1)
	require.Len(t, all[0].Keys, 3*maxGaps)
	require.Equal(t, Interval{ledger.AtMillis(1000), ledger.AtMillis(2000 + 3*maxGaps - 1)}, all[0].Span())
	for partition, want := range map[int32]bool{100: false, 200: true} {
		k := s.Known("c", "g", ledger.TopicPartition{Topic: "t", Partition: partition}, nil, Asked{Time: ledger.AtMillis(2150)})
		require.Equal(t, want, k.Why == WhyGap)
	}
}

// BenchmarkKnown is how long it takes to say of the hundred rows of a group how sure they are,
// as the times that it takes without a single gap.
func BenchmarkKnown(b *testing.B) {
	all := func(s *State) {
		for p := range int32(100) {
			s.Known("c", "g", ledger.TopicPartition{Topic: "t", Partition: p}, nil, Asked{Time: ledger.AtMillis(5_000_250)})
		}
	}
	for _, n := range []int{0, 10, 10_000} {
		b.Run(fmt.Sprintf("gaps=%d", n), func(b *testing.B) {
			none, s := gapped(0), gapped(n)
			const rounds = 1000
			begin := time.Now()
			for range rounds {
				all(none)
			}
			limit := float64(time.Since(begin).Nanoseconds()) / rounds
			for b.Loop() {
				all(s)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/limit, "x_without_gaps")
		})
	}
}
