package replay_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/replay"
)

// A log lost its end and went on with other records, but has not come again to where the newest
// snapshot was taken: what that one lists are the places of records that are no more.
func TestREP03ListOfASnapshotOfRecordsThatAreLost(t *testing.T) {
	log := tenGroups()
	k := keep(t, log)
	k.takeAt(t, 100, 200)
	other := slices.Clone(log[:150])
	for i := range int64(20) {
		at := 14*hour + i
		other.add(at, commit(fmt.Sprint("group-", i/2), at, row(0, 900+i, 300+i, at)))
	}
	k.log = other
	k.restart(t)
	k.follow(t, len(other))
	for _, p := range []replay.Point{{Seq: 160}, {}} {
		for g := range 10 {
			group := fmt.Sprint("group-", g)
			got, err := k.snapshots.StateAt(t.Context(), k.log, p, replay.OfGroup("c", group))
			require.NoError(t, err)
			want := stateAt(t, k.log, p, replay.OfGroup("c", group))
			require.Equal(t, promised(want, "c", group), promised(got, "c", group), "%s at %s", group, p)
		}
	}
	require.Contains(t, k.warned.String(), "the log has lost its end since")

	// It goes on with snapshots of what there is now.
	require.True(t, k.snapshots.Due(time.UnixMilli(100).Add(time.Hour), uint64(len(other)), 100))
	k.take(t, time.UnixMilli(300))
	require.Equal(t, uint64(170), k.snapshots.List()[0].Seq)
	for g := range 10 {
		group := fmt.Sprint("group-", g)
		got, err := k.snapshots.StateAt(t.Context(), k.log, replay.Point{}, replay.OfGroup("c", group))
		require.NoError(t, err)
		want := stateAt(t, k.log, replay.Point{}, replay.OfGroup("c", group))
		require.Equal(t, promised(want, "c", group), promised(got, "c", group), group)
	}
}
