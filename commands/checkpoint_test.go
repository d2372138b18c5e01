package commands_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/ledgertest"
)

// The sequence of a checkpoint is that of its event, also when the answer to its append was lost
// and the manager has renewed its claim behind it to find out; of one in parts it is the last.
func TestACheckpointTellsItsOwnSequence(t *testing.T) {
	t.Parallel() // it waits for the disk
	for _, partitions := range []int{1, 200_000} {
		for name, f := range map[string]fault{"answered": fine, "the answer is lost": after} {
			t.Run(fmt.Sprint(name, " ", partitions), func(t *testing.T) {
				log := &shaky{Log: ledgertest.New(t)}
				m := newManager(t, log, config())
				for p := range partitions {
					require.NoError(t, m.UpdateOffset("orders", int32(p), int64(p)*1_000_003_000))
				}
				_, err := m.Commit(t.Context())
				require.NoError(t, err)
				log.set(func() fault {
					log.draw = nil // the lock is held
					return f
				})
				c, err := m.Checkpoint(t.Context(), "noon")
				require.NoError(t, err)
				stored := events(t, log, ledger.KindCheckpoint)
				if partitions > 1 {
					require.Greater(t, len(stored), 1, "it was to be in parts")
				}
				require.Equal(t, stored[len(stored)-1].Seq, c.Seq)
			})
		}
	}
}
