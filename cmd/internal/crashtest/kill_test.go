package crashtest

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// newRand returns the randomness of a test, whose seed a failure tells.
func newRand(t *testing.T) *rand.Rand {
	s := *seed
	if s == 0 {
		s = rand.Uint64()
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("again with -seed %d", s)
		}
	})
	return rand.New(rand.NewPCG(s, 0)) //nolint:gosec // a test that can be repeated
}

// The daemon dies of SIGKILL at random moments of its life, from the first instruction to well
// after it is ready, while forty groups commit, delete and take part in transactions. Started
// again each time, it has everything in the end: no event is lost, none doubled, and the fold
// went through exactly the values that clients could read.
func TestKillNineLosesNothing(t *testing.T) {
	deaths := 24
	if testing.Short() {
		deaths = 5
	}
	rnd := newRand(t)
	b := startBroker(t, rand.New(rand.NewPCG(rnd.Uint64(), 0))) //nolint:gosec // as above
	dir := filepath.Join(t.TempDir(), "ledger")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	flowing := make(chan error, 1)
	go func() { flowing <- b.flow(ctx) }()

	ready := 0
	for death := range deaths {
		d := start(t, dir, b.fake)
		life := time.Duration(rnd.Int64N(int64(800 * time.Millisecond)))
		if death == 0 || rnd.IntN(2) == 0 {
			d.ready()
			ready++
		}
		d.liveFor(life)
	}
	cancel()
	require.NoError(t, <-flowing)

	d := start(t, dir, b.fake).ready()
	require.Zero(t, d.stop(), "%s", d.log)
	a := auditLedger(t, b, dir)
	require.Greater(t, a.cursors, ready, "it captured between its deaths")
	t.Logf("%d records in %d deaths, %d of them after it was ready; %d cursors", len(b.records), deaths, ready, a.cursors)
}

// The daemon dies while it makes its ledger: whatever is there of it by then, the next one
// makes the rest and goes on.
func TestKillNineWhileTheLedgerIsMade(t *testing.T) {
	rnd := newRand(t)
	b := startBroker(t, rand.New(rand.NewPCG(rnd.Uint64(), 0))) //nolint:gosec // as above
	b.most = 0
	for range 100 {
		require.NoError(t, b.step(t.Context()))
	}
	rounds := 12
	if testing.Short() {
		rounds = 3
	}
	for range rounds {
		dir := filepath.Join(t.TempDir(), "ledger")
		for range 3 {
			start(t, dir, b.fake).liveFor(20*time.Millisecond + time.Duration(rnd.Int64N(int64(130*time.Millisecond))))
		}
		require.Zero(t, start(t, dir, b.fake).ready().stop())
		auditLedger(t, b, dir)
	}
}
