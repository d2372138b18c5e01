package commands_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/offsetledger/offsetledger/commands"
	"github.com/offsetledger/offsetledger/ledger"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// deliver hands over records of one epoch, all at noon.
func deliver(t *commands.Tracker, offsets ...int64) {
	for _, o := range offsets {
		t.Delivered(o, ledger.EpochOf(1), noon)
	}
}

func requireNext(t *testing.T, want int64, tr *commands.Tracker) {
	t.Helper()
	p, ok := tr.Committable()
	require.True(t, ok)
	require.Equal(t, want, p.Next)
}

func requireNothing(t *testing.T, tr *commands.Tracker) {
	t.Helper()
	_, ok := tr.Committable()
	require.False(t, ok)
}

// Records are worked on in parallel and finish out of order: only what is done without a gap
// may be committed, or a crash skips the unfinished ones.
func TestCMT02OnlyTheGapFreePrefix(t *testing.T) {
	var tr commands.Tracker
	deliver(&tr, 3, 4, 5, 6, 7)
	requireNothing(t, &tr)
	for _, o := range []int64{3, 4, 5, 7} {
		require.NoError(t, tr.Done(o))
	}
	requireNext(t, 6, &tr)
	require.NoError(t, tr.Done(5), "done twice")
	require.NoError(t, tr.Done(7), "done twice, behind the gap")
	require.NoError(t, tr.Done(2), "below the first delivered")
	require.ErrorIs(t, tr.Done(99), commands.ErrNotDelivered)
	requireNext(t, 6, &tr)
	require.Equal(t, 1, tr.InFlight())
	require.NoError(t, tr.Done(6))
	requireNext(t, 8, &tr)
	require.Zero(t, tr.InFlight())
}

// Compacted records, transaction markers and aborted batches leave offsets that are never
// delivered. A tracker that waits for every number stops for ever.
func TestCMT03HolesInTheOffsetsStallNothing(t *testing.T) {
	var tr commands.Tracker
	deliver(&tr, 10, 12, 15, 40)
	require.NoError(t, tr.Done(12))
	requireNothing(t, &tr)
	for _, step := range []struct{ done, next int64 }{{10, 13}, {15, 16}, {40, 41}} {
		require.NoError(t, tr.Done(step.done))
		requireNext(t, step.next, &tr)
	}
	require.ErrorIs(t, tr.Done(41), commands.ErrNotDelivered)
	deliver(&tr, 50)
	require.ErrorIs(t, tr.Done(45), commands.ErrNotDelivered, "a hole that nothing done reaches over")

	var late commands.Tracker // its partition's position was 10 before retention moved the log's start
	deliver(&late, 5000)
	require.NoError(t, late.Done(5000))
	requireNext(t, 5001, &late)
}

func TestTrackingAllocatesNothingInSteadyState(t *testing.T) {
	var tr commands.Tracker
	next := int64(0)
	batch := func() {
		for o := range int64(10) {
			deliver(&tr, next+2*o)
		}
		for o := int64(9); o >= 0; o-- {
			if err := tr.Done(next + 2*o); err != nil {
				panic(err)
			}
		}
		next += 20
	}
	batch()
	require.Zero(t, testing.AllocsPerRun(100, batch))
}

func TestStuckRecordIsNamedWithItsAge(t *testing.T) {
	var tr commands.Tracker
	_, ok := tr.Stuck(noon)
	require.False(t, ok)
	tr.Delivered(7, ledger.Epoch{}, noon)
	tr.Delivered(8, ledger.Epoch{}, noon.Add(time.Minute))
	require.NoError(t, tr.Done(8))
	s, ok := tr.Stuck(noon.Add(time.Hour))
	require.True(t, ok)
	require.Equal(t, commands.Stuck{Offset: 7, Age: time.Hour}, s)

	tr.Delivered(9, ledger.Epoch{}, noon.Add(time.Hour))
	require.NoError(t, tr.Done(7))
	s, ok = tr.Stuck(noon.Add(time.Hour + time.Second))
	require.True(t, ok)
	require.Equal(t, commands.Stuck{Offset: 9, Age: time.Second}, s)
}

// The epoch that a commit carries is that of the last record it covers.
func TestPositionHasTheEpochOfTheRecordBeforeIt(t *testing.T) {
	var tr commands.Tracker
	tr.Delivered(5, ledger.EpochOf(3), noon)
	tr.Delivered(6, ledger.EpochOf(4), noon)
	require.NoError(t, tr.Done(5))
	p, _ := tr.Committable()
	require.Equal(t, commands.Position{Next: 6, LeaderEpoch: ledger.EpochOf(3)}, p)
	require.NoError(t, tr.Done(6))
	p, _ = tr.Committable()
	require.Equal(t, commands.Position{Next: 7, LeaderEpoch: ledger.EpochOf(4)}, p)
}

// A watermark lets a commit go when no record that it covers is later: the position says what
// the latest of those is that it came over.
func TestPositionHasTheLatestEventTimeOfItsStep(t *testing.T) {
	var tr commands.Tracker
	deliver(&tr, 0, 1, 2, 3, 5)
	at := ledger.AtMillis
	for _, step := range []struct{ offset, time, next, latest int64 }{
		{0, 100, 1, 100}, {2, 900, 1, 100}, {3, 200, 1, 100}, {1, 300, 4, 900}, {5, 400, 6, 400},
	} {
		require.NoError(t, tr.DoneAt(step.offset, at(step.time)))
		p, ok := tr.Committable()
		require.True(t, ok)
		require.Equal(t, commands.Position{Next: step.next, LeaderEpoch: ledger.EpochOf(1), EventTime: at(step.latest)}, p)
	}
}

// A rebalance takes the partition away and gives it back: what was not committed comes again.
// Records still in flight are waited for once; those that are done stay done.
func TestRedeliveryChangesNothing(t *testing.T) {
	var tr commands.Tracker
	deliver(&tr, 0, 1, 2, 3)
	require.NoError(t, tr.Done(0))
	require.NoError(t, tr.Done(2))
	deliver(&tr, 1, 2, 3, 4)
	require.Equal(t, 3, tr.InFlight())
	require.NoError(t, tr.Done(1))
	requireNext(t, 3, &tr)
	require.NoError(t, tr.Done(1), "the second copy of the record")
	require.NoError(t, tr.Done(3))
	require.NoError(t, tr.Done(4))
	requireNext(t, 5, &tr)
}

// A leader that lacked the last records took over, and others stand in their place: they are
// not done, though their numbers were.
func TestTruncatedRecordsAreOthers(t *testing.T) {
	var tr commands.Tracker
	deliver(&tr, 0, 1, 2, 3, 4, 5)
	for _, o := range []int64{0, 1, 2, 4} {
		require.NoError(t, tr.Done(o))
	}
	requireNext(t, 3, &tr)
	tr.Delivered(4, ledger.EpochOf(2), noon)
	require.NoError(t, tr.Done(3))
	requireNext(t, 4, &tr)
	require.Equal(t, 1, tr.InFlight())
	require.NoError(t, tr.Done(4))
	requireNext(t, 5, &tr)
	require.ErrorIs(t, tr.Done(5), commands.ErrNotDelivered)

	tr.Delivered(2, ledger.EpochOf(3), noon)
	requireNothing(t, &tr)
	require.NoError(t, tr.Done(1), "done before, and still there")
	require.ErrorIs(t, tr.Done(3), commands.ErrNotDelivered)
	require.NoError(t, tr.Done(2))
	requireNext(t, 3, &tr)
}

func TestGoingBackBeforeTheFirstStartsAnew(t *testing.T) {
	var tr commands.Tracker
	deliver(&tr, 100, 101)
	require.NoError(t, tr.Done(100))
	deliver(&tr, 50)
	requireNothing(t, &tr)
	require.Equal(t, 1, tr.InFlight())
	require.NoError(t, tr.Done(50))
	requireNext(t, 51, &tr)
}

// model is a tracker that keeps every record.
type model struct {
	delivered []record // in order; without what was committable when the log was truncated before it
	done      map[int64]bool
	first     int64 // ever delivered
	seen      bool
	epoch     int32 // the highest
}

type record struct {
	offset int64
	epoch  int32
}

func (m *model) deliver(offset int64, epoch int32) {
	switch n := len(m.delivered); {
	case !m.seen:
		m.first, m.seen = offset, true
	case offset < m.first || epoch > m.epoch:
		if p, any := m.committable(); any && offset < p.Next {
			m.delivered = nil
		}
		m.delivered = slices.DeleteFunc(m.delivered, func(r record) bool { return r.offset >= offset })
		maps.DeleteFunc(m.done, func(o int64, _ bool) bool { return o >= offset })
		m.first = min(m.first, offset)
	case n > 0 && offset <= m.delivered[n-1].offset:
		return
	}
	m.delivered = append(m.delivered, record{offset, epoch})
	m.epoch = max(m.epoch, epoch)
}

func (m *model) has(offset int64) bool {
	return slices.ContainsFunc(m.delivered, func(r record) bool { return r.offset == offset })
}

func (m *model) committable() (commands.Position, bool) {
	var p commands.Position
	any := false
	for _, r := range m.delivered {
		if !m.done[r.offset] {
			break
		}
		p, any = commands.Position{Next: r.offset + 1, LeaderEpoch: ledger.EpochOf(r.epoch)}, true
	}
	return p, any
}

// inFlight are the records that are not done, in order.
func (m *model) inFlight() []int64 {
	var out []int64
	for _, r := range m.delivered {
		if !m.done[r.offset] {
			out = append(out, r.offset)
		}
	}
	return out
}

func checkTracker(t *rapid.T) {
	var tr commands.Tracker
	m := &model{done: map[int64]bool{}}
	cut := false // the log was truncated
	next, epoch, now := rapid.Int64Range(0, 3).Draw(t, "start"), int32(0), noon
	t.Repeat(map[string]func(*rapid.T){
		"deliver": func(t *rapid.T) {
			for range rapid.IntRange(1, 4).Draw(t, "records") {
				next += rapid.SampledFrom([]int64{0, 0, 0, 1, 5}).Draw(t, "hole")
				tr.Delivered(next, ledger.EpochOf(epoch), now)
				m.deliver(next, epoch)
				next++
			}
			now = now.Add(rapid.SampledFrom([]time.Duration{0, time.Millisecond, 2 * time.Second}).Draw(t, "pause"))
		},
		"again": func(t *rapid.T) {
			if len(m.delivered) == 0 {
				t.Skip("nothing delivered")
			}
			r := rapid.SampledFrom(m.delivered).Draw(t, "record")
			tr.Delivered(r.offset, ledger.EpochOf(r.epoch), now)
			m.deliver(r.offset, r.epoch)
		},
		"truncate": func(t *rapid.T) {
			epoch++
			cut = true
			next = max(0, next-rapid.Int64Range(0, 9).Draw(t, "lost"))
		},
		"done": func(t *rapid.T) {
			if len(m.delivered) == 0 {
				t.Skip("nothing delivered")
			}
			r := rapid.SampledFrom(m.delivered).Draw(t, "record")
			require.NoError(t, tr.Done(r.offset))
			m.done[r.offset] = true
		},
		"done all": func(t *rapid.T) {
			for _, o := range m.inFlight() {
				require.NoError(t, tr.Done(o))
				m.done[o] = true
			}
		},
		"done past the end": func(t *rapid.T) {
			if n := len(m.delivered); n > 0 {
				require.ErrorIs(t, tr.Done(m.delivered[n-1].offset+rapid.Int64Range(1, 3).Draw(t, "past")), commands.ErrNotDelivered)
			}
		},
		"done by guess": func(t *rapid.T) {
			if o := rapid.Int64Range(0, 60).Draw(t, "offset"); !m.has(o) {
				err := tr.Done(o)
				require.True(t, err == nil || errors.Is(err, commands.ErrNotDelivered))
			}
		},
		"": func(t *rapid.T) {
			want, any := m.committable()
			got, ok := tr.Committable()
			require.Equal(t, any, ok)
			if got != want && cut { // inside a range that was done: its records are not remembered one by one
				require.False(t, got.LeaderEpoch != ledger.Epoch{} && got.LeaderEpoch != want.LeaderEpoch)
				require.GreaterOrEqual(t, got.Next, want.Next)
				for o := want.Next; o < got.Next; o++ {
					require.False(t, m.has(o))
				}
			} else {
				require.Equal(t, want, got)
			}
			left := m.inFlight()
			require.Equal(t, len(left), tr.InFlight())
			s, stuck := tr.Stuck(now)
			require.Equal(t, len(left) > 0, stuck)
			if stuck {
				require.Equal(t, left[0], s.Offset)
			}
		},
	})
}

func TestTrackerAgreesWithKeepingEveryRecord(t *testing.T) { rapid.Check(t, checkTracker) }

func FuzzTracker(f *testing.F) { f.Fuzz(rapid.MakeFuzz(checkTracker)) }

// A record is stuck while millions behind it are done: what is remembered are two ranges.
func TestMemoryIsThatOfRangesNotOfRecords(t *testing.T) {
	var tr commands.Tracker
	deliver(&tr, 0)
	o := int64(1)
	allocated := testing.AllocsPerRun(1, func() {
		for range 1_000_000 {
			deliver(&tr, o)
			if err := tr.Done(o); err != nil {
				panic(err)
			}
			o += 1 + o%3 // holes too
		}
	})
	require.Less(t, allocated, 100.0)
	requireNothing(t, &tr)
	require.NoError(t, tr.Done(0))
	p, ok := tr.Committable()
	require.True(t, ok)
	require.Greater(t, p.Next, int64(2_000_000))
}

func ExampleTracker() {
	var t commands.Tracker
	now := time.Now()
	for offset := range int64(4) {
		t.Delivered(offset, ledger.EpochOf(0), now)
	}
	for _, offset := range []int64{0, 1, 3} { // 2 is still being worked on
		if err := t.Done(offset); err != nil {
			fmt.Println(err)
		}
	}
	p, _ := t.Committable()
	s, _ := t.Stuck(now.Add(time.Minute))
	fmt.Println("commit", p.Next, "- stuck at", s.Offset, "for", s.Age)
	// Output: commit 2 - stuck at 2 for 1m0s
}

func BenchmarkTracker(b *testing.B) {
	for _, c := range []struct {
		name     string
		parallel int // how many records are in flight; they end in any order
	}{{"one by one", 0}, {"in order", 1}, {"of 100 in flight", 100}, {"of 1000 in flight", 1000}, {"of 10000 in flight", 10_000}} {
		b.Run(c.name, func(b *testing.B) {
			var tr commands.Tracker
			r := rand.New(rand.NewPCG(1, 2))
			flight := make([]int64, c.parallel)
			for i := range flight {
				flight[i] = int64(i)
			}
			deliver(&tr, flight...)
			b.ReportAllocs()
			b.ResetTimer()
			for next := int64(c.parallel); b.Loop(); next++ {
				tr.Delivered(next, ledger.EpochOf(1), noon)
				ended := next
				if c.parallel > 0 {
					i := r.IntN(c.parallel)
					ended, flight[i] = flight[i], next
				}
				if err := tr.Done(ended); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
