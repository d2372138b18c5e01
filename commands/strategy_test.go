package commands_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/commands"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/ledgertest"
	"github.com/offsetledger/offsetledger/projection"
)

const (
	soon = 10 * time.Second // in which what has to happen happens, on the slowest machine
	look = time.Millisecond
)

// An interval or a number that makes no sense is refused when the manager is made, by the name
// of its field, and all that is wrong is said at once.
func TestCMT12NonsenseSettings(t *testing.T) {
	log := ledgertest.New(t)
	for name, c := range map[string]struct {
		set  func(*commands.Config)
		says []string
	}{
		"interval 0":        {func(c *commands.Config) { c.Strategy = commands.Periodic(0) }, []string{"Strategy", "0s"}},
		"interval below 0":  {func(c *commands.Config) { c.Strategy = commands.Periodic(-time.Second) }, []string{"Strategy", "-1s"}},
		"interval of 1ns":   {func(c *commands.Config) { c.Strategy = commands.Periodic(1) }, []string{"Strategy", "1ns"}},
		"every 0":           {func(c *commands.Config) { c.Strategy = commands.EveryN(0) }, []string{"Strategy", "0 updates"}},
		"every -5":          {func(c *commands.Config) { c.Strategy = commands.EveryN(-5) }, []string{"Strategy", "-5 updates"}},
		"wait below 0":      {func(c *commands.Config) { c.MaxWait = -1 }, []string{"MaxWait"}},
		"tiny buffer":       {func(c *commands.Config) { c.BufferLimit = 1 }, []string{"BufferLimit"}},
		"gap without Kafka": {func(c *commands.Config) { c.WhenLogAway = commands.CommitAndMarkGap }, []string{"WhenLogAway", "KafkaCommits"}},
		"no such policy":    {func(c *commands.Config) { c.WhenLogAway = 9 }, []string{"WhenLogAway", "9"}},
		"everything": {func(c *commands.Config) {
			*c = commands.Config{Strategy: commands.Periodic(1), FlushEvery: -1, LogWait: -1, BufferLimit: -1}
		}, []string{"Cluster", "Group", "Strategy", "FlushEvery", "LogWait", "BufferLimit"}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config()
			c.set(&cfg)
			_, err := commands.NewManager(t.Context(), log, cfg)
			require.ErrorIs(t, err, commands.ErrInvalid)
			for _, s := range c.says {
				require.ErrorContains(t, err, s)
			}
		})
	}
	require.Empty(t, events(t, log, ledger.KindClaim))
}

// Periodic commits what was updated, also when updates have stopped, and only that.
func TestPeriodic(t *testing.T) {
	log := ledgertest.New(t)
	cfg := config()
	cfg.Strategy = commands.Periodic(20 * time.Millisecond)
	m := newManager(t, log, cfg)
	stop := run(t, m)
	require.NoError(t, m.UpdateOffset("orders", 0, 5))
	require.Eventually(t, func() bool { return len(m.Committed()) == 1 }, soon, look)
	require.NoError(t, m.UpdateOffset("orders", 0, 6))
	require.Eventually(t, func() bool { at, _ := m.Offset("orders", 0); return at == 6 }, soon, look)
	require.NoError(t, m.Close(t.Context()))
	require.NoError(t, stop(), "closing ends Run")
	require.Len(t, events(t, log), 2, "nothing updated, nothing committed")
}

// EveryN commits after n updates, whichever partitions they are of, and what is fewer after a
// while.
func TestEveryN(t *testing.T) {
	log := ledgertest.New(t)
	cfg := config()
	cfg.Strategy, cfg.MaxWait = commands.EveryN(10), time.Hour
	m := newManager(t, log, cfg)
	run(t, m)
	require.Eventually(t, func() bool { return m.UpdateOffset("orders", 9, 0) == nil }, soon, look)
	for i := range int64(9) {
		require.NoError(t, m.UpdateOffset("orders", int32(i%3), i))
	}
	require.Eventually(t, func() bool { return len(m.Committed()) == 4 }, soon, look)
	require.NoError(t, m.UpdateOffset("orders", 0, 100))
	require.Len(t, m.Pending(), 1)
	require.NoError(t, m.Close(t.Context()))
	require.Equal(t, int64(100), offset(t, m, "orders", 0), "closing commits the rest")

	cfg.MaxWait = 20 * time.Millisecond
	m = newManager(t, log, cfg)
	run(t, m)
	require.NoError(t, m.UpdateOffset("orders", 0, 5))
	require.Eventually(t, func() bool { return len(m.Committed()) == 1 }, soon, look)
}

// With the manual strategy marks were made and nothing was committed explicitly: neither closing
// nor a partition that is taken away commits. What was done is in the history all the same.
func TestCMT07ManualMeansManual(t *testing.T) {
	log := ledgertest.New(t)
	m := newManager(t, log, config())
	run(t, m)
	for at := range int64(10) {
		require.NoError(t, m.UpdateOffset("orders", 0, at+1))
		require.NoError(t, m.UpdateOffset("orders", 1, at+1))
	}
	m.Drop(tp("orders", 1))
	require.NoError(t, m.Close(t.Context()))
	require.Empty(t, m.Committed())
	require.Empty(t, events(t, log, ledger.KindCommitted))
	require.Equal(t, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, recorded(t, log, "orders", 0))
}

// The records of a poll were handed out and some of them processed: what is committed on close
// is what was done, never what was handed out; after a crash it is the last commit.
func TestCMT06PolledIsNotProcessed(t *testing.T) {
	log := ledgertest.New(t)
	cfg := config()
	cfg.Strategy = commands.Periodic(time.Hour)
	m := newManager(t, log, cfg)
	run(t, m)
	for at := range int64(10) {
		require.NoError(t, m.Delivered("orders", 0, at, ledger.Epoch{}))
	}
	for at := range int64(4) {
		require.NoError(t, m.DoneOffset("orders", 0, at))
	}
	require.NoError(t, m.Close(t.Context()))
	require.Equal(t, int64(4), offset(t, m, "orders", 0))

	crashed := newManager(t, log, cfg)
	_, err := crashed.Restore(t.Context())
	require.NoError(t, err)
	for at := int64(4); at < 10; at++ {
		require.NoError(t, crashed.Delivered("orders", 0, at, ledger.Epoch{}))
	}
	require.NoError(t, crashed.DoneOffset("orders", 0, 4))
	next := newManager(t, log, cfg)
	_, err = next.Restore(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(4), offset(t, next, "orders", 0))
}

// Workers finish records out of order: 3, 4, 5, 7 and then 6.
func TestCMT02AManagerCommitsThePrefix(t *testing.T) {
	log := ledgertest.New(t)
	m := newManager(t, log, config())
	commit := func() int {
		n, err := m.Commit(t.Context())
		require.NoError(t, err)
		return n
	}
	for at := int64(3); at <= 7; at++ {
		require.NoError(t, m.Delivered("orders", 0, at, ledger.Epoch{}))
	}
	require.Zero(t, commit(), "nothing done, nothing committed")
	for _, at := range []int64{3, 4, 5, 7} {
		require.NoError(t, m.DoneOffset("orders", 0, at))
	}
	require.Equal(t, 1, commit())
	require.Equal(t, int64(6), offset(t, m, "orders", 0))
	require.Equal(t, int64(6), m.Stuck()[tp("orders", 0)].Offset)
	require.NoError(t, m.DoneOffset("orders", 0, 5), "twice")
	require.NoError(t, m.DoneOffset("orders", 0, 2), "below the floor")
	require.ErrorIs(t, m.DoneOffset("orders", 0, 99), commands.ErrNotDelivered)
	require.ErrorIs(t, m.DoneOffset("orders", 1, 3), commands.ErrNotDelivered)
	require.Zero(t, commit())
	require.NoError(t, m.DoneOffset("orders", 0, 6))
	require.Equal(t, 1, commit())
	require.Equal(t, int64(8), offset(t, m, "orders", 0))
	require.Empty(t, m.Stuck())
}

// Compaction and markers leave holes; contiguity is over what was delivered.
func TestCMT03AManagerIsNotStalledByHoles(t *testing.T) {
	m := newManager(t, ledgertest.New(t), config())
	for _, at := range []int64{10, 12, 15, 40} {
		require.NoError(t, m.Delivered("orders", 0, at, ledger.Epoch{}))
	}
	for _, step := range []struct{ done, pending int64 }{{12, -1}, {10, 13}, {15, 16}, {40, 41}} {
		require.NoError(t, m.DoneOffset("orders", 0, step.done))
		info, ok := m.Pending()[tp("orders", 0)]
		require.Equal(t, step.pending >= 0, ok)
		if ok {
			require.Equal(t, step.pending, info.Offset)
		}
	}
	require.NoError(t, m.Delivered("orders", 1, 5000, ledger.Epoch{}))
	require.NoError(t, m.DoneOffset("orders", 1, 5000))
	require.Equal(t, int64(5001), m.Pending()[tp("orders", 1)].Offset)
}

// A strategy that commits by itself, and nobody runs Run: after two intervals that is said.
func TestNotRunning(t *testing.T) {
	clock := newClock()
	cfg := config()
	cfg.Strategy = commands.Periodic(time.Second)
	clock.in(&cfg)
	m := newManager(t, ledgertest.New(t), cfg)
	require.NoError(t, m.UpdateOffset("orders", 0, 1))
	clock.move(2 * time.Second)
	require.NoError(t, m.UpdateOffset("orders", 0, 2))
	clock.move(time.Millisecond)
	err := m.UpdateOffset("orders", 0, 3)
	require.ErrorIs(t, err, commands.ErrNotRunning)
	require.ErrorContains(t, err, "Run")
	require.Equal(t, int64(3), m.Pending()[tp("orders", 0)].Offset, "it was taken")

	_, err = m.Commit(t.Context())
	require.NoError(t, err)
	require.NoError(t, m.UpdateOffset("orders", 0, 4))
	clock.move(time.Hour)
	run(t, m)
	require.Eventually(t, func() bool { return m.UpdateOffset("orders", 0, 5) == nil }, soon, look)

	cfg.Strategy, cfg.Group = commands.Manual(), "other"
	m = newManager(t, ledgertest.New(t), cfg)
	require.NoError(t, m.UpdateOffset("orders", 0, 1))
	clock.move(time.Hour)
	require.NoError(t, m.UpdateOffset("orders", 0, 2))
}

// Updates are recorded after a while though nobody commits.
func TestUpdatesAreFlushedByTime(t *testing.T) {
	log := ledgertest.New(t)
	cfg := config()
	cfg.FlushEvery = 10 * time.Millisecond
	m := newManager(t, log, cfg)
	run(t, m)
	require.NoError(t, m.UpdateOffset("orders", 0, 1))
	require.NoError(t, m.UpdateOffset("orders", 0, 2))
	require.Eventually(t, func() bool { return len(recorded(t, log, "orders", 0)) == 2 }, soon, look)
	require.Empty(t, events(t, log, ledger.KindCommitted))
}

// Updates are recorded by number, with Run and without, and none is lost or changes its place.
func TestUpdatesAreFlushedByNumber(t *testing.T) {
	for name, running := range map[string]bool{"running": true, "not running": false} {
		t.Run(name, func(t *testing.T) {
			log := ledgertest.New(t)
			cfg := config()
			cfg.BufferLimit, cfg.FlushEvery = 2048, time.Hour
			m := newManager(t, log, cfg)
			if running {
				run(t, m)
			}
			var want []int64
			for at := range int64(10_000) {
				for p := range int32(3) {
					require.NoError(t, m.UpdateOffset("orders", p, at))
				}
				want = append(want, at)
			}
			require.NoError(t, m.Close(t.Context()))
			for p := range int32(3) {
				require.Equal(t, want, recorded(t, log, "orders", p))
			}
			require.GreaterOrEqual(t, len(events(t, log)), 30_000/2048)
		})
	}
}

// Whatever is called after Close says that it is closed, and changes nothing.
func TestUseAfterClose(t *testing.T) {
	log := ledgertest.New(t)
	m := newManager(t, log, config())
	require.NoError(t, m.UpdateOffset("orders", 0, 1))
	require.NoError(t, m.Delivered("orders", 0, 1, ledger.Epoch{}))
	require.NoError(t, m.Close(t.Context()))
	require.NoError(t, m.Close(t.Context()))
	before := len(events(t, log))
	for name, call := range map[string]func() error{
		"UpdateOffset":              func() error { return m.UpdateOffset("orders", 0, 2) },
		"of a new topic":            func() error { return m.UpdateOffset("new", 0, 2) },
		"UpdateOffsetWithWatermark": func() error { return m.UpdateOffsetWithWatermark("orders", 0, 2, 9) },
		"Delivered":                 func() error { return m.Delivered("orders", 0, 2, ledger.Epoch{}) },
		"DoneOffset":                func() error { return m.DoneOffset("orders", 0, 1) },
		"Observe":                   func() error { return m.Observe("orders", 0, 0, 9) },
		"Own":                       func() error { return m.Own(tp("orders", 0)) },
		"SetCommitted":              func() error { return m.SetCommitted(tp("orders", 0), projection.OffsetInfo{Offset: 1}) },
		"SetUncommitted":            func() error { return m.SetUncommitted(tp("orders", 0)) },
		"Clear":                     func() error { return m.Clear(t.Context()) },
		"Commit":                    func() error { _, err := m.Commit(t.Context()); return err },
		"CommitPartitions":          func() error { _, err := m.CommitPartitions(t.Context(), tp("orders", 0)); return err },
		"Restore":                   func() error { _, err := m.Restore(t.Context()); return err },
		"ResetOffset":               func() error { _, err := m.ResetOffset(t.Context(), "orders", 0, commands.Specific(1)); return err },
		"Checkpoint":                func() error { _, err := m.Checkpoint(t.Context(), "c"); return err },
		"RestoreCheckpoint":         func() error { _, err := m.RestoreCheckpoint(t.Context(), "c"); return err },
	} {
		require.ErrorIs(t, call(), commands.ErrClosed, name)
	}
	m.Drop(tp("orders", 0))
	require.NoError(t, m.Run(t.Context()), "as when it is closed while it runs")
	_, ok := m.Offset("orders", 0)
	require.False(t, ok)
	_, unknown := m.TotalLag()
	require.Zero(t, unknown)
	require.Len(t, events(t, log), before)

	cfg := config()
	cfg.Strategy, cfg.Group = commands.OnWatermark(), "other"
	m = newManager(t, log, cfg)
	require.NoError(t, m.Close(t.Context()))
	_, err := m.NotifyWatermark(t.Context(), time.Now())
	require.ErrorIs(t, err, commands.ErrClosed)
}

func TestOneRunAtATime(t *testing.T) {
	cfg := config()
	cfg.Strategy = commands.EveryN(1)
	m := newManager(t, ledgertest.New(t), cfg)
	stop := run(t, m)
	require.NoError(t, m.UpdateOffset("orders", 0, 1))
	require.Eventually(t, func() bool { return len(m.Committed()) == 1 }, soon, look)
	require.ErrorIs(t, m.Run(t.Context()), commands.ErrInvalid)
	require.ErrorIs(t, stop(), context.Canceled)
}

// Run ends by itself when somebody else has taken the group over.
func TestRunEndsWhenFenced(t *testing.T) {
	log := ledgertest.New(t)
	cfg := config()
	cfg.Strategy = commands.Periodic(10 * time.Millisecond)
	m := newManager(t, log, cfg)
	ended := make(chan error, 1)
	go func() { ended <- m.Run(t.Context()) }()
	newManager(t, log, cfg)
	require.Eventually(t, func() bool { return m.UpdateOffset("orders", 0, 1) != nil }, soon, look)
	require.ErrorIs(t, <-ended, ledger.ErrConflict)
}
