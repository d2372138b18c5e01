package api

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/projection"
)

// What nobody can count is null and not 0: of a deletion what would have been read, of a group
// that began anew beyond what it had lost also what it skipped.
func TestWhatCannotBeCountedIsNull(t *testing.T) {
	row := func(kind projection.Movement, uncounted int) IncidentRow {
		return (&frame{}).incidentRow(&projection.Incident{Kind: kind, Partitions: 2, Uncounted: uncounted, Replayed: 5, Who: &projection.Who{}})
	}
	some, deleted, anew := row(projection.MovementAfterLoss, 1), row(projection.MovementDeleted, 2), row(projection.MovementAfterLoss, 2)
	require.EqualValues(t, 5, *some.Replayed)
	require.Zero(t, *some.Skipped)
	require.Nil(t, deleted.Replayed)
	require.Zero(t, *deleted.Skipped)
	require.Nil(t, anew.Replayed)
	require.Nil(t, anew.Skipped)
}
