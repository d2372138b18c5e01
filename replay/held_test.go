package replay_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/replay"
)

// What a group had at a sequence was true until the next thing that is recorded of it, whatever
// is recorded of others.
func TestWhatAGroupHadIsTrueUntilTheNextOfIt(t *testing.T) {
	reread := commit("g", 7000, row(0, 9, 0, 7000))
	reread.Source.Kind, reread.NotBefore = ledger.SourceReconcile, millis(6500)
	gap := ledger.Event{Kind: ledger.KindGap, Cluster: "c", Group: "g", Time: millis(9000), Source: ledger.Source{Kind: ledger.SourceTail},
		Gap: &ledger.Gap{OfGroup: true, From: millis(8000), To: millis(8500)}}
	opaque := ledger.Event{Kind: ledger.KindOpaque, Cluster: "c", Time: millis(9500), Source: ledger.Source{Kind: ledger.SourceTail, Partition: 4},
		Opaque: &ledger.Opaque{Key: []byte{1}}}
	var log memory
	log.add(0, commit("g", 1000, row(0, 5, 0, 1000)), commit("h", 2000, row(0, 5, 1, 2000)), watermarks(3000, 9), cursor(4000, 4000),
		commit("g", 5000, row(0, 6, 2, 5000)), reread, gap, opaque, commit("h", 9900, row(0, 7, 3, 9900)))
	for seq, want := range map[uint64]int64{1: 4999, 3: 4999, 4: 4999, 5: 6500, 6: 8000, 7: 9499} {
		until, ok, err := replay.HeldUntil(t.Context(), log, "c", "g", seq)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, millis(want), until, "after %d", seq)
	}
	for _, seq := range []uint64{8, 9} {
		_, ok, err := replay.HeldUntil(t.Context(), log, "c", "g", seq)
		require.NoError(t, err)
		require.False(t, ok)
	}
}
