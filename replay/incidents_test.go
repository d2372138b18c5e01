package replay_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/replay"
)

// A replay of its group finds of every event the incidents that the fold of everything has
// found, with what became of them in the day after.
func TestIncidentsAreFoundAgainByReplay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := randomLog(t)
		s, x := projection.NewState(), projection.NewIncidents()
		for i := range log {
			changes, err := s.Apply(log[i])
			require.NoError(t, err)
			x.Apply(s, &log[i], changes)
		}
		for seq := uint64(1); seq <= uint64(len(log)); seq++ {
			found, err := replay.IncidentsAt(t.Context(), log, seq)
			require.NoError(t, err)
			require.Equal(t, x.Find(seq), found)
		}
	})
}

// The first commit that is more than a day later is the last that counts.
func TestAReplayOfAnIncidentEndsWhenItIsNotFollowedAnyMore(t *testing.T) {
	day := (24 * time.Hour).Milliseconds()
	var log memory
	log.add(0, commit("g", 1000, row(0, 100, 0, 1000)), commit("g", 2000, row(0, 10, 1, 2000)),
		commit("g", 3000, row(0, 60, 2, 3000)), commit("g", 3000+day, row(0, 70, 3, 3000+day)), commit("g", 4000+day, row(0, 100, 4, 4000+day)))
	found, err := replay.IncidentsAt(t.Context(), log, 2)
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, [2]int64{90, 60}, [2]int64{found[0].Replayed, found[0].ReadAgain})
	for seq, want := range map[uint64]int{1: 0, 3: 0, 5: 0} {
		found, err := replay.IncidentsAt(t.Context(), log, seq)
		require.NoError(t, err)
		require.Len(t, found, want)
	}
	_, err = replay.IncidentsAt(t.Context(), log, 6)
	require.ErrorIs(t, err, replay.ErrAhead)
}
