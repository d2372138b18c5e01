package api_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/cmd/internal/api/apitest"
)

// How long what a group has to read next has been waiting: now, then, not known, and not at all.
func TestTimeLag(t *testing.T) {
	d := start(t, nil)
	s := apitest.Begin(t, d.ledger, apitest.NightBegins)
	s.Cursor()
	s.Topic("t", 3)
	s.At("2026-11-30T02:00:00Z").Watermarks("t", 0, 100, 50)
	s.At("2026-11-30T02:00:30Z").Watermarks("t", 0, 200, 50)
	s.At("2026-11-30T02:01:00Z").Watermarks("t", 0, 300, 50)
	s.At("2026-11-30T02:01:10Z").Commit("g", "t", "", 100, 50, 7)
	early := s.Commit("g", "t", "", 20, 50, 7)
	s.At("2026-11-30T02:02:00Z").Commit("g", "t", "", 200, 50, 7)
	s.At("2026-11-30T02:10:00Z").Cursor()

	rows := func(at string) []api.OffsetRow {
		g, err := d.Group(t.Context(), api.Query{Group: ptr("g"), At: at, TimeLag: true})
		require.NoError(t, err)
		require.Len(t, g.Rows, 3)
		return g.Rows
	}
	then := rows("2026-11-30T02:03:00Z")
	require.InDelta(t, 120, *then[0].TimeLag, 0, "since 02:01:00, which found 300")
	require.Equal(t, api.TimeLagAge, then[0].TimeLagKind)
	require.Zero(t, *then[1].TimeLag, "it has read all")
	require.Equal(t, api.TimeLagAge, then[1].TimeLagKind)
	require.Nil(t, then[2].TimeLag)
	require.Empty(t, then[2].TimeLagKind)
	require.Equal(t, "the log was not observed", then[2].TimeLagWhy)

	bySeq := rows(ledgerPoint(early))
	require.Equal(t, api.TimeLagAtLeast, bySeq[0].TimeLagKind)

	// It was there when the log was first observed; now; and where nothing is known of the moment
	// but what was before, as of when it is known to be true.
	first := rows("2026-11-30T02:01:20Z")
	require.InDelta(t, 80, *first[0].TimeLag, 0)
	require.Equal(t, api.TimeLagAtLeast, first[0].TimeLagKind)
	require.InDelta(t, nightEnds.Sub(time.Date(2026, 11, 30, 2, 1, 0, 0, time.UTC)).Seconds(), *rows("")[0].TimeLag, 0)
	stale := rows("2026-11-30T02:30:00Z")
	require.Equal(t, "stale", stale[0].Known)
	require.InDelta(t, 9*60, *stale[0].TimeLag, 0, "up to 02:10:00")
	before := rows("2026-11-30T00:30:00Z")
	require.Nil(t, before[0].TimeLag)
	require.Equal(t, "before history", before[0].TimeLagWhy)

	// Only where it is asked for.
	g, err := d.Group(t.Context(), api.Query{Group: ptr("g")})
	require.NoError(t, err)
	require.Nil(t, g.Rows[0].TimeLag)
	require.Empty(t, g.Rows[2].TimeLagWhy)
}

// PRJ-15: whoever reads what was there before the log was first observed is told another figure, under
// its own name: nobody can say how old the next record is, but how long the rest takes at the pace
// of before. One that does not read is told the least age.
func TestPRJ15TheTimeLagSaysWhichItIs(t *testing.T) {
	d := start(t, nil)
	s := apitest.Begin(t, d.ledger, apitest.NightBegins)
	s.Cursor()
	s.Topic("t", 1)
	s.At("2026-11-30T02:00:00Z").Watermarks("t", 0, 1000)
	for _, group := range []string{"reads", "waits"} {
		s.At("2026-11-30T02:00:10Z").Members(group, 1, "c")
		s.Commit(group, "t", "c-id", 100)
	}
	s.At("2026-11-30T02:03:10Z").Commit("reads", "t", "c-id", 400)
	s.At("2026-11-30T02:10:00Z").Cursor()

	row := func(group, at string) api.OffsetRow {
		g, err := d.Group(t.Context(), api.Query{Group: &group, At: at, TimeLag: true})
		require.NoError(t, err)
		require.Empty(t, g.Rows[0].TimeLagWhy)
		return g.Rows[0]
	}
	// 300 in five minutes, and 600 are left.
	for _, at := range []string{"2026-11-30T02:04:00Z", "2026-11-30T02:05:00Z"} {
		reads, waits := row("reads", at), row("waits", at)
		require.Equal(t, api.TimeLagDrain, reads.TimeLagKind)
		require.InDelta(t, 600, *reads.TimeLag, 0.001)
		require.Equal(t, api.TimeLagAtLeast, waits.TimeLagKind)
	}
	require.Equal(t, api.TimeLagAtLeast, row("reads", "2026-11-30T02:09:00Z").TimeLagKind, "it has stopped")
}
