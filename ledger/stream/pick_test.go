package stream_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
)

// Single events come in the order that they are asked for, more than are ever under way at a time,
// and are those that a read of everything gives.
func TestPickReturnsEventsInTheOrderAskedFor(t *testing.T) {
	log := newLog(t)
	_, err := log.Append(t.Context(), numbered("g", 1000))
	require.NoError(t, err)
	all := map[uint64]ledger.Record{}
	for rec, err := range log.Read(t.Context(), 1, 0, ledger.Filter{}) {
		require.NoError(t, err)
		all[rec.Seq] = rec.Clone()
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 64, 65, 300} {
		seqs := make([]uint64, n)
		for i := range seqs {
			seqs[i] = 1 + random.Uint64N(1000)
		}
		var got []ledger.Record
		for rec, err := range log.Pick(t.Context(), seqs) {
			require.NoError(t, err)
			got = append(got, rec.Clone())
		}
		require.Len(t, got, n)
		for i, seq := range seqs {
			require.Equal(t, all[seq], got[i])
		}
	}
	for rec, err := range log.Pick(t.Context(), []uint64{3, 2, 1}) {
		require.NoError(t, err)
		require.EqualValues(t, 3, rec.Seq)
		break // what is under way is of no interest
	}
}

// What is not there is missing, said with its sequence, after what is there. A context that has
// ended ends it, and so does a closed connection.
func TestPickSaysWhatIsMissing(t *testing.T) {
	log := newLog(t)
	_, err := log.Append(t.Context(), numbered("g", 3))
	require.NoError(t, err)
	var got []uint64
	var failed error
	for rec, err := range log.Pick(t.Context(), []uint64{2, 7, 3}) {
		if err != nil {
			failed = err
			continue
		}
		got = append(got, rec.Seq)
	}
	require.Equal(t, []uint64{2}, got)
	require.ErrorIs(t, failed, ledger.ErrMissing)
	require.ErrorContains(t, failed, "sequence 7")

	ended, end := context.WithCancel(t.Context())
	end()
	require.ErrorIs(t, failure(t, log.Pick(ended, []uint64{1})), context.Canceled)
}
