package replay_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/replay"
)

// withSnapshots asks for moments of a log with a snapshot after every record, and wants the answer
// that there is without.
func withSnapshots(t *testing.T, log memory, wants map[int64]projection.Value) {
	s, warned := open(t, newObjects())
	for n := range log {
		take(t, s, log, n+1)
	}
	for ms, want := range wants {
		p := replay.Point{Time: millis(ms)}
		st, err := s.StateAt(t.Context(), log, p, replay.OfGroup("c", "g"))
		require.NoError(t, err)
		got, _ := st.Partition("c", "g", "t", 0)
		require.Equal(t, want, got.Committed, "at %d", ms)
		require.Equal(t, bytesOf(stateAt(t, log, p, replay.OfGroup("c", "g"))), bytesOf(st), "at %d", ms)
	}
	require.Empty(t, warned.String())
}

func offset(n int64) projection.Value { return projection.Value{At: n, Exists: true} }

// What compaction had left is known from its own time on, a deletion is no offset, and the future
// is what is known now: through snapshots too.
func TestPRJ07OffsetOutsideKnownHistoryThroughSnapshots(t *testing.T) {
	var log memory
	gone := commit("g", 3000, ledger.Offset{Topic: "t", SourceOffset: 1, Effective: millis(3000)})
	gone.Kind, gone.Cause = ledger.KindDeleted, ledger.CauseDeleted
	log.add(1000, commit("g", 200, row(0, 500, 0, 200)), cursor(1000, 1000), gone, commit("g", 5000, row(0, 510, 2, 5000)), cursor(6000, 6000))
	none := projection.Value{}
	withSnapshots(t, log, map[int64]projection.Value{
		100: none, 200: offset(500), 999: offset(500), 1000: offset(500), 2999: offset(500), 3000: none, 4999: none, 5000: offset(510), 9000: offset(510)})
}

// Commit times that go back or lie in 2099 neither hide a row nor keep a snapshot from serving.
func TestPRJ09CommitTimesThatGoBackwardsThroughSnapshots(t *testing.T) {
	var log memory
	for i, c := range []struct{ offset, committed, effective int64 }{
		{10, 36005_000, 36005_000}, {11, 36002_000, 36005_000}, {12, 4070908800_000, 36005_500}, {13, 36006_000, 36006_000}, {14, math.MaxInt64, 36007_000},
	} {
		r := row(0, c.offset, 100+int64(i), c.effective)
		r.CommitTime = millis(c.committed)
		log.add(0, commit("g", c.effective, r))
	}
	withSnapshots(t, log, map[int64]projection.Value{
		36004_000: {}, 36005_000: offset(11), 36005_500: offset(12), 36006_000: offset(13), 36007_000: offset(14), 4080000000_000: offset(14)})
}
