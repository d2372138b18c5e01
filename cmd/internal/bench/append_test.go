package bench

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Two batches that are stored side by side, in either order, have no group and no source partition
// in common: what a group committed is stored in its order, and is folded as what capture stores.
func TestBatchesStoredSideBySideHaveNothingInCommon(t *testing.T) {
	source := newCommits()
	groups, partitions := map[string]int{}, map[int32]int{}
	for batch := range 4 {
		events, err := source.batch()
		require.NoError(t, err)
		for i := range events {
			half, known := groups[events[i].Group]
			require.True(t, !known || half == batch%2, events[i].Group)
			groups[events[i].Group] = batch % 2
			half, known = partitions[events[i].Source.Partition]
			require.True(t, !known || half == batch%2, events[i].Source.Partition)
			partitions[events[i].Source.Partition] = batch % 2
		}
	}
	require.Len(t, groups, 1000)
	require.Len(t, partitions, sourcePartitions)
}
