package projection_test

import (
	"iter"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// records yields records as a read of the log does.
func records(recs []ledger.Record) iter.Seq2[ledger.Record, error] {
	return func(yield func(ledger.Record, error) bool) {
		for _, rec := range recs {
			if !yield(rec, nil) {
				return
			}
		}
	}
}

func (h *history) incidents() []projection.Incident {
	h.t.Helper()
	v := projection.NewView()
	require.NoError(h.t, v.Run(h.t.Context(), records(h.records)))
	var all []projection.Incident
	v.ReadIncidents(func(_ *projection.State, x *projection.Incidents) {
		for in := range x.All("c") {
			all = append(all, in.Copy())
		}
	})
	slices.Reverse(all)
	return all
}

const night = 1796006691_000 // 2026-11-30T02:44:51Z

// A deploy empties a group, somebody sets it to the start, and it reads on from there: one
// incident, whatever the number of events, and the story of it.
func TestIncidentOfARewind(t *testing.T) {
	h := newHistory(t)
	h.add(cursor(night - 60_000))
	h.add(classic(night-50_000, 1, member("m", 0, 1)))
	h.add(commit(night-10_000, row(0, 1000, 0), row(1, 2000, 1)))
	h.add(classic(night, 2))
	h.add(commit(night+127_000, row(0, 0, 2)))
	h.add(cursor(night + 127_200))
	h.add(commit(night+127_500, row(1, 500, 3))) // of the same request, cut by capture
	h.add(classic(night+149_000, 3, member("m", 0, 1)))
	h.add(commit(night+155_000, row(0, 400, 4), row(1, 2100, 5)))

	all := h.incidents()
	require.Len(t, all, 1)
	in := all[0]
	require.Equal(t, "i5", in.ID())
	require.Equal(t, projection.MovementRewind, in.Kind)
	require.Equal(t, at(night+127_000), in.Time)
	require.Equal(t, at(night+127_500), in.Until)
	require.Equal(t, 2, in.Partitions)
	require.EqualValues(t, 1000+1500, in.Replayed)
	require.Zero(t, in.Skipped)
	require.Equal(t, projection.WhoNoMember, in.Who.Kind)
	require.True(t, in.Holds(5) && in.Holds(7))
	require.False(t, in.Holds(4) || in.Holds(6) || in.Holds(8))
	require.Equal(t, [2]ledger.Time{at(night), at(night + 149_000)}, [2]ledger.Time{in.EmptySince, in.ReadingSince})
	require.EqualValues(t, 1900, in.ReadAgain)
}

// A second act more than a second later is another incident; what it moved is no longer read
// again for the first.
func TestIncidentsAreActs(t *testing.T) {
	h := newHistory(t)
	h.add(commit(1000, row(0, 100, 0)))
	h.add(commit(2000, row(0, 50, 1)))
	h.add(commit(2500, row(0, 60, 2)))
	h.add(commit(3001, row(0, 40, 3)))
	h.add(commit(9000, row(0, 200, 4)))
	all := h.incidents()
	require.Len(t, all, 2)
	require.Equal(t, [2]int64{50, 10}, [2]int64{all[0].Replayed, all[0].ReadAgain})
	require.Equal(t, [2]int64{20, 20}, [2]int64{all[1].Replayed, all[1].ReadAgain})
}

func TestIncidentsAreFound(t *testing.T) {
	h := newHistory(t)
	h.add(classic(500, 1, member("m", 0)))
	h.add(commit(1000, row(0, 100, 0), row(1, 100, 1)))
	h.add(classic(1500, 2))
	h.add(commit(2000, row(0, 50, 2), row(1, 900, 3))) // back and forward at once
	v := projection.NewView()
	require.NoError(t, v.Run(t.Context(), records(h.records)))
	v.ReadIncidents(func(_ *projection.State, x *projection.Incidents) {
		found := x.Find(4)
		require.Len(t, found, 2)
		require.Equal(t, projection.MovementRewind, found[0].Kind)
		require.Equal(t, projection.MovementJump, found[1].Kind)
		require.EqualValues(t, 800, found[1].Skipped)
		require.Empty(t, x.Find(2))
		last, ok := x.Last("c", "g")
		require.True(t, ok)
		require.Equal(t, projection.MovementJump, last.Kind)
		_, ok = x.Last("c", "other")
		require.False(t, ok)
	})
	seq, ok := projection.ParseIncidentID("i4")
	require.True(t, ok)
	require.EqualValues(t, 4, seq)
	for _, bad := range []string{"", "4", "i", "i0", "i-1", "ix"} {
		_, ok := projection.ParseIncidentID(bad)
		require.False(t, ok, bad)
	}
}

// An expiry has no numbers, since nobody can know what would have been read; the commit after
// it has.
func TestIncidentsOfAnExpiry(t *testing.T) {
	h := newHistory(t)
	h.add(commit(1000, row(0, 27196925, 0)))
	h.add(tombstone(2000, ledger.CauseExpired, row(0, 0, 1)))
	h.add(commit(9000, row(0, 0, 2)))
	all := h.incidents()
	require.Len(t, all, 2)
	require.Equal(t, projection.MovementExpired, all[0].Kind)
	require.Equal(t, 1, all[0].Uncounted)
	require.Equal(t, projection.MovementAfterLoss, all[1].Kind)
	require.EqualValues(t, 27196925, all[1].Replayed)
}

// A group whose offsets expired starts again at the log start, and its first commit comes after
// some seconds of reading: what it read until then was read again too. Of a commit at or beyond
// what was lost nobody can tell whether the group read everything again, skipped some or neither.
func TestIncidentsAfterALossCountFromTheLogStart(t *testing.T) {
	expire := func(starts int64) *history {
		h := newHistory(t)
		h.add(watermarks(500, starts, 1200, 1200))
		h.add(classic(600, 1, member("m", 0)))
		h.add(commit(1000, row(0, 1000, 0)))
		h.add(classic(1500, 2))
		h.add(tombstone(2000, ledger.CauseExpired, row(0, 0, 1)))
		return h
	}
	last := func(h *history) projection.Incident {
		all := h.incidents()
		require.Equal(t, projection.MovementAfterLoss, all[len(all)-1].Kind)
		return all[len(all)-1]
	}
	restart := func(h *history, to int64) {
		h.add(classic(8000, 3, member("m", 0)))
		h.add(commit(9000, row(0, to, 2)))
	}

	h := expire(100)
	restart(h, 400)
	in := last(h)
	require.EqualValues(t, []int64{900, 300, 0}, []int64{in.Replayed, in.ReadAgain, in.Skipped})
	require.Equal(t, at(9000), in.ReadingSince)
	h.add(commit(10000, row(0, 700, 3)))
	in = last(h)
	require.EqualValues(t, []int64{900, 600}, []int64{in.Replayed, in.ReadAgain})

	for _, to := range []int64{1000, 1150} {
		h = expire(100)
		restart(h, to)
		in = last(h)
		require.Equal(t, []int64{0, 0, 1}, []int64{in.Replayed, in.Skipped, int64(in.Uncounted)}, to)
	}

	// An admin tool that puts offsets back has read nothing.
	h = expire(100)
	h.add(commit(9000, row(0, 400, 2)))
	in = last(h)
	require.Equal(t, []int64{600, 0}, []int64{in.Replayed, in.ReadAgain})
	h = expire(100)
	h.add(commit(9000, row(0, 1150, 2)))
	in = last(h)
	require.Equal(t, []int64{0, 150, 0}, []int64{in.Replayed, in.Skipped, int64(in.Uncounted)})
}
