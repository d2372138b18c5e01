package commands_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/commands"
	"github.com/offsetledger/offsetledger/ledger"
)

// The ledger is away for long. Under Block updates are taken as long as there is room, and then
// refused; not one that was taken is lost.
func TestBlockRefusesUpdatesWhenFull(t *testing.T) {
	for name, running := range map[string]bool{"running": true, "not running": false} {
		t.Run(name, func(t *testing.T) {
			log := newGate(t)
			cfg := config()
			cfg.BufferLimit, cfg.LogWait, cfg.FlushEvery = 1024, 10*time.Millisecond, 10*time.Millisecond
			m := newManager(t, log, cfg)
			if running {
				run(t, m)
			}
			log.away.Store(true)
			var taken []int64
			var err error
			for at := int64(0); at < 100_000; at++ {
				if err = m.UpdateOffset("orders", 0, at); err != nil {
					break
				}
				taken = append(taken, at)
			}
			require.ErrorIs(t, err, commands.ErrLogAway)
			require.LessOrEqual(t, len(taken), 1024)
			require.Greater(t, len(taken), 512)
			_, err = m.Commit(t.Context())
			require.ErrorIs(t, err, commands.ErrLogAway)
			require.Equal(t, taken[len(taken)-1], m.Pending()[tp("orders", 0)].Offset)

			log.away.Store(false)
			_, err = m.Commit(t.Context())
			require.NoError(t, err)
			require.Equal(t, taken[len(taken)-1], offset(t, m, "orders", 0))
			require.NoError(t, m.UpdateOffset("orders", 0, 200_000))
			require.NoError(t, m.Close(t.Context()))
			require.Equal(t, append(taken, 200_000), recorded(t, log, "orders", 0))
			require.Zero(t, m.Stats().LostUpdates)
		})
	}
}

// A manager is closed while the ledger is away: that is an error, and closing again when it is
// back finishes it.
func TestCloseWhileTheLogIsAway(t *testing.T) {
	log := newGate(t)
	cfg := config()
	cfg.LogWait, cfg.Strategy = 10*time.Millisecond, commands.Periodic(time.Hour)
	m := newManager(t, log, cfg)
	require.NoError(t, m.UpdateOffset("orders", 0, 5))
	log.away.Store(true)
	require.ErrorIs(t, m.Close(t.Context()), commands.ErrLogAway)
	require.ErrorIs(t, m.UpdateOffset("orders", 0, 6), commands.ErrClosed)
	log.away.Store(false)
	require.NoError(t, m.Close(t.Context()))
	require.Equal(t, int64(5), offset(t, m, "orders", 0))
	require.Equal(t, []int64{5}, recorded(t, log, "orders", 0))
}

// A manager that cannot claim its group is not made.
func TestNewManagerWhileTheLogIsAway(t *testing.T) {
	log := newGate(t)
	log.away.Store(true)
	_, err := commands.NewManager(t.Context(), log, config())
	require.ErrorIs(t, err, errAway)
	cfg := config()
	cfg.KafkaCommits = true
	_, err = commands.NewManager(t.Context(), log, cfg)
	require.NoError(t, err, "with commits to Kafka the business goes on")
}

// With commits to Kafka the business goes on while the ledger is away, and no call takes long.
// Commits are recorded when it is back; updates for which there was no room are a gap.
func TestCommitAndMarkGap(t *testing.T) {
	for name, running := range map[string]bool{"running": true, "not running": false} {
		t.Run(name, func(t *testing.T) {
			log := newGate(t)
			cfg := config()
			cfg.KafkaCommits, cfg.BufferLimit = true, 1024
			cfg.LogWait, cfg.FlushEvery = 10*time.Millisecond, 10*time.Millisecond
			m := newManager(t, log, cfg)
			b := newBroker()
			m.Bind(b)
			if running {
				run(t, m)
			}
			require.NoError(t, m.UpdateOffset("orders", 0, 1))
			_, err := m.Commit(t.Context())
			require.NoError(t, err)

			log.away.Store(true)
			at := int64(1)
			for range 5 {
				for range 1000 {
					at++
					require.NoError(t, m.UpdateOffset("orders", 0, at))
				}
				n, err := m.Commit(t.Context())
				require.NoError(t, err)
				require.Equal(t, 1, n)
				require.Equal(t, at, offset(t, m, "orders", 0))
				require.Equal(t, at, b.at(tp("orders", 0)))
			}
			require.Positive(t, m.Stats().LostUpdates)
			log.away.Store(false)
			require.NoError(t, m.Close(t.Context()))

			var commits []int64
			for _, rec := range events(t, log, ledger.KindCommitted) {
				commits = append(commits, ats(rec.Event.Offsets)...)
			}
			require.Equal(t, []int64{1, 1001, 2001, 3001, 4001, 5001}, commits)
			gaps := events(t, log, ledger.KindGap)
			require.NotEmpty(t, gaps)
			require.Equal(t, ledger.CauseLogAway, gaps[0].Event.Cause)
			require.True(t, gaps[0].Event.Gap.OfGroup)
			require.True(t, gaps[0].Event.Gap.From.Known())
			kept := recorded(t, log, "orders", 0)
			require.IsIncreasing(t, kept)
			require.Equal(t, uint64(5001), uint64(len(kept))+m.Stats().LostUpdates)
		})
	}
}

// The ledger is away for so long that even the commits are too many to hold: of each partition
// the last one is recorded, and that there were others is a gap.
func TestTheBacklogOfCommitsIsBounded(t *testing.T) {
	log := newGate(t)
	cfg := config()
	cfg.KafkaCommits, cfg.LogWait = true, time.Millisecond
	m := newManager(t, log, cfg)
	m.Bind(newBroker())
	log.away.Store(true)
	const n = 2500
	for at := int64(1); at <= n; at++ {
		require.NoError(t, m.UpdateOffset("orders", int32(at%3), at))
		_, err := m.Commit(t.Context())
		require.NoError(t, err)
	}
	log.away.Store(false)
	require.NoError(t, m.Close(t.Context()))
	commits := events(t, log, ledger.KindCommitted)
	require.Less(t, len(commits), 1001)
	require.Len(t, events(t, log, ledger.KindGap), 1)
	second := newManager(t, log, cfg)
	_, err := second.Restore(t.Context())
	require.NoError(t, err)
	require.Equal(t, plain(m.Committed()), plain(second.Committed()))
}
