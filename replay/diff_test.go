package replay_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/replay"
)

// A night: g reads, is set back and reads again; h loses what it had; new begins; still commits
// the same again; and nothing of before or after counts.
func TestDiffTellsWhatBecameOfEveryGroup(t *testing.T) {
	var log memory
	log.add(0, cursor(500, 400), watermarks(600, 1000),
		commit("g", 1000, row(0, 100, 0, 1000), row(1, 50, 1, 1000)), commit("h", 1000, row(0, 7, 2, 1000)), commit("still", 1000, row(0, 9, 3, 1000)))
	gone := commit("h", 2000, ledger.Offset{Topic: "t", SourceOffset: 4, Effective: millis(2000)})
	gone.Kind, gone.Cause, gone.CauseInferred = ledger.KindDeleted, ledger.CauseExpired, true
	log.add(0, gone, commit("g", 3000, row(0, 120, 5, 3000)), commit("g", 3500, row(0, 20, 6, 3500), row(1, 50, 7, 3500)), watermarks(3600, 1100),
		commit("g", 4000, row(0, 25, 8, 4000)), commit("new", 4100, row(2, 1, 9, 4100)), commit("still", 4200, row(0, 9, 10, 4200)),
		cursor(9000, 5000), commit("g", 9000, row(0, 999, 11, 9000)))
	for name, span := range map[string][2]replay.Point{
		"times":     {{Time: millis(1000)}, {Time: millis(5000)}},
		"sequences": {{Seq: 5}, {Seq: 12}},
		"mixed":     {{Seq: 5}, {Time: millis(5000)}},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := replay.DiffBetween(t.Context(), log, span[0], span[1], replay.OfCluster("c"), true)
			require.NoError(t, err)
			require.Len(t, d.Groups, 4)
			h, g, added, still := d.Groups[0], d.Groups[1], d.Groups[2], d.Groups[3]

			require.Equal(t, "h", h.Group)
			require.Equal(t, []int{1, 0, 1, 1}, []int{h.Partitions, h.Appeared, h.Gone, h.Events})
			require.True(t, h.Back() && h.Notable() && !h.New())
			require.Len(t, h.Incidents, 1)
			require.Equal(t, "i6", h.Incidents[0].ID())
			_, known := h.LagDelta()
			require.False(t, known, "of a group that has no offset any more")

			require.Equal(t, "g", g.Group)
			require.Equal(t, []int64{25, 100, 0}, []int64{g.Advanced, g.Replayed, g.Skipped})
			require.Equal(t, []int{2, 0, 0, 3}, []int{g.Partitions, g.Appeared, g.Gone, g.Events})
			require.Equal(t, []projection.Movement{projection.MovementAdvance, projection.MovementRecommit, projection.MovementRewind}, g.Movements())
			require.Equal(t, "i8", g.Incidents[0].ID())
			require.Equal(t, projection.TotalLag{Records: 900, Readable: 900, Known: 1, Unknown: 1}, g.LagFrom)
			require.Equal(t, projection.TotalLag{Records: 1075, Readable: 1075, Known: 1, Unknown: 1}, g.LagTo)
			_, known = g.LagDelta()
			require.False(t, known, "the lag of one partition is not known")
			require.Len(t, g.Rows, 2)
			require.Equal(t, projection.Value{At: 100, Exists: true}, g.Rows[0].From)
			require.Equal(t, projection.Value{At: 25, Exists: true}, g.Rows[0].To)
			require.EqualValues(t, []int64{25, 100}, []int64{g.Rows[0].Advanced, g.Rows[0].Replayed})
			require.Zero(t, g.Rows[1].Replayed)

			require.Equal(t, "new", added.Group)
			require.True(t, added.New() && added.Moved() && !added.Back() && !added.Notable())
			require.Equal(t, "still", still.Group)
			require.False(t, still.Moved())
			require.Equal(t, 1, still.Events)
			delta, known := still.LagDelta()
			require.True(t, known)
			require.EqualValues(t, 100, delta)
		})
	}
	early, err := replay.DiffBetween(t.Context(), log, replay.Point{Seq: 1}, replay.Point{Seq: 7}, replay.OfGroup("c", "h"), true)
	require.NoError(t, err)
	require.Equal(t, []int{1, 0, 1}, []int{early.Groups[0].Partitions, early.Groups[0].Appeared, early.Groups[0].Gone}, "it came and went")
	require.Len(t, early.Groups[0].Rows, 1)

	one, err := replay.DiffBetween(t.Context(), log, replay.Point{Seq: 5}, replay.Point{Seq: 12}, replay.OfGroup("c", "h"), false)
	require.NoError(t, err)
	require.Len(t, one.Groups, 1)
	require.Equal(t, 1, one.Groups[0].Gone)
	require.Empty(t, one.Groups[0].Rows)
}

// What moved between two points is what lies between the offsets at both, partition by
// partition, and the same from any snapshot.
func TestDiffIsWhatLiesBetweenTwoStates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := randomLog(t)
		var from, to replay.Point
		if rapid.Bool().Draw(t, "times") {
			ms := rapid.Int64Range(0, 60_000).Draw(t, "from")
			from, to = replay.Point{Time: millis(ms)}, replay.Point{Time: millis(ms + rapid.Int64Range(0, 60_000).Draw(t, "for"))}
		} else {
			from.Seq = rapid.Uint64Range(1, uint64(len(log))).Draw(t, "from")
			to.Seq = rapid.Uint64Range(from.Seq, uint64(len(log))).Draw(t, "to")
		}
		d, err := replay.DiffBetween(context.Background(), log, from, to, replay.OfCluster("c"), true)
		require.NoError(t, err)
		for _, g := range d.Groups {
			var sums replay.Moves
			for _, r := range g.Rows {
				sums.Advanced, sums.Replayed, sums.Skipped = sums.Advanced+r.Advanced, sums.Replayed+r.Replayed, sums.Skipped+r.Skipped
				if r.From.Exists && r.To.Exists && r.Uncounted == 0 {
					require.Equal(t, r.To.At-r.From.At, r.Advanced+r.Skipped-r.Replayed, "%s %d", g.Group, r.Partition)
				}
			}
			require.Equal(t, []int64{g.Advanced, g.Replayed, g.Skipped}, []int64{sums.Advanced, sums.Replayed, sums.Skipped})
			if !g.Moved() {
				require.Equal(t, committed(d.From, g.Group), committed(d.To, g.Group))
			}
		}
		s, _ := open(t, newObjects())
		take(t, s, log, rapid.IntRange(1, len(log)).Draw(t, "snapshot"))
		again, err := s.DiffBetween(context.Background(), log, from, to, replay.OfCluster("c"), true)
		require.NoError(t, err)
		require.Equal(t, len(d.Groups), len(again.Groups))
		for i := range d.Groups {
			require.Equal(t, d.Groups[i].Rows, again.Groups[i].Rows)
			require.Equal(t, d.Groups[i].Moves, again.Groups[i].Moves)
		}
	})
}

func committed(s *projection.State, group string) map[int32]projection.Value {
	out := map[int32]projection.Value{}
	for _, p := range s.Partitions("c", group) {
		if p.Committed.Exists {
			out[p.Partition] = p.Committed
		}
	}
	return out
}
