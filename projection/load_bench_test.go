package projection_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// largeState has a million partitions, 10,000 groups with a hundred each, that were read at
// different rates.
func largeState(b *testing.B) *projection.State {
	s := projection.NewState()
	random := rand.New(rand.NewPCG(1, 2))
	seq := uint64(0)
	events := benchEvents()
	for round := range 3 {
		for i := range 10 * benchGroups {
			ev := events[i%benchGroups]
			step(&ev, round*20_000+i)
			ev.Group = fmt.Sprintf("group-%d", i)
			for p := range ev.Offsets {
				ev.Offsets[p].At = random.Int64N(1<<33) + int64(round)<<34
			}
			seq++
			if _, err := s.Apply(ledger.Record{Seq: seq, Event: ev}); err != nil {
				b.Fatal(err)
			}
		}
	}
	return s
}

func appendGroups(s *projection.State) (parts [][]byte, size int) {
	for name := range s.GroupNames("prod") {
		part := s.AppendGroup(nil, "prod", name)
		parts, size = append(parts, part), size+len(part)
	}
	return parts, size
}

// BenchmarkAppendGroups is the time to write a million partitions, before they are compressed.
func BenchmarkAppendGroups(b *testing.B) {
	s := largeState(b)
	b.ResetTimer()
	for b.Loop() {
		_, size := appendGroups(s)
		b.ReportMetric(float64(size)/1e6, "B/partition")
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/5, "of_limit") // 5 s
}

// BenchmarkLoadGroups is the time to load them.
func BenchmarkLoadGroups(b *testing.B) {
	s := largeState(b)
	parts, _ := appendGroups(s)
	b.ResetTimer()
	for b.Loop() {
		l := projection.NewLoader(s.Seq(), time.Time{}, s.Latest())
		for i, part := range parts {
			if err := l.Group("prod", fmt.Sprint(i), part); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/2, "of_limit") // 2 s
}
