package api_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/cmd/internal/api/apitest"
	"github.com/offsetledger/offsetledger/ledger"
)

// wide is one commit of the group g to so many partitions of the topic t.
func wide(t *testing.T, at int64, partitions int) ledger.Event {
	t.Helper()
	id, err := uuid.NewV7()
	require.NoError(t, err)
	rows := make([]ledger.Offset, partitions)
	for p := range rows {
		rows[p] = ledger.Offset{Topic: "t", Partition: int32(p), At: at, SourceOffset: at*int64(partitions) + int64(p), Effective: ledger.AtTime(nightEnds)}
	}
	return ledger.Event{
		ID: id, Kind: ledger.KindCommitted, Cluster: apitest.Cluster, Group: "g", Time: ledger.AtTime(nightEnds), Offsets: rows,
		Source: ledger.Source{Kind: ledger.SourceTail, Partition: apitest.Line, Offset: at * int64(partitions)},
	}
}

// A connection broke between two rows of one commit. Whoever resumes after the last
// row that came gets the rest of that commit, and no row twice, wherever it broke.
func TestAStreamIsResumedInsideAnEvent(t *testing.T) {
	const events, partitions = 3, 4
	d := start(t, nil)
	for at := range events {
		_, err := d.ledger.Append(t.Context(), []ledger.Event{wide(t, int64(at+1), partitions)})
		require.NoError(t, err)
	}
	type place struct {
		seq uint64
		row int
	}
	read := func(from api.Position, most int) (got []place) {
		s, err := d.FollowHistory(t.Context(), api.Query{From: from, Follow: true})
		require.NoError(t, err)
		for row, err := range s.Rows() {
			require.NoError(t, err)
			if row == nil || len(got) == most {
				break
			}
			got = append(got, place{row.Seq, row.Row})
		}
		return got
	}
	all := read(api.Position{}, events*partitions)
	require.Len(t, all, events*partitions)
	for broken := 1; broken < len(all); broken++ {
		last := all[broken-1]
		rest := read(api.Position{Seq: last.seq, Row: last.row, Within: true}, len(all))
		require.Equal(t, all[broken:], rest, "broken off after %v", last)
	}
	require.Equal(t, all[partitions:], read(api.Position{Seq: all[0].seq}, len(all)), "a sequence alone is behind the whole event")

	resp, body := d.get(t, "/api/v1/history?from=2.1")
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Contains(t, body, `"rows":[{"seq":2,"row":2,`)
	for _, wrong := range []string{"x", "2.", "2.-1", "2.x", ".1", "-1", "2.1.1", "99999999999999999999"} {
		resp, body = d.get(t, "/api/v1/history?from="+wrong)
		p := requireProblem(t, resp, body, http.StatusBadRequest, api.CodeBadParameter)
		require.Contains(t, p.Detail, `from: "`+wrong+`" is no place in a stream`)
	}
	resp, body = d.get(t, "/api/v1/events?from=2.1")
	requireProblem(t, resp, body, http.StatusBadRequest, api.CodeBadParameter)
}

// SUB-01: a place behind the end is one of another ledger: what this one would answer from there is
// not the rest of that one.
func TestSUB01APlaceBehindTheEndIsRefused(t *testing.T) {
	d := start(t, nil)
	_, err := d.ledger.Append(t.Context(), batch(t, 1, 3))
	require.NoError(t, err)
	for _, from := range []string{"4", "4.0", "18446744073709551615"} {
		resp, body := d.get(t, "/api/v1/history?from="+from)
		requireProblem(t, resp, body, http.StatusNotFound, api.CodeUnknownSequence)
	}
	resp, body := d.get(t, "/api/v1/events?from=18446744073709551615")
	requireProblem(t, resp, body, http.StatusNotFound, api.CodeUnknownSequence)
	resp, body = d.get(t, "/api/v1/history?from=3")
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Contains(t, body, `"rows":[]`)
}

// A heartbeat says that everything up to now was sent, so none may stand inside a commit of
// thousands of partitions, however long writing it takes.
func TestNoHeartbeatStandsInsideAnEvent(t *testing.T) {
	const partitions, events = 20000, 3
	d := start(t, func(c *api.Config) { c.Heartbeat = time.Millisecond })
	_, err := d.ledger.Append(t.Context(), batch(t, 1, 1))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	// Without a network between, so that the short heartbeat is no short patience.
	c := &api.Client{URL: "http://localhost", Transport: api.Local(d.handler)}
	s, err := c.FollowHistory(ctx, api.Query{From: api.Position{Seq: 1}, Follow: true})
	require.NoError(t, err)
	go func() {
		for at := range events {
			if _, err := d.ledger.Append(ctx, []ledger.Event{wide(t, int64(at+2), partitions)}); err != nil {
				t.Error(err)
				cancel()
			}
		}
	}()
	rows := 0
	for row, err := range s.Rows() {
		require.NoError(t, err)
		if row == nil {
			require.Zero(t, rows%partitions, "an empty line after %d rows", rows)
			continue
		}
		require.Equal(t, rows%partitions, row.Row)
		if rows++; rows == events*partitions {
			break
		}
	}
}
