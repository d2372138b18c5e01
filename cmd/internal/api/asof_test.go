package api_test

import (
	"encoding/json"
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/cmd/internal/api/apitest"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// PRJ-07: capture began at 01:00 and found one commit, made at 00:30; the offset is deleted at
// 01:40 and committed again at 02:00. Before the first row nothing is known, which is neither
// none nor 0; after it every answer is exact.
func TestPRJ07OutsideKnownHistoryIsUnknownAndNotNone(t *testing.T) {
	d := start(t, nil)
	s := apitest.Begin(t, d.ledger, "2026-11-30T01:00:00Z")
	s.Began()
	s.At("2026-11-30T00:30:00Z").Commit("g", "t", "", 500)
	s.At("2026-11-30T01:40:00Z").Delete("g", "t", 1, ledger.CauseDeleted)
	s.At("2026-11-30T02:00:00Z").Commit("g", "t", "", 510)
	s.At("2026-11-30T03:00:00Z").Cursor()
	for at, want := range map[string]api.OffsetRow{
		"00:29:59Z": {Known: "unknown", Why: "before history"},
		"00:30:00Z": {Known: "exact", CommittedOffset: ptr(int64(500))},
		"01:00:00Z": {Known: "exact", CommittedOffset: ptr(int64(500))},
		"01:39:59Z": {Known: "exact", CommittedOffset: ptr(int64(500))},
		"01:40:00Z": {Known: "none"},
		"01:59:59Z": {Known: "none"},
		"02:00:00Z": {Known: "exact", CommittedOffset: ptr(int64(510))},
		"03:00:01Z": {Known: "stale", CommittedOffset: ptr(int64(510))},
	} {
		g, err := d.Group(t.Context(), api.Query{Group: ptr("g"), At: at})
		require.NoError(t, err)
		require.Len(t, g.Rows, 1, at)
		row := g.Rows[0]
		require.Equal(t, want, api.OffsetRow{Known: row.Known, Why: row.Why, CommittedOffset: row.CommittedOffset}, at)
		require.Equal(t, want.Known == "none", row.DeletedAt.Known(), at)
		require.Equal(t, want.Known == "stale", row.KnownUntil.Known(), at)
		require.Equal(t, want.Known == "unknown", g.Known == "unknown", at)
	}
	resp, body := d.get(t, "/api/v1/group?group=g&at=04:00Z&at=05:00Z")
	requireProblem(t, resp, body, http.StatusBadRequest, api.CodeBadParameter)
}

// PRJ-09: one commit time lies in 2099, one is the largest number there is. Neither hides the
// commit after it, and neither keeps the answer from being JSON.
func TestPRJ09AbsurdCommitTimesBreakNothing(t *testing.T) {
	d := start(t, nil)
	s := apitest.Begin(t, d.ledger, "2026-11-30T02:00:00Z")
	s.Cursor()
	commit := func(at int64, commitTime ledger.Time) {
		s.Append(ledger.Event{
			Kind: ledger.KindCommitted, Group: "g", Source: ledger.Source{Kind: ledger.SourceTail, Partition: apitest.Line, Offset: at},
			Offsets: []ledger.Offset{{
				Topic: "t", At: at, SourceOffset: at, CommitTime: commitTime, Effective: ledger.AtTime(nightEnds.Add(-time.Hour)),
			}},
		})
	}
	s.At("2026-11-30T02:12:40Z")
	commit(12, ledger.AtMillis(4070908800000))
	commit(13, ledger.AtMillis(math.MaxInt64))
	_, body := d.get(t, "/api/v1/group?group=g")
	require.True(t, json.Valid([]byte(body)))
	require.Contains(t, body, `"committed_offset":13`)
	require.Contains(t, body, `"commit_time":9223372036854775807`)
	g, err := d.Group(t.Context(), api.Query{Group: ptr("g")})
	require.NoError(t, err)
	require.Equal(t, "9223372036854775807ms", g.Rows[0].CommitTime.String())
	_, body = d.get(t, "/api/v1/history?group=g")
	require.Contains(t, body, `"commit_time":"2099-01-01T00:00:00.000Z"`)
}

// An answer by sequence is exact if capture was close to the present when it stored it, or if
// nothing else is recorded of the group until then.
func TestBySequence(t *testing.T) {
	d := start(t, func(c *api.Config) { c.Now = time.Now })
	s := apitest.Begin(t, d.ledger, apitest.NightBegins)
	s.AtTime(time.Now().Add(-time.Hour)).Cursor()
	late := s.Commit("g", "t", "", 1)
	s.AtTime(time.Now().Add(-50*time.Minute)).Commit("g", "t", "", 2)
	prompt := s.AtTime(time.Now()).Commit("g", "t", "", 3)
	s.Commit("g", "t", "", 4)
	for seq, known := range map[uint64]string{late: "stale", prompt: "exact"} {
		at := ledgerPoint(seq)
		g, err := d.Group(t.Context(), api.Query{Group: ptr("g"), At: at})
		require.NoError(t, err)
		require.Equal(t, seq, g.Seq)
		require.Equal(t, known, g.Rows[0].Known)
		require.Equal(t, int64(seq-1), *g.Rows[0].CommittedOffset)
	}
	g, err := d.Group(t.Context(), api.Query{Group: ptr("g"), At: "appended:0s"})
	require.NoError(t, err)
	require.Equal(t, int64(4), *g.Rows[0].CommittedOffset)
}

// A topic's partitions that the group has committed nothing for are seen to have nothing.
func TestPRJ03PartitionsWithoutACommitAreListed(t *testing.T) {
	d := start(t, nil)
	s := apitest.Begin(t, d.ledger, apitest.NightBegins)
	s.Cursor()
	s.Topic("t", 3)
	s.Watermarks("t", 0, 2034, 1234234, 700)
	s.Commit("g", "t", "", 2033)
	g, err := d.Group(t.Context(), api.Query{Group: ptr("g")})
	require.NoError(t, err)
	require.Len(t, g.Rows, 3)
	require.Equal(t, int64(1), *g.TotalLag)
	require.Zero(t, g.Unknown)
	for _, row := range g.Rows[1:] {
		require.Equal(t, "none", row.Known)
		require.Nil(t, row.Lag)
		require.Nil(t, row.CommittedOffset)
		require.NotNil(t, row.LogEndOffset)
	}
}

// What a transaction has not decided yet stands beside the answer, and is never the answer.
func TestAPendingOffsetStandsBesideTheCommittedOne(t *testing.T) {
	d := start(t, nil)
	s := apitest.Begin(t, d.ledger, apitest.NightBegins)
	s.Cursor()
	s.Commit("g", "t", "", 100)
	since := ledger.AtTime(nightEnds.Add(-time.Minute))
	s.At("2026-11-30T03:12:00Z").Append(ledger.Event{
		Kind: ledger.KindCursor, Source: ledger.Source{Kind: ledger.SourceTail},
		Cursor: &ledger.Cursor{Shard: ledger.CursorShardAll, TopicID: apitest.SourceTopic, Complete: true, Lines: []ledger.SourceLine{{
			Partition: apitest.Line, Next: 50, CompleteThrough: since, MaxEffective: since,
			Open: []ledger.OpenTransaction{{ProducerID: 9, First: 40, Since: since, Rows: []ledger.PendingOffset{
				{Group: "g", Topic: "t", At: 110, Position: 41}, {Group: "g", Topic: "t", Partition: 1, At: 7, Position: 42},
				{Group: "new", Topic: "t", At: 5, Position: 43},
			}}},
		}}},
	})
	g, err := d.Group(t.Context(), api.Query{Group: ptr("g")})
	require.NoError(t, err)
	require.Len(t, g.Rows, 2)
	require.Equal(t, int64(100), *g.Rows[0].CommittedOffset)
	require.Equal(t, "exact", g.Rows[0].Known)
	require.Equal(t, &api.Pending{Offset: 110, Since: api.Time{Time: since}}, g.Rows[0].Pending)
	require.Nil(t, g.Rows[1].CommittedOffset)
	require.Equal(t, "unknown", g.Rows[1].Known)
	require.Equal(t, "only pending", g.Rows[1].Why)

	// A group that only an undecided transaction has named is there, with nothing committed.
	g, err = d.Group(t.Context(), api.Query{Group: ptr("new")})
	require.NoError(t, err)
	require.Len(t, g.Rows, 1)
	require.Nil(t, g.Rows[0].CommittedOffset)
}

// Between the last row before a gap and the first one after it, what a partition had is not
// known; other partitions are untouched.
func TestInsideAGapAPartitionIsUnknown(t *testing.T) {
	d := start(t, nil)
	s := apitest.Begin(t, d.ledger, "2026-11-30T01:00:00Z")
	s.Cursor()
	s.At("2026-11-30T01:10:00Z").Commit("g", "t", "", 10, 20)
	s.At("2026-11-30T02:00:00Z").Append(ledger.Event{
		Kind: ledger.KindGap, Group: "g", Source: ledger.Source{Kind: ledger.SourceTail}, Cause: ledger.CauseCompacted,
		Gap: &ledger.Gap{
			OfGroup: true, SourcePartition: apitest.Line, First: 4, Last: 9,
			From: ledger.AtTime(nightEnds.Add(-122*time.Minute - 40*time.Second)), To: ledger.AtTime(nightEnds.Add(-72*time.Minute - 40*time.Second)),
		},
		Offsets: []ledger.Offset{{Topic: "t"}},
	})
	s.Commit("g", "t", "", 15)
	s.Cursor()
	for at, want := range map[string]string{"01:09Z": "", "01:10Z": "exact", "01:30Z": "unknown", "02:00Z": "exact"} {
		g, err := d.Group(t.Context(), api.Query{Group: ptr("g"), At: at})
		require.NoError(t, err)
		if want == "" {
			require.Empty(t, g.Rows)
			continue
		}
		require.Equal(t, want, g.Rows[0].Known, at)
		require.Equal(t, "exact", g.Rows[1].Known, at)
		if want == "unknown" {
			require.Equal(t, "gap", g.Rows[0].Why)
		}
	}
	h, err := d.History(t.Context(), api.Query{Group: ptr("g")})
	require.NoError(t, err)
	require.False(t, h.Coverage.Complete)
	require.Len(t, h.Coverage.Gaps, 1)
	require.Equal(t, api.Text("g"), *h.Coverage.Gaps[0].Group)
	require.Equal(t, "history may be missing: compacted", h.Rows[2].Note)

	// After the gap the history is complete again.
	h, err = d.History(t.Context(), api.Query{Group: ptr("g"), Since: "01:59Z", Until: "02:00Z"})
	require.NoError(t, err)
	require.Len(t, h.Coverage.Gaps, 1)
	h, err = d.History(t.Context(), api.Query{Group: ptr("g"), Since: "01:01Z", Until: "01:05Z"})
	require.NoError(t, err)
	require.True(t, h.Coverage.Complete)
	require.Empty(t, h.Coverage.Gaps)
}

// A polled offset came true at some moment between two looks.
func TestAPolledOffsetIsKnownToAnInterval(t *testing.T) {
	d := start(t, nil)
	s := apitest.Begin(t, d.ledger, "2026-11-30T01:00:00Z")
	poll := func(at, before string, offset int64) {
		s.At(before)
		notBefore := s.Now()
		s.At(at).Append(ledger.Event{
			Kind: ledger.KindCommitted, Group: "g", Source: ledger.Source{Kind: ledger.SourcePoll}, NotBefore: notBefore,
			Offsets: []ledger.Offset{{Topic: "t", At: offset, Effective: s.Now()}},
		})
	}
	poll("2026-11-30T01:00:10Z", "2026-11-30T01:00:00Z", 1)
	poll("2026-11-30T01:00:20Z", "2026-11-30T01:00:10Z", 2)
	g, err := d.Group(t.Context(), api.Query{Group: ptr("g")})
	require.NoError(t, err)
	row := g.Rows[0]
	require.Equal(t, "interval", row.Known)
	require.Equal(t, "2026-11-30T01:00:10.000Z", row.NotBefore.String())
	require.Equal(t, "2026-11-30T01:00:20.000Z", row.NotAfter.String())
	require.False(t, row.CommitTime.Known())
	require.Equal(t, "poll", g.Coverage.Source)
}

// A question that comes while the ledger is still being read says how far that is.
func TestWhileTheLedgerIsBeingReadThereIsNoAnswerYet(t *testing.T) {
	d := start(t, func(c *api.Config) { c.View = projection.NewView() })
	apitest.Begin(t, d.ledger, apitest.NightBegins).Cursor()
	resp, body := d.get(t, "/api/v1/groups")
	p := requireProblem(t, resp, body, http.StatusServiceUnavailable, api.CodeCatchingUp)
	require.Equal(t, &api.Progress{Seq: 0, Last: 1}, p.Progress)
}
