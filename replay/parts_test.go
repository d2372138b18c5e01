package replay_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/replay"
)

// A group record of two megabytes is stored in parts. By the sequence of any but the last of
// them the group is as it was before, then it has all its members; its history tells of one
// event, with the last part.
func TestAnEventInPartsComesTrueWithItsLastPart(t *testing.T) {
	log := newLog(t)
	group := func(ms int64, members int) ledger.Event {
		ev := ledger.Event{Kind: ledger.KindGroup, Cluster: "c", Group: "g", Time: millis(ms),
			Source:     ledger.Source{Kind: ledger.SourceTail, Partition: 3},
			Membership: &ledger.Membership{Type: ledger.GroupTypeClassic, RecordType: ledger.RecordClassicGroup, Generation: int32(ms), Protocol: "range"}}
		for i := range members {
			ev.Membership.Members = append(ev.Membership.Members, ledger.Member{ID: fmt.Sprintf("m%04d", i), ClientID: strings.Repeat("x", 1000)})
		}
		return ev
	}
	receipt, err := log.Append(t.Context(), []ledger.Event{group(1000, 1), group(2000, 2000), commit("h", 2500, row(0, 5, 0, 2500))})
	require.NoError(t, err)
	whole := receipt.Last - 1
	require.Greater(t, whole, uint64(3), "it was cut")
	for _, sc := range []replay.Scope{{}, replay.OfCluster("c"), replay.OfGroup("c", "g")} {
		for seq := uint64(1); seq <= receipt.Last; seq++ {
			s := stateAt(t, log, replay.Point{Seq: seq}, sc)
			g, ok := s.Group("c", "g")
			require.True(t, ok)
			want := 1
			if seq >= whole {
				want = 2000
			}
			require.Len(t, g.Members, want, "at %d of %d", seq, receipt.Last)
			require.Equal(t, seq, s.Seq())
		}
	}
	h := replay.NewHistory(replay.OfGroup("c", "g"))
	var told []uint64
	for step, err := range h.Tell(log.Read(t.Context(), 1, 0, h.Filter())) {
		require.NoError(t, err)
		told = append(told, step.Record.Seq)
		require.Zero(t, step.Record.Event.Parts)
	}
	require.Equal(t, []uint64{1, whole}, told)
}
