package commands_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/commands"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/ledgertest"
)

// Two managers of one group: the one that came later writes, and the other one stops.
func TestTheFormerOwnerStops(t *testing.T) {
	log := ledgertest.New(t)
	first := newManager(t, log, config())
	require.NoError(t, first.UpdateOffset("orders", 0, 5))
	_, err := first.Commit(t.Context())
	require.NoError(t, err)
	require.NoError(t, first.UpdateOffset("orders", 0, 6))

	second := newManager(t, log, config())
	n, err := second.Restore(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, int64(5), offset(t, second, "orders", 0))

	_, err = first.Commit(t.Context())
	require.ErrorIs(t, err, ledger.ErrConflict)
	var conflict *ledger.ConflictError
	require.ErrorAs(t, err, &conflict)
	require.Equal(t, "ol.prod.g.billing.claim", conflict.Filter)
	for what, call := range map[string]func() error{
		"update":     func() error { return first.UpdateOffset("orders", 0, 7) },
		"commit":     func() error { _, err := first.Commit(t.Context()); return err },
		"restore":    func() error { _, err := first.Restore(t.Context()); return err },
		"clear":      func() error { return first.Clear(t.Context()) },
		"checkpoint": func() error { _, err := first.Checkpoint(t.Context(), "x"); return err },
		"reset": func() error {
			_, err := first.ResetOffset(t.Context(), "orders", 0, commands.Specific(0))
			return err
		},
		"run":   func() error { return first.Run(t.Context()) },
		"close": func() error { return first.Close(t.Context()) },
	} {
		require.ErrorIs(t, call(), ledger.ErrConflict, what)
	}
	require.Equal(t, int64(5), offset(t, first, "orders", 0), "what it knows can still be read")

	require.NoError(t, second.UpdateOffset("orders", 0, 9))
	_, err = second.Commit(t.Context())
	require.NoError(t, err)
	require.Len(t, events(t, log, ledger.KindCommitted), 2)
	claims := events(t, log, ledger.KindClaim)
	require.Len(t, claims, 2)
	require.Equal(t, &ledger.Claim{Instance: second.Instance(), Previous: first.Instance()}, claims[1].Event.Claim)
}

// Groups and clusters do not get in each other's way, and neither does what others write of a
// group.
func TestOnlyAClaimFences(t *testing.T) {
	log := ledgertest.New(t)
	m := newManager(t, log, config())
	other := config()
	other.Group = "billing.claim"
	newManager(t, log, other)
	other = config()
	other.Cluster = "test"
	newManager(t, log, other)
	now := ledger.AtMillis(1_764_500_000_000)
	_, err := log.Append(t.Context(), []ledger.Event{{
		Kind: ledger.KindCommitted, Cluster: "prod", Group: "billing", Time: now, Source: ledger.Source{Kind: ledger.SourceTail},
		Offsets: []ledger.Offset{{Topic: "orders", At: 3, Effective: now}},
	}})
	require.NoError(t, err)
	require.NoError(t, m.UpdateOffset("orders", 0, 5))
	_, err = m.Commit(t.Context())
	require.NoError(t, err)
}

// Six managers are made and commit at the same time. Whoever claimed last is the only one that
// can go on, and every commit in the log stands between the claim of its manager and the next.
func TestOneOfManyWrites(t *testing.T) {
	log := ledgertest.New(t)
	managers := make([]*commands.Manager, 6)
	var all sync.WaitGroup
	for i := range managers {
		all.Go(func() {
			m, err := commands.NewManager(t.Context(), log, config())
			if err != nil {
				t.Error(err)
				return
			}
			managers[i] = m
			for at := int64(1); at <= 20; at++ {
				if m.UpdateOffset("orders", int32(i), at) != nil {
					return
				}
				if _, err := m.Commit(t.Context()); err != nil {
					require.ErrorIs(t, err, ledger.ErrConflict)
					return
				}
			}
		})
	}
	all.Wait()
	owner, commits := "", 0
	for _, rec := range events(t, log, ledger.KindClaim, ledger.KindCommitted) {
		if rec.Event.Kind == ledger.KindClaim {
			owner = rec.Event.Claim.Instance
			continue
		}
		require.Equal(t, owner, rec.Event.Source.Instance, "sequence %d", rec.Seq)
		commits++
	}
	require.GreaterOrEqual(t, commits, 20)
	alive := 0
	for _, m := range managers {
		if err := m.UpdateOffset("orders", 0, 100); err == nil {
			if _, err = m.Commit(t.Context()); err == nil {
				alive++
				require.Equal(t, owner, m.Instance())
			}
		}
	}
	require.Equal(t, 1, alive)
}

// The answer to a claim is lost: the manager is the owner all the same, and once.
func TestALostAnswerToAClaim(t *testing.T) {
	log := newFaulty(t)
	log.FailAfter(errAway)
	m := newManager(t, log, config())
	require.NoError(t, m.UpdateOffset("orders", 0, 5))
	_, err := m.Commit(t.Context())
	require.NoError(t, err)
	require.Len(t, events(t, log, ledger.KindClaim), 1)
}
