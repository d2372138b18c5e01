package projection_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

func numbers(parts []projection.Partition) []int32 {
	out := []int32{}
	for i := range parts {
		out = append(out, parts[i].Partition)
	}
	return out
}

// A topic of five partitions of which the group has committed two has three that are seen to
// have nothing; one of a topic that it has nothing of any more has not.
func TestPartitionsThatAGroupHasNothingForAreListed(t *testing.T) {
	h := newHistory(t)
	topic := ledger.Event{Kind: ledger.KindTopic, Topic: "t", Time: at(500), TopicInfo: &ledger.TopicInfo{Partitions: 5}}
	h.add(topic)
	h.add(commit(1000, row(3, 7, 0), row(1, 5, 1), row(9, 5, 2)))
	require.Equal(t, []int32{1, 3, 9}, numbers(h.state.Partitions("c", "g")))
	require.Equal(t, []int32{0, 1, 2, 3, 4, 9}, numbers(h.state.AllPartitions("c", "g")))
	h.add(tombstone(2000, ledger.CauseExpired, row(3, 0, 3), row(1, 0, 4), row(9, 0, 5)))
	require.Equal(t, []int32{1, 3, 9}, numbers(h.state.AllPartitions("c", "g")))
	require.Empty(t, h.state.AllPartitions("c", "other"))
}

func TestPartitionsThatCameLater(t *testing.T) {
	h := newHistory(t)
	h.add(commit(1000, row(1, 5, 0)))
	h.add(commit(2000, row(0, 5, 1), row(1, 6, 2), row(2, 7, 3)))
	all := projection.WithLater(h.asOf(1000).Partitions("c", "g"), h.state.Partitions("c", "g"))
	require.Equal(t, []int32{0, 1, 2}, numbers(all))
	require.EqualValues(t, 5, all[1].Committed.At, "what it had then")
	require.Equal(t, [2]bool{}, [2]bool{all[0].Committed.Exists, all[2].Committed.Exists})
}
