package commands_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/offsetledger/offsetledger/commands"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/ledgertest"
	"github.com/offsetledger/offsetledger/projection"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("COMMANDS_TEST_CONSUME_IN"); dir != "" {
		fmt.Fprintln(os.Stderr, consumeUntilKilled(dir))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// config is that of most tests: nothing happens that the test does not do.
func config() commands.Config {
	return commands.Config{Cluster: "prod", Group: "billing", Strategy: commands.Manual()}
}

func newManager(t *testing.T, log commands.Log, cfg commands.Config) *commands.Manager {
	t.Helper()
	m, err := commands.NewManager(t.Context(), log, cfg)
	require.NoError(t, err)
	return m
}

// run runs m until the test ends, or the returned function is called, which returns what Run did.
func run(t *testing.T, m *commands.Manager) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var err error
	var running sync.WaitGroup
	running.Go(func() { err = m.Run(ctx) })
	stop = sync.OnceValue(func() error {
		cancel()
		running.Wait()
		return err
	})
	t.Cleanup(func() { _ = stop() })
	return stop
}

// events are those of one kind in the ledger, or of all kinds but claims.
func events(t *testing.T, log commands.Log, kinds ...ledger.Kind) []ledger.Record {
	t.Helper()
	var out []ledger.Record
	for rec, err := range log.Read(context.Background(), 1, 0, ledger.Filter{}) {
		require.NoError(t, err)
		wanted := len(kinds) == 0 && rec.Event.Kind != ledger.KindClaim
		for _, k := range kinds {
			wanted = wanted || rec.Event.Kind == k
		}
		if wanted {
			out = append(out, rec.Clone())
		}
	}
	return out
}

// ats are the offsets of rows.
func ats(rows []ledger.Offset) []int64 {
	var out []int64
	for _, r := range rows {
		out = append(out, r.At)
	}
	return out
}

// recorded are all updates of a partition that are in the ledger, in log order.
func recorded(t *testing.T, log commands.Log, topic string, partition int32) []int64 {
	t.Helper()
	var out []int64
	for _, rec := range events(t, log, ledger.KindUpdated, ledger.KindCommitted) {
		rows := rec.Event.Updates
		if rec.Event.Kind == ledger.KindUpdated {
			rows = rec.Event.Offsets
		}
		for _, r := range rows {
			if r.Topic == topic && r.Partition == partition {
				out = append(out, r.At)
			}
		}
	}
	return out
}

func offset(t *testing.T, m *commands.Manager, topic string, partition int32) int64 {
	t.Helper()
	at, ok := m.Offset(topic, partition)
	require.True(t, ok, "nothing is committed")
	return at
}

func tp(topic string, partition int32) ledger.TopicPartition {
	return ledger.TopicPartition{Topic: topic, Partition: partition}
}

var errAway = errors.New("the server does not answer")

// gate is a log that can be away: then it takes nothing and answers nothing.
type gate struct {
	commands.Log
	away    atomic.Bool
	appends atomic.Int64
}

func newGate(t *testing.T) *gate { return &gate{Log: ledgertest.New(t)} }

func (g *gate) Append(ctx context.Context, events []ledger.Event, expects ...ledger.Expect) (ledger.Receipt, error) {
	g.appends.Add(1)
	if g.away.Load() {
		return ledger.Receipt{}, errAway
	}
	return g.Log.Append(ctx, events, expects...)
}

func (g *gate) Read(ctx context.Context, from, to uint64, f ledger.Filter) iter.Seq2[ledger.Record, error] {
	if g.away.Load() {
		return func(yield func(ledger.Record, error) bool) { yield(ledger.Record{}, errAway) }
	}
	return g.Log.Read(ctx, from, to, f)
}

func (g *gate) LastOf(ctx context.Context, filter string) (uint64, error) {
	if g.away.Load() {
		return 0, errAway
	}
	return g.Log.LastOf(ctx, filter)
}

// faulty is a log whose appends fail on order, before or after storing.
type faulty struct {
	*ledgertest.Ledger
	*ledgertest.Faulty
}

func newFaulty(t *testing.T) faulty {
	l := ledgertest.New(t)
	return faulty{l, ledgertest.NewFaulty(l)}
}

func (f faulty) Append(ctx context.Context, events []ledger.Event, expects ...ledger.Expect) (ledger.Receipt, error) {
	return f.Faulty.Append(ctx, events, expects...)
}

// fakeClock is a clock that a test sets.
type fakeClock struct{ ms atomic.Int64 }

func newClock() *fakeClock {
	c := &fakeClock{}
	c.ms.Store(1_764_500_000_000)
	return c
}

func (c *fakeClock) now() time.Time          { return time.UnixMilli(c.ms.Load()) }
func (c *fakeClock) move(d time.Duration)    { c.ms.Add(d.Milliseconds()) }
func (c *fakeClock) in(cfg *commands.Config) { cfg.Clock = c.now }

// plain takes from infos what a consumer starts with.
func plain(infos map[ledger.TopicPartition]projection.OffsetInfo) map[ledger.TopicPartition]int64 {
	out := map[ledger.TopicPartition]int64{}
	for k, i := range infos {
		out[k] = i.Offset
	}
	return out
}
