package api_test

import (
	"context"
	"iter"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/cmd/internal/api/apitest"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/replay"
)

// counted is a log that counts how often it is read, and that can be away.
type counted struct {
	api.Log
	reads *atomic.Int64
	away  *atomic.Bool
}

func (c counted) Read(ctx context.Context, from, to uint64, f ledger.Filter) iter.Seq2[ledger.Record, error] {
	c.reads.Add(1)
	if c.away.Load() {
		return func(yield func(ledger.Record, error) bool) { yield(ledger.Record{}, api.ErrAway) }
	}
	return c.Log.Read(ctx, from, to, f)
}

// However many plans there are, the log is read as often for the list of them; and while it cannot be
// read, that is the answer, and no list with a plan in it that cannot be trusted.
func TestPlansAreListedInFewReads(t *testing.T) {
	var reads atomic.Int64
	var away atomic.Bool
	d := start(t, func(c *api.Config) {
		log := c.Log.(replay.Log)
		c.Append = func(ctx context.Context, events []ledger.Event) error {
			_, err := log.Append(ctx, events)
			return err
		}
		c.Log = counted{c.Log, &reads, &away}
	})
	apitest.Night(t, d.ledger)
	list := func(want int) int64 {
		before := reads.Load()
		answer, err := d.Plans(t.Context(), api.Query{})
		require.NoError(t, err)
		require.Len(t, answer.Rows, want)
		return reads.Load() - before
	}
	var took [2]int64
	for i := range took {
		for range 10 {
			_, err := d.Plan(t.Context(), api.PlanRequest{Command: replay.CommandRestore, Incident: "i19", Actor: "kim"})
			require.NoError(t, err)
		}
		took[i] = list(10 * (i + 1))
	}
	require.Equal(t, took[0], took[1])

	away.Store(true)
	for group, incident := range map[string]bool{"billing-v2": false, "fraud": true} {
		g, err := d.Group(t.Context(), api.Query{Group: &group})
		require.NoError(t, err, "what is folded is told: %s", group)
		require.Equal(t, incident, g.LastIncident != nil)
	}
	resp, body := d.get(t, "/api/v1/plans")
	requireProblem(t, resp, body, http.StatusServiceUnavailable, api.CodeUnhealthy)
}

// A restore was undone, and then the undo: what it did stands again, and is told as before.
func TestARestoreWhoseUndoWasUndoneStands(t *testing.T) {
	d := writer(t)
	p, err := d.Plan(t.Context(), api.PlanRequest{Command: replay.CommandRestore, Incident: "i19", Actor: "kim"})
	require.NoError(t, err)
	undoneBy := func() (out []string) {
		answer, err := d.Restores(t.Context(), api.Query{})
		require.NoError(t, err)
		for _, r := range answer.Rows {
			by := ""
			if r.UndoneBy != nil {
				by = *r.UndoneBy
			}
			out = append(out, by)
		}
		return out
	}
	d.carriedOut(t, "r1", p, "", true)
	require.Equal(t, []string{""}, undoneBy())
	d.carriedOut(t, "r2", p, "r1", true)
	require.Equal(t, []string{"", "r2"}, undoneBy(), "the newest first")
	d.carriedOut(t, "r3", p, "r2", true)
	require.Equal(t, []string{"", "r3", ""}, undoneBy())
}
