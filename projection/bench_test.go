package projection_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

const (
	benchGroups = 1000
	benchRows   = 100
)

// benchEvents are commits of 1,000 groups, a hundred partitions each: one round of what the
// numbers of the whole system are counted with.
func benchEvents() []ledger.Event {
	events := make([]ledger.Event, benchGroups)
	for g := range events {
		topic := fmt.Sprintf("topic-%d", g%100)
		id := uuid.NewSHA1(uuid.Nil, []byte(topic))
		events[g] = ledger.Event{
			Kind: ledger.KindCommitted, Cluster: "prod", Group: fmt.Sprintf("group-%d", g),
			Source: ledger.Source{Kind: ledger.SourceTail, Partition: int32(g % 50)}, Offsets: make([]ledger.Offset, benchRows),
		}
		for p := range events[g].Offsets {
			events[g].Offsets[p] = ledger.Offset{Topic: topic, TopicID: id, Partition: int32(p), LeaderEpoch: ledger.EpochOf(3)}
		}
	}
	return events
}

// step makes the next commit of an event, 5 s later.
func step(ev *ledger.Event, round int) {
	ev.Time = ledger.AtMillis(1767225600000 + int64(round)*5000)
	for i := range ev.Offsets {
		r := &ev.Offsets[i]
		r.At, r.SourceOffset, r.CommitTime, r.Effective = int64(round)*50, int64(round*benchRows+i), ev.Time, ev.Time
	}
}

// benchmarkRows folds one row per b.N, and reports the time apart from making the rows. All
// events share their rows, as those that a decoder reuses do.
func benchmarkRows(b *testing.B, fold func(*projection.State, ledger.Record) error) {
	events := benchEvents()
	for g := range events {
		events[g].Offsets = events[0].Offsets
	}
	s := projection.NewState()
	seq := uint64(0)
	run := func(round, n int) {
		for g := range min(n, len(events)) {
			seq++
			if err := fold(s, ledger.Record{Seq: seq, Event: events[g]}); err != nil {
				b.Fatal(err)
			}
		}
	}
	run(0, benchGroups)
	least := limit()
	b.ReportAllocs()
	b.ResetTimer()
	round := 0
	for done := 0; done < b.N; {
		round++
		b.StopTimer()
		step(&events[0], round)
		for g := range events {
			events[g].Time = events[0].Time
		}
		b.StartTimer()
		n := min(benchGroups, (b.N-done+benchRows-1)/benchRows)
		run(round, n)
		done += n * benchRows
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/least, "x_limit")
}

// BenchmarkApply is the time of one row, with its Change.
func BenchmarkApply(b *testing.B) {
	benchmarkRows(b, func(s *projection.State, rec ledger.Record) error {
		_, err := s.Apply(rec)
		return err
	})
}

// limit is what the machine needs, in nanoseconds, for the memory that a row touches,
// whatever the rules: 136 bytes read, a cell of 80 changed, a Change written.
func limit() float64 {
	const rounds = 20
	rows := benchEvents()[0].Offsets
	cells := make([][10]uint64, benchGroups*benchRows)
	changes := make([]projection.Change, benchRows)
	base := projection.Change{Cluster: "prod"}
	begin := time.Now()
	for n := range rounds * benchGroups {
		at := n % benchGroups * benchRows
		for i := range rows {
			r, c := &rows[i], &cells[at+i]
			ch := &changes[i]
			*ch = base
			ch.Topic, ch.Partition, ch.TopicID, ch.Metadata = r.Topic, r.Partition, r.TopicID, r.Metadata
			ch.From.At, ch.To.At, ch.CommitTime, ch.Time = int64(c[0]), r.At, r.CommitTime, r.Effective
			c[0], c[1], c[2], c[7] = uint64(r.At), uint64(r.SourceOffset), c[2]+1, c[7]+1
		}
	}
	return float64(time.Since(begin).Nanoseconds()) / (rounds * benchGroups * benchRows)
}

// BenchmarkView is the time of one row when a View catches up.
func BenchmarkView(b *testing.B) {
	v := projection.NewView()
	benchmarkRows(b, func(_ *projection.State, rec ledger.Record) error {
		return v.Run(b.Context(), records([]ledger.Record{rec}))
	})
}

// BenchmarkApplyUpTo is the time of one row when a past moment is asked for.
func BenchmarkApplyUpTo(b *testing.B) {
	until := ledger.AtMillis(1 << 60)
	benchmarkRows(b, func(s *projection.State, rec ledger.Record) error {
		return s.ApplyUpTo(rec, until)
	})
}

// BenchmarkMemory reports the bytes that State holds for every tracked partition, of groups
// that share 100 topics and, as the worst case, of groups with a topic each.
func BenchmarkMemory(b *testing.B) {
	for _, own := range []bool{false, true} {
		b.Run(fmt.Sprintf("ownTopic=%t", own), func(b *testing.B) {
			for b.Loop() {
				events := benchEvents()
				before := heap()
				s := projection.NewState()
				for g := range events {
					if own {
						name := "topic-of-" + events[g].Group
						for i := range events[g].Offsets {
							events[g].Offsets[i].Topic = name
						}
					}
					step(&events[g], 1)
					if _, err := s.Apply(ledger.Record{Seq: uint64(2*g + 1), Event: events[g]}); err != nil {
						b.Fatal(err)
					}
					marks := ledger.Event{Kind: ledger.KindWatermarks, Cluster: "prod", Time: events[g].Time, Watermarks: &ledger.Watermarks{}}
					for i := range events[g].Offsets {
						r := &events[g].Offsets[i]
						marks.Watermarks.Rows = append(marks.Watermarks.Rows,
							ledger.Watermark{Topic: r.Topic, TopicID: r.TopicID, Partition: r.Partition, LogEnd: 100, LastStable: 100})
					}
					if _, err := s.Apply(ledger.Record{Seq: uint64(2*g + 2), Event: marks}); err != nil {
						b.Fatal(err)
					}
				}
				after := heap()
				b.ReportMetric(float64(after-before)/(benchGroups*benchRows), "B/partition")
				b.ReportMetric(float64(after-before)/(benchGroups*benchRows)/128, "of_limit")
				runtime.KeepAlive(s)
				runtime.KeepAlive(events)
			}
		})
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
