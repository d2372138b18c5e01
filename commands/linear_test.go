package commands_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/commands"
	"github.com/offsetledger/offsetledger/ledger/ledgertest"
)

// call is one call as one partition sees it. A commit is two: it takes what is pending, and
// later makes it the committed offset.
type call struct {
	what   string // update, take, land, reset, clear, offset, pending
	at     int64
	commit int // of take and land
}

// answer is what came back: nothing is none.
type answer struct {
	at     int64
	behind bool
}

const none = -1

// partition is the state of one partition, as documented.
type partition struct {
	committed, pending, inflight int64
	commit                       int // under way
}

// step is the rule of each call: whether it can have been answered so, and what is true after it.
func (p partition) step(c call, a answer) (bool, partition) {
	floor := max(p.committed, p.inflight)
	switch c.what {
	case "update":
		if a.behind {
			return c.at < floor, p
		}
		if c.at < floor {
			return false, p
		}
		p.pending = c.at
	case "take":
		if p.commit != 0 {
			return false, p
		}
		p.commit, p.inflight, p.pending = c.commit, p.pending, none
	case "land":
		if p.commit != c.commit {
			return false, p
		}
		if p.inflight != none {
			p.committed = p.inflight
		}
		p.commit, p.inflight = 0, none
	case "reset":
		if p.commit != 0 {
			return false, p
		}
		p.committed, p.pending = c.at, none
	case "clear":
		if p.commit != 0 {
			return false, p
		}
		p.committed, p.pending = none, none
	case "offset":
		return a.at == p.committed, p
	case "pending":
		return a.at == max(p.pending, none) || p.pending == none && a.at == p.inflight, p
	}
	return true, p
}

var linear = porcupine.Model{
	Init: func() any { return partition{none, none, none, 0} },
	Step: func(state, input, output any) (bool, any) {
		return state.(partition).step(input.(call), output.(answer))
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%v -> %v", input, output) },
}

// history gathers what goroutines did, per partition.
type history struct {
	clock   atomic.Int64
	commits atomic.Int64

	mu  sync.Mutex
	ops map[int32][]porcupine.Operation
}

func (h *history) add(client int, p int32, began, ended int64, c call, a answer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops[p] = append(h.ops[p], porcupine.Operation{ClientId: client, Input: c, Output: a, Call: began, Return: ended})
}

// act does one thing to m, drawn at random, and notes it.
func (h *history) act(t *testing.T, m *commands.Manager, client, partitions int, rng *rand.Rand) {
	p := int32(rng.IntN(partitions))
	at := rng.Int64N(20)
	began := h.clock.Add(1)
	each := func(calls ...call) {
		ended := h.clock.Add(1)
		for p := range int32(partitions) {
			for i, c := range calls {
				h.add(client+100*i, p, began, ended, c, answer{})
			}
		}
	}
	switch n := rng.IntN(40); {
	case n < 2:
		id := int(h.commits.Add(1))
		if _, err := m.Commit(t.Context()); err != nil {
			t.Error(err)
		}
		each(call{what: "take", commit: id}, call{what: "land", commit: id})
	case n < 3:
		if _, err := m.ResetOffset(t.Context(), "orders", p, commands.Specific(at)); err != nil {
			t.Error(err)
		}
		h.add(client, p, began, h.clock.Add(1), call{what: "reset", at: at}, answer{})
	case n == 3 && rng.IntN(3) == 0:
		if err := m.Clear(t.Context()); err != nil {
			t.Error(err)
		}
		each(call{what: "clear"})
	case n < 12:
		got, ok := m.Offset("orders", p)
		if !ok {
			got = none
		}
		h.add(client, p, began, h.clock.Add(1), call{what: "offset"}, answer{at: got})
	case n < 16:
		got := int64(none)
		if info, ok := m.Pending()[tp("orders", p)]; ok {
			got = info.Offset
		}
		h.add(client, p, began, h.clock.Add(1), call{what: "pending"}, answer{at: got})
	default:
		err := m.UpdateOffset("orders", p, at)
		if err != nil && !errors.Is(err, commands.ErrBehind) {
			t.Error(err)
		}
		h.add(client, p, began, h.clock.Add(1), call{what: "update", at: at}, answer{behind: err != nil})
	}
}

// Updates, commits, resets, clears and readings of several goroutines can be put into an order
// in which each was answered as it would have been alone. Then the ledger holds what is committed.
func TestConcurrentCallsAreLinearizable(t *testing.T) {
	const partitions, clients, calls = 2, 4, 120
	for round := range 5 {
		log := ledgertest.New(t)
		m := newManager(t, log, config())
		h := &history{ops: map[int32][]porcupine.Operation{}}
		var all sync.WaitGroup
		for client := range clients {
			all.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(round), uint64(client)))
				for range calls {
					h.act(t, m, client, partitions, rng)
				}
			})
		}
		all.Wait()
		for p, ops := range h.ops {
			result := porcupine.CheckOperationsTimeout(linear, ops, time.Minute)
			require.Equal(t, porcupine.Ok, result, "round %d, partition %d, %d calls", round, p, len(ops))
		}
		second := newManager(t, log, config())
		_, err := second.Restore(t.Context())
		require.NoError(t, err)
		require.Equal(t, m.Committed(), second.Committed())
	}
}
