package api_test

import (
	"encoding/json"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/cmd/internal/api/apitest"
	"github.com/offsetledger/offsetledger/ledger"
)

// ask asks a path with the tags of answers that are there already, and returns the status, the
// tag and the body.
func (d *daemon) ask(t *testing.T, path string, tags ...string) (status int, tag, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.URL+path, nil)
	require.NoError(t, err)
	req.Header["If-None-Match"] = tags
	resp, err := d.Transport.RoundTrip(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, resp.Header.Get("ETag"), string(b)
}

// Whoever has an answer already is told so, for as long as asking again would bring the same
// but for the clock.
func TestAnAnswerThatIsThereIsNotSentAgain(t *testing.T) {
	var now atomic.Int64
	d := start(t, func(c *api.Config) {
		c.Now = func() time.Time { return nightEnds.Add(time.Duration(now.Add(1)) * time.Millisecond) }
		c.Status = func() api.Status {
			return api.Status{Capturing: true, Ready: true, Behind: time.Duration(now.Load()) * time.Millisecond, BehindKnown: true}
		}
	})
	apitest.Night(t, d.ledger)
	for _, path := range []string{
		"/api/v1/groups", "/api/v1/group?group=billing", "/api/v1/group?group=billing&at=02:46Z", "/api/v1/group?group=billing&at=seq:18",
		"/api/v1/history?limit=3", "/api/v1/history", "/api/v1/events?group=billing", "/api/v1/incidents", "/api/v1/incidents/show?id=i19",
	} {
		status, tag, body := d.ask(t, path)
		require.Equal(t, http.StatusOK, status, path)
		require.Regexp(t, `^W/"[\w-]{24}"$`, tag, path)
		for _, known := range [][]string{{tag}, {`"x", ` + tag + `, W/"y"`}, {`"x"`, tag[2:]}, {"*"}} {
			again, same, nothing := d.ask(t, path, known...)
			require.Equal(t, http.StatusNotModified, again, "%s %s", path, known)
			require.Equal(t, tag, same)
			require.Empty(t, nothing)
		}
		status, _, again := d.ask(t, path, `W/"another"`)
		require.Equal(t, http.StatusOK, status)
		require.NotEqual(t, body, again, "the clock has gone on, and the answer says so")
	}
	_, before, _ := d.ask(t, "/api/v1/group?group=billing")
	apitest.Begin(t, d.ledger, apitest.NightEnds).Commit("billing", "orders", "", 7, 7, 7)
	status, after, _ := d.ask(t, "/api/v1/group?group=billing", before)
	require.Equal(t, http.StatusOK, status)
	require.NotEqual(t, before, after)
	resp, body := d.get(t, "/api/v1/group?group=nobody")
	requireProblem(t, resp, body, http.StatusNotFound, api.CodeUnknownGroup)
	require.Empty(t, resp.Header.Get("ETag"))
}

// One moment, asked for before capture had passed it and after, with nothing new in between:
// the first answer is stale, the second exact, and they do not share a tag.
func TestAStaleAnswerAndAnExactOneHaveTwoTags(t *testing.T) {
	var status atomic.Value
	status.Store(api.Status{Capturing: true, Behind: time.Minute, BehindKnown: true})
	d := start(t, func(c *api.Config) {
		c.Status = func() api.Status { return status.Load().(api.Status) }
		c.Now = func() time.Time { return nightEnds.Add(time.Minute) }
	})
	apitest.Night(t, d.ledger)
	_, stale, body := d.ask(t, "/api/v1/group?group=billing")
	require.Contains(t, body, `"known":"stale"`)
	status.Store(keepsUp())
	code, exact, body := d.ask(t, "/api/v1/group?group=billing", stale)
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, body, `"known":"exact"`)
	require.NotEqual(t, stale, exact)

	const then = "/api/v1/group?group=billing&at=2026-11-30T03:12:39.500Z"
	_, stale, body = d.ask(t, then)
	require.Contains(t, body, `"known":"stale"`)
	apitest.Begin(t, d.ledger, apitest.NightEnds).At("2026-11-30T03:12:50Z").Cursor()
	code, _, body = d.ask(t, then, stale)
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, body, `"known":"exact"`)

	_, well, _ := d.ask(t, then)
	status.Store(api.Status{Capturing: true, Ready: true, BehindKnown: true, Problem: "Kafka is away"})
	code, _, body = d.ask(t, then, well)
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, body, "Kafka is away")
}

// An answer that is longer than memory should hold is written as it is found: the same rows,
// whether all are asked for, or the newest, or those next to a sequence, and page by page.
func TestALongAnswerIsWhole(t *testing.T) {
	const events, partitions = 4, 5500
	d := start(t, func(c *api.Config) { c.Heartbeat = 10 * time.Second })
	for at := range events {
		_, err := d.ledger.Append(t.Context(), []ledger.Event{wide(t, int64(at+1), partitions)})
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool { resp, _ := d.get(t, "/api/v1/groups"); return resp.StatusCode == http.StatusOK }, time.Minute, time.Millisecond)
	seqs := func(rows []api.ChangeRow) (out []uint64) {
		for i, r := range rows {
			require.Equal(t, i%partitions, r.Row)
			if r.Row == 0 {
				out = append(out, r.Seq)
			}
		}
		return out
	}
	for _, ask := range []struct {
		q    api.Query
		want []uint64
		next string
	}{
		{api.Query{}, []uint64{1, 2, 3, 4}, ""},
		{api.Query{Limit: ptr(3)}, []uint64{2, 3, 4}, "2"},
		{api.Query{Limit: ptr(1)}, []uint64{4}, "4"},
		{api.Query{Around: 3, Limit: ptr(5)}, []uint64{1, 2, 3, 4}, ""},
	} {
		h, err := d.History(t.Context(), ask.q)
		require.NoError(t, err)
		require.Equal(t, ask.want, seqs(h.Rows), "%+v", ask.q)
		require.Equal(t, len(ask.want), h.Events)
		require.Equal(t, events, h.TotalEvents)
		require.Equal(t, events, h.Commits)
		if ask.next == "" {
			require.Nil(t, h.Next)
		} else {
			require.Equal(t, ask.next, *h.Next)
		}
	}
	s, err := d.FollowHistory(t.Context(), api.Query{Limit: ptr(3)})
	require.NoError(t, err)
	var rows []api.ChangeRow
	for row, err := range s.Rows() {
		require.NoError(t, err)
		if row != nil {
			rows = append(rows, *row)
		}
	}
	require.Equal(t, []uint64{2, 3, 4}, seqs(rows))
	all, err := d.Events(t.Context(), api.Query{})
	require.NoError(t, err)
	require.Len(t, all.Rows, events)
	require.Nil(t, all.Next)
	last, err := d.Events(t.Context(), api.Query{Limit: ptr(3)})
	require.NoError(t, err)
	require.Equal(t, all.Rows[1:], last.Rows)
	require.Equal(t, events, last.Total)
	require.Equal(t, "2", *last.Next)

	// What is sent as it is found has no tag, as that depends on all of it; and it is JSON.
	status, tag, body := d.ask(t, "/api/v1/history", "*")
	require.Equal(t, http.StatusOK, status)
	require.Empty(t, tag)
	require.True(t, json.Valid([]byte(body)))
}
