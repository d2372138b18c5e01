package commands_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/offsetledger/offsetledger/commands"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/ledgertest"
)

// shaky is a log of which any call can fail, an append before it has stored or after.
type shaky struct {
	commands.Log
	mu   sync.Mutex
	draw func() fault
}

type fault int

const (
	fine fault = iota
	before
	after
)

func (s *shaky) next() fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draw == nil {
		return fine
	}
	return s.draw()
}

func (s *shaky) set(draw func() fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draw = draw
}

func (s *shaky) Append(ctx context.Context, events []ledger.Event, expects ...ledger.Expect) (ledger.Receipt, error) {
	f := s.next()
	if f == before {
		return ledger.Receipt{}, errAway
	}
	r, err := s.Log.Append(ctx, events, expects...)
	if f == after && err == nil {
		return ledger.Receipt{}, errAway
	}
	return r, err
}

func (s *shaky) Read(ctx context.Context, from, to uint64, f ledger.Filter) iter.Seq2[ledger.Record, error] {
	if s.next() != fine {
		return func(yield func(ledger.Record, error) bool) { yield(ledger.Record{}, errAway) }
	}
	return s.Log.Read(ctx, from, to, f)
}

func (s *shaky) LastOf(ctx context.Context, filter string) (uint64, error) {
	if s.next() != fine {
		return 0, errAway
	}
	return s.Log.LastOf(ctx, filter)
}

// Any call to the ledger can fail at any time, before or after it has stored. When the ledger is
// back, every update that was taken is in it once and in order, what is committed is what the
// ledger says, and the last thing committed of a partition is its last update.
func TestFaultsLoseAndRepeatNothing(t *testing.T) {
	t.Parallel() // it waits for the disk
	log := ledgertest.New(t)
	for name, kafka := range map[string]bool{"ledger alone": false, "with Kafka": true} {
		t.Run(name, func(t *testing.T) {
			group := 0
			rapid.Check(t, func(rt *rapid.T) {
				group++
				s := &shaky{Log: log}
				cfg := config()
				cfg.Group = fmt.Sprintf("%t-%d", kafka, group)
				cfg.LogWait = 20 * time.Millisecond
				if kafka {
					cfg.KafkaCommits, cfg.WhenLogAway = true, commands.Block
				}
				m := newManager(t, s, cfg)
				b := newBroker()
				m.Bind(b)
				rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
				often := rapid.IntRange(2, 10).Draw(rt, "often")
				s.set(func() fault {
					if rng.IntN(often) > 0 {
						return fine
					}
					return fault(1 + rng.IntN(2))
				})
				taken := map[int32][]int64{}
				at := int64(0)
				for range rapid.IntRange(1, 15).Draw(rt, "steps") {
					for range rapid.IntRange(0, 3).Draw(rt, "updates") {
						at++
						p := rapid.Int32Range(0, 2).Draw(rt, "partition")
						require.NoError(t, m.UpdateOffset("orders", p, at))
						taken[p] = append(taken[p], at)
					}
					if n, err := m.Commit(t.Context()); err == nil {
						require.Empty(t, m.Pending())
					} else if !kafka {
						require.Zero(t, n)
					}
				}
				s.set(nil)
				_, err := m.Commit(t.Context())
				require.NoError(t, err)
				require.NoError(t, m.Close(t.Context()))
				for p, all := range taken {
					require.Equal(t, all, recordedOf(t, log, cfg.Group, tp("orders", p)))
					require.Equal(t, all[len(all)-1], offset(t, m, "orders", p))
				}
				second := newManager(t, log, cfg)
				_, err = second.Restore(t.Context())
				require.NoError(t, err)
				require.Equal(t, plain(m.Committed()), plain(second.Committed()))
				requireCommitsAdvance(t, log, cfg.Group)
			})
		})
	}
}

// requireCommitsAdvance fails if the history says of a partition that it went back, or says one
// commit twice.
func requireCommitsAdvance(t *testing.T, log commands.Log, group string) {
	t.Helper()
	only := ledger.Filter{Subjects: []string{ledger.GroupSubject("prod", group, ledger.KindCommitted)}}
	last := map[ledger.TopicPartition]int64{}
	for rec, err := range log.Read(t.Context(), 1, 0, only) {
		require.NoError(t, err)
		for _, r := range rec.Event.Offsets {
			require.Greater(t, r.At, last[tp(r.Topic, r.Partition)])
			last[tp(r.Topic, r.Partition)] = r.At
		}
	}
}

// took is whether an update was taken: also when nobody runs Run yet, which is said beside it.
func took(err error) bool { return err == nil || errors.Is(err, commands.ErrNotRunning) }

// Workers update while the ledger fails at random and Run commits: nothing that was taken is
// lost or changes places.
func TestFaultsUnderLoad(t *testing.T) {
	log := &shaky{Log: ledgertest.New(t)}
	cfg := config()
	cfg.Strategy = commands.Periodic(2 * time.Millisecond)
	cfg.FlushEvery, cfg.LogWait, cfg.BufferLimit = time.Millisecond, 50*time.Millisecond, 4096
	m := newManager(t, log, cfg)
	run(t, m)
	log.set(func() fault {
		if rand.IntN(10) > 0 {
			return fine
		}
		return fault(1 + rand.IntN(2))
	})
	const partitions, updates = 3, 20_000
	var workers sync.WaitGroup
	for p := range int32(partitions) {
		workers.Go(func() {
			for at := int64(1); at <= updates; {
				if took(m.UpdateOffset("orders", p, at)) {
					at++ // or the ledger is away, and it is said again
				}
			}
		})
	}
	workers.Wait()
	log.set(nil)
	require.NoError(t, m.Close(t.Context()))
	var want []int64
	for at := int64(1); at <= updates; at++ {
		want = append(want, at)
	}
	for p := range int32(partitions) {
		require.Equal(t, int64(updates), offset(t, m, "orders", p))
		require.True(t, slices.Equal(want, recorded(t, log, "orders", p)), "partition %d", p)
	}
	requireCommitsAdvance(t, log, "billing")
}

// A manager in doubt about its commit is taken over: whatever became of that commit, the new
// owner restores what is in the ledger, and the former one cannot add to it any more.
func TestTakenOverInDoubt(t *testing.T) {
	for name, stored := range map[string]bool{"stored": true, "not stored": false} {
		t.Run(name, func(t *testing.T) {
			g := newGate(t)
			log := &vanishing{gate: g, stored: stored}
			cfg := config()
			cfg.LogWait = 10 * time.Millisecond
			m := newManager(t, log, cfg)
			require.NoError(t, m.UpdateOffset("orders", 0, 5))
			log.armed = true
			_, err := m.Commit(t.Context())
			require.ErrorIs(t, err, commands.ErrOutcomeUnknown)
			g.away.Store(false)

			second := newManager(t, log, cfg)
			n, err := second.Restore(t.Context())
			require.NoError(t, err)
			_, err = m.Commit(t.Context())
			require.ErrorIs(t, err, ledger.ErrConflict)
			if stored {
				require.Equal(t, 1, n)
				require.Equal(t, int64(5), offset(t, second, "orders", 0))
			} else {
				require.Zero(t, n)
				require.Len(t, m.Pending(), 1)
			}
			require.Equal(t, plain(m.Committed()), plain(second.Committed()))
		})
	}
}

// With commits to Kafka and Block a commit that is in Kafka and not in the ledger is said to be.
func TestBlockWithKafka(t *testing.T) {
	log := newGate(t)
	cfg := config()
	cfg.KafkaCommits, cfg.WhenLogAway, cfg.LogWait = true, commands.Block, 10*time.Millisecond
	m := newManager(t, log, cfg)
	b := newBroker()
	m.Bind(b)
	require.NoError(t, m.UpdateOffset("orders", 0, 5))
	log.away.Store(true)
	n, err := m.Commit(t.Context())
	require.ErrorIs(t, err, commands.ErrLogAway)
	require.Equal(t, 1, n)
	_, err = m.Commit(t.Context())
	require.ErrorIs(t, err, commands.ErrLogAway, "what came before has to be recorded first")
	require.Equal(t, 1, b.commits)
	log.away.Store(false)
	require.NoError(t, m.Close(t.Context()))
	require.Len(t, events(t, log, ledger.KindCommitted), 1)
	vanishing := &vanishing{gate: log}
	m = newManager(t, vanishing, cfg)
	m.Bind(b)
	require.NoError(t, m.UpdateOffset("orders", 0, 6))
	vanishing.armed = true
	n, err = m.Commit(t.Context())
	require.ErrorIs(t, err, commands.ErrLogAway)
	require.Equal(t, 1, n)
	require.Equal(t, int64(6), b.at(tp("orders", 0)))
	require.Equal(t, int64(6), offset(t, m, "orders", 0))
	log.away.Store(false)
	require.NoError(t, m.Close(t.Context()))
	commits := events(t, log, ledger.KindCommitted)
	require.Len(t, commits, 2)
	require.Equal(t, []int64{6}, ats(commits[1].Event.Offsets))
}

// What does not fit into one event or one message becomes several, and nothing is left out.
func TestLargeCommits(t *testing.T) {
	t.Parallel() // it waits for the disk
	log := ledgertest.New(t)
	m := newManager(t, log, config())
	const partitions = 40_000
	for p := range partitions {
		require.NoError(t, m.UpdateOffset(fmt.Sprint("orders-", p%20), int32(p/20), int64(p)))
	}
	n, err := m.Commit(t.Context())
	require.NoError(t, err)
	require.Equal(t, partitions, n)
	second := newManager(t, log, config())
	n, err = second.Restore(t.Context())
	require.NoError(t, err)
	require.Equal(t, partitions, n)
	require.Equal(t, plain(m.Committed()), plain(second.Committed()))
	c, err := second.Checkpoint(t.Context(), "large")
	require.NoError(t, err)
	require.Len(t, c.Offsets, partitions)
	require.NoError(t, second.Clear(t.Context()))
	require.Empty(t, second.Committed())
	n, err = second.RestoreCheckpoint(t.Context(), "large")
	require.NoError(t, err)
	require.Equal(t, partitions, n)
	require.Equal(t, plain(m.Committed()), plain(second.Committed()))

	cfg := config()
	cfg.Group = "chatty"
	m = newManager(t, log, cfg)
	text := func(i int64) string { return strings.Repeat(fmt.Sprint(i%10), 4096) }
	const chatty = 2500 // ten megabytes
	for p := range int64(chatty) {
		for at := range int64(3) {
			require.NoError(t, m.Update(commands.Update{Topic: "orders", Partition: int32(p), Offset: at, Metadata: text(p + at)}))
		}
	}
	n, err = m.Commit(t.Context())
	require.NoError(t, err)
	require.Equal(t, chatty, n)
	second = newManager(t, log, cfg)
	_, err = second.Restore(t.Context())
	require.NoError(t, err)
	require.Equal(t, m.Committed(), second.Committed())
	require.Equal(t, []int64{0, 1, 2}, recordedOf(t, log, "chatty", tp("orders", 17)))
	_, err = second.Checkpoint(t.Context(), "large")
	require.ErrorIs(t, err, ledger.ErrTooLarge)
}

// slow is a log with a slow disk.
type slow struct{ commands.Log }

func (s slow) Append(ctx context.Context, events []ledger.Event, expects ...ledger.Expect) (ledger.Receipt, error) {
	time.Sleep(40 * time.Millisecond)
	return s.Log.Append(ctx, events, expects...)
}

// Updates come faster than the ledger takes them, for as long as it takes: commits get through
// all the same, those of the strategy and those that are asked for.
func TestCommitsGetThroughUnderLoad(t *testing.T) {
	cfg := config()
	cfg.Strategy, cfg.FlushEvery = commands.Periodic(5*time.Millisecond), time.Millisecond
	cfg.BufferLimit = 200_000
	m := newManager(t, slow{ledgertest.New(t)}, cfg)
	stop := run(t, m)
	done := make(chan struct{})
	var workers sync.WaitGroup
	for p := range int32(2) {
		workers.Go(func() {
			for at := int64(1); ; at++ {
				select {
				case <-done:
					return
				default:
				}
				if err := m.UpdateOffset("orders", p, at); !took(err) {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 2 {
		before := m.Stats().SuccessfulCommits
		_, err := m.Commit(t.Context())
		require.NoError(t, err)
		require.Eventually(t, func() bool { return m.Stats().SuccessfulCommits > before }, soon, look)
	}
	close(done)
	workers.Wait()
	require.NoError(t, m.Close(t.Context()))
	require.NoError(t, stop())
}

// counting counts what is read of a log.
type counting struct {
	commands.Log
	read int
}

func (c *counting) Read(ctx context.Context, from, to uint64, f ledger.Filter) iter.Seq2[ledger.Record, error] {
	return func(yield func(ledger.Record, error) bool) {
		for rec, err := range c.Log.Read(ctx, from, to, f) {
			c.read++
			if !yield(rec, err) {
				return
			}
		}
	}
}

// The first event of a new member of a group with a long history gets no answer: to find out
// what became of it the history is not read.
func TestALongHistoryIsNotReadToFindOneEvent(t *testing.T) {
	log := newFaulty(t)
	old, b := withBroker(t, log)
	for at := int64(1); at <= 200; at++ {
		require.NoError(t, old.UpdateOffset("orders", 0, at))
		_, err := old.Commit(t.Context())
		require.NoError(t, err)
	}
	c := &counting{Log: log}
	m, _ := withBroker(t, c)
	m.Bind(b)
	require.NoError(t, m.UpdateOffset("orders", 0, 201))
	log.FailAfter(errAway)
	_, err := m.Commit(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, c.read)
	require.Len(t, events(t, log, ledger.KindCommitted), 201)
}
