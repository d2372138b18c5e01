package brokers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/ledgertest"
	"github.com/offsetledger/offsetledger/replay"
)

// logReader reads a ledger up to its end.
type logReader struct{ *ledgertest.Ledger }

func (w *world) restores() []replay.RestoreRecord {
	all, err := replay.Restores(w.t.Context(), logReader{w.log}, cluster)
	require.NoError(w.t, err)
	return all
}

// Two people carry one plan out at the same moment: it is carried out once, and nothing is left
// that seems to be interrupted. Whoever comes too late is told so.
func TestOnePlanCarriedOutTwiceAtOnce(t *testing.T) {
	w := newWorld(t)
	w.rewound("billing")
	for round := range 20 {
		target := int64(90 - 80*(round%2))
		p := w.plan(target, "billing")
		results := make(chan error, 2)
		for range cap(results) {
			go func() {
				_, err := w.apply(p)
				results <- err
			}()
		}
		done := 0
		for range cap(results) {
			if err := <-results; err == nil {
				done++
			} else {
				require.ErrorIs(t, err, replay.ErrStale)
				require.Regexp(t, `is being carried out by another run, as r|was carried out already, as r`, err.Error())
			}
		}
		require.NotZero(t, done)
		require.Equal(t, []int64{target, target, target}, w.at("billing"))
		all := w.restores()
		require.Len(t, all, round+1)
		last := all[round]
		require.True(t, last.Until != 0 && last.Whole, "%+v", last)
		require.Equal(t, []int{3, 0, 0}, []int{last.Written, last.Deleted, last.Refused})
	}
}

// A plan that keeps everything as it is leaves no restore behind, which somebody would have to
// take back.
func TestNothingToDoIsNotRecorded(t *testing.T) {
	w := newWorld(t)
	w.rewound("billing")
	p := w.plan(10, "billing")
	require.True(t, p.Executable())
	done, err := w.apply(p)
	require.NoError(t, err)
	require.Equal(t, &replay.Restored{Plan: p.ID, Groups: []replay.RestoredGroup{{Group: "billing", Kept: 3}}}, done)
	done, err = replay.Apply(t.Context(), w.log, w.b, replay.Order{Plan: p, By: night, NeedsApproval: true})
	require.NoError(t, err, "nobody has to agree to nothing")
	require.Empty(t, done.ID)
	require.Empty(t, w.restores())
	last, err := w.log.LastOf(t.Context(), ledger.ClusterSubjects(cluster))
	require.NoError(t, err)
	require.Zero(t, last)
}
