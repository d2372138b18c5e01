package replay_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/replay"
)

// toldEntry is an Entry that can be kept.
type toldEntry struct {
	record  ledger.Record
	changes []projection.Change
	twins   []projection.Twin
	before  projection.Group
	after   string // what the state says of the groups of the scope
}

func toldBy(t require.TestingT, entries iter.Seq2[replay.Entry, error]) []toldEntry {
	all := []toldEntry{}
	for e, err := range entries {
		require.NoError(t, err)
		told := toldEntry{record: e.Record.Clone(), before: e.Before,
			changes: append([]projection.Change(nil), e.Changes...), twins: append([]projection.Twin(nil), e.State.Twins()...)}
		for i := range told.changes {
			who := *told.changes[i].Who
			told.changes[i].Who = &who
		}
		if ev := &e.Record.Event; ev.OfGroup() {
			told.after = string(e.State.AppendGroup(nil, ev.Cluster, ev.Group))
		}
		all = append(all, told)
	}
	return all
}

// concerns reports whether an entry is about a point or what came after it.
func (e *toldEntry) concerns(p replay.Point) bool {
	if p.Seq > 0 {
		return e.record.Seq >= p.Seq
	}
	return !e.record.Event.Time.Before(p.Time) ||
		slices.ContainsFunc(e.changes, func(ch projection.Change) bool { return !ch.Time.Before(p.Time) })
}

// withManagers has some commits told by managers, whose clocks are wrong.
func withManagers(t *rapid.T, log memory) memory {
	for i := range log {
		ev := &log[i].Event
		if ev.Kind != ledger.KindCommitted || rapid.IntRange(0, 3).Draw(t, "manager") != 0 {
			continue
		}
		ev.Source = ledger.Source{Kind: ledger.SourceManager, Instance: "i1"}
		ms, _ := ev.Time.Millis()
		ev.Time = millis(max(1, ms+rapid.Int64Range(-5000, 5000).Draw(t, "wrong by")))
		for j := range ev.Offsets {
			ev.Offsets[j].Effective, ev.Offsets[j].SourceOffset = ledger.Time{}, 0
			if rapid.Bool().Draw(t, "own time") {
				ev.Offsets[j].Effective = millis(max(1, ms+rapid.Int64Range(-5000, 5000).Draw(t, "own")))
			}
		}
	}
	return log
}

// A thousand random histories: from sequences and from moments, with random sets of snapshots, the
// same is told, word for word, as from the first record; and nothing that is asked for is left out.
func TestAHistoryFromASnapshotTellsTheSame(t *testing.T) {
	const each = 100 // histories of one check
	for n := range 10 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			checked, shortened := 0, 0
			rapid.Check(t, func(t *rapid.T) {
				checked++
				k := keep(t, withManagers(t, widely(t)))
				k.live(t)
				to := uint64(len(k.log))
				for _, sc := range []replay.Scope{replay.OfCluster("c"), replay.OfGroup("c", "g"), replay.OfGroup("c", "")} {
					h := replay.NewHistory(sc)
					whole := toldBy(t, h.Tell(k.log.Read(context.Background(), 1, to, h.Filter())))
					for range 3 {
						seq := rapid.Uint64Range(1, to).Draw(t, "seq")
						moment := millis(rapid.Int64Range(0, 30_000).Draw(t, "moment"))
						for _, from := range []replay.Point{{Seq: seq}, {Time: moment}} {
							_, entries, err := k.snapshots.HistoryFrom(context.Background(), k.log, sc, from, to)
							require.NoError(t, err)
							part := toldBy(t, entries)
							left := whole[:len(whole)-len(part)]
							require.Equal(t, whole[len(left):], part, "from %s", from)
							require.False(t, slices.ContainsFunc(left, func(e toldEntry) bool { return e.concerns(from) }), "from %s", from)
							shortened += min(len(left), 1)
						}
					}
				}
			})
			if !testing.Short() { // then fewer will do
				require.Positive(t, shortened, "snapshots are used")
				require.GreaterOrEqual(t, checked, each)
			}
		})
	}
}

// What comes after a history that began behind a snapshot is told by the same History.
func TestAHistoryFromASnapshotGoesOn(t *testing.T) {
	k := keep(t, twoHundred())
	k.follow(t, 100)
	k.take(t, k.log[99].Appended)
	h, entries, err := k.snapshots.HistoryFrom(t.Context(), k.log, replay.OfGroup("c", "g"), replay.Point{Seq: 120}, 150)
	require.NoError(t, err)
	require.Len(t, toldBy(t, entries), 50)
	next := toldBy(t, h.Tell(k.log.Read(t.Context(), 151, 200, h.Filter())))
	require.Len(t, next, 50)
	require.EqualValues(t, 150, next[0].changes[0].From.At)
	require.EqualValues(t, 151, next[0].changes[0].To.At)
}

// With any set of snapshots the incidents of an event are the same as by a replay of everything.
func TestIncidentsAreFoundAgainBehindASnapshot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := keep(t, withManagers(t, widely(t)))
		k.live(t)
		for seq := uint64(1); seq <= uint64(len(k.log)); seq++ {
			want, err := replay.IncidentsAt(context.Background(), k.log, seq)
			require.NoError(t, err)
			found, err := k.snapshots.IncidentsAt(context.Background(), k.log, seq)
			require.NoError(t, err)
			require.Equal(t, want, found, "of record %d", seq)
		}
	})
}

// A snapshot that does not say which moments its events name serves no history that begins at one.
func TestAHistoryFromAMomentNeedsASnapshotThatNamesItsLast(t *testing.T) {
	k := keep(t, twoHundred())
	k.follow(t, 100)
	m := k.take(t, k.log[99].Appended)
	from := replay.Point{Time: k.log[150].Event.Time}
	told := func(s *replay.Snapshots) int {
		_, entries, err := s.HistoryFrom(t.Context(), k.log, replay.OfGroup("c", "g"), from, 200)
		require.NoError(t, err)
		return len(toldBy(t, entries))
	}
	require.Equal(t, 100, told(k.snapshots))
	resign(k.store, m.ID(), replacing(fmt.Sprintf(`"named_ms":%d,`, m.NamedMillis), ``))
	s, _ := open(t, k.store)
	require.Equal(t, 200, told(s))
	st, _, ok, err := s.Newest(t.Context(), k.log)
	require.NoError(t, err)
	require.True(t, ok)
	require.True(t, st.Named().After(k.log[199].Event.Time), "nor does one of a state that began with it")
}
