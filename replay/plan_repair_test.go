package replay_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/replay"
)

// An incident moved two partitions of three. Of a plan that puts one back the other is told as what
// it is: moved, and left out; the third was not touched.
func TestPlanForAPartOfAnIncident(t *testing.T) {
	log := history(commit("g", hour, recordedRow(0, 900, 7, "", 0, hour), recordedRow(1, 800, 7, "", 1, hour), recordedRow(2, 30, 7, "", 2, hour)),
		commit("g", 2*hour, row(0, 5, 3, 2*hour), row(1, 5, 4, 2*hour)))
	found, err := replay.IncidentsAt(t.Context(), log, log[2].Seq)
	require.NoError(t, err)
	repair, err := replay.ReadRepair(t.Context(), log, found)
	require.NoError(t, err)
	w := wishFor(replay.Target{}, pick(0))
	w.Repair, w.Groups = repair, []string{repair.Group}
	p, err := replay.PlanRestore(w, material(t, log, replay.Point{}), kafkaNow(has(0, 5), has(1, 5), has(2, 30)))
	require.NoError(t, err)
	requireSteps(t, p, brief{action: replay.ActionSet, target: 900})
	require.Equal(t, []ledger.TopicPartition{{Topic: "t", Partition: 2}}, p.Groups[0].Untouched)
	require.Equal(t, []ledger.TopicPartition{{Topic: "t", Partition: 1}}, p.Groups[0].LeftOut)
}
