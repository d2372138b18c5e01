package api_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/cmd/internal/api/apitest"
	"github.com/offsetledger/offsetledger/ledger"
)

// The group's own source partition was last read an hour ago; another one is at the present,
// and watermarks are observed. The answer by the sequence of such a record is as old as the
// group's partition, in its rows and as a whole.
func TestBySequenceTheRecordThatStandsThereSaysNothing(t *testing.T) {
	d := start(t, func(c *api.Config) { c.Now = time.Now })
	s := apitest.Begin(t, d.ledger, apitest.NightBegins)
	s.AtTime(time.Now().Add(-time.Hour)).Cursor()
	s.Commit("g", "t", "", 1)
	s.AtTime(time.Now())
	other := s.Append(ledger.Event{
		Kind: ledger.KindCommitted, Group: "other", Source: ledger.Source{Kind: ledger.SourceTail, Partition: apitest.Line + 1},
		Offsets: []ledger.Offset{{Topic: "t", At: 5, Effective: s.Now()}},
	})
	marks := s.Watermarks("t", 0, 10)
	for _, seq := range []uint64{other, marks} {
		g, err := d.Group(t.Context(), api.Query{Group: ptr("g"), At: ledgerPoint(seq)})
		require.NoError(t, err)
		require.Equal(t, "stale", g.Rows[0].Known)
		require.Equal(t, "stale", g.Known)
		g, err = d.Group(t.Context(), api.Query{Group: ptr("other"), At: ledgerPoint(seq)})
		require.NoError(t, err)
		require.Equal(t, "exact", g.Rows[0].Known)
		require.Equal(t, "exact", g.Known)
	}
	// That nothing of the group was missed shows when its own partition has been read on.
	s.Cursor()
	g, err := d.Group(t.Context(), api.Query{Group: ptr("g"), At: ledgerPoint(marks)})
	require.NoError(t, err)
	require.Equal(t, "exact", g.Rows[0].Known)
	require.Equal(t, "exact", g.Known)
}

// In a ledger that offset managers alone write there is nothing to wait for: the answer as a
// whole is as sure as each of its rows.
func TestALedgerOfManagersIsExactAsAWhole(t *testing.T) {
	d := start(t, func(c *api.Config) { c.Status, c.Now = nil, time.Now })
	s := apitest.Begin(t, d.ledger, apitest.NightBegins)
	seq := s.Append(ledger.Event{
		Kind: ledger.KindCommitted, Group: "g", Source: ledger.Source{Kind: ledger.SourceManager, Instance: "m1"},
		Offsets: []ledger.Offset{{Topic: "t", At: 5, Effective: s.Now()}},
	})
	for _, at := range []string{"", ledgerPoint(seq)} {
		g, err := d.Group(t.Context(), api.Query{Group: ptr("g"), At: at})
		require.NoError(t, err)
		require.Equal(t, "exact", g.Rows[0].Known)
		require.Equal(t, "exact", g.Known)
		require.True(t, g.Coverage.Complete)
		require.Equal(t, "manager", g.Coverage.Source)
	}
}
