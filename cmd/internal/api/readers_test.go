package api_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/ledger"
)

// Every follower costs a consumer of the stream, and the fold and capture need theirs: however
// many follow, more than there is room for are refused, the rest goes on, and who leaves makes
// room.
func TestThereIsRoomForSoManyFollowers(t *testing.T) {
	d := start(t, func(c *api.Config) { c.Followers = 3 })
	_, err := d.ledger.Append(t.Context(), batch(t, 1, 1))
	require.NoError(t, err)
	var all []*api.Stream[api.EventRow]
	for range 3 {
		s, err := d.FollowEvents(t.Context(), api.Query{Follow: true})
		require.NoError(t, err)
		all = append(all, s)
	}
	resp, body := d.get(t, "/api/v1/history?follow=1")
	p := requireProblem(t, resp, body, http.StatusServiceUnavailable, api.CodeBusy)
	require.Contains(t, p.Detail, "3 streams are followed already")
	require.Equal(t, "1", resp.Header.Get("Retry-After"))
	for _, path := range []string{"/api/v1/history", "/api/v1/group?group=g&at=seq:1", "/healthz"} {
		resp, body = d.get(t, path)
		require.Equal(t, http.StatusOK, resp.StatusCode, body)
	}
	for _, s := range all {
		require.NoError(t, s.Close())
	}
	require.Eventually(t, func() bool {
		s, err := d.FollowEvents(t.Context(), api.Query{Follow: true})
		if err != nil {
			return false
		}
		require.NoError(t, s.Close())
		return true
	}, 10*time.Second, 5*time.Millisecond)
}

// A question that needs the log waits for a moment until those before it are answered; one that
// the fold answers does not need to.
func TestQuestionsOfTheLogWaitTheirTurn(t *testing.T) {
	d := start(t, func(c *api.Config) {
		c.Questions = 1
		c.Heartbeat = time.Minute // so long a reader may take
	})
	for at := range 2 {
		ev := wide(t, int64(at+1), 20000)
		_, err := d.ledger.Append(t.Context(), []ledger.Event{ev})
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool { resp, _ := d.get(t, "/api/v1/groups"); return resp.StatusCode == http.StatusOK }, 30*time.Second, time.Millisecond)

	ctx, leave := context.WithCancel(t.Context())
	slow, err := d.FollowHistory(ctx, api.Query{}) // and does not read what comes
	require.NoError(t, err)
	resp, body := d.get(t, "/api/v1/events?limit=1")
	p := requireProblem(t, resp, body, http.StatusServiceUnavailable, api.CodeBusy)
	require.Contains(t, p.Detail, "1 questions")
	for _, path := range []string{"/api/v1/groups", "/api/v1/group?group=g", "/api/v1/incidents", "/readyz"} {
		resp, body := d.get(t, path)
		require.Equal(t, http.StatusOK, resp.StatusCode, body)
	}
	leave()
	require.NoError(t, slow.Close())
	require.Eventually(t, func() bool {
		resp, _ := d.get(t, "/api/v1/events?limit=1")
		return resp.StatusCode == http.StatusOK
	}, 10*time.Second, 5*time.Millisecond)
}

// Whoever asks for the headers of a stream alone has them, and the connection is free for the
// next question.
func TestTheHeadersOfAStreamAreNoStream(t *testing.T) {
	d := start(t, func(c *api.Config) { c.Followers = 1 })
	_, err := d.ledger.Append(t.Context(), batch(t, 1, 1))
	require.NoError(t, err)
	for range 3 {
		resp, body := d.request(t, http.MethodHead, "/api/v1/history?follow=1")
		require.Equal(t, http.StatusOK, resp.StatusCode)
		require.Equal(t, "application/jsonl", resp.Header.Get("Content-Type"))
		require.True(t, strings.HasPrefix(resp.Header.Get("Offsetledger-Envelope"), `{"kind":"history"`))
		require.Empty(t, body)
	}
	resp, body := d.request(t, http.MethodHead, "/api/v1/events")
	require.Empty(t, body)
	_, body = d.get(t, "/api/v1/events")
	require.Equal(t, int64(len(body)), resp.ContentLength)
}

// A client that asks for much and reads nothing is given up, and its place with it.
func TestWhoDoesNotReadIsNotWaitedFor(t *testing.T) {
	d := start(t, func(c *api.Config) {
		c.Questions = 1
		c.Heartbeat = 100 * time.Millisecond
	})
	_, err := d.ledger.Append(t.Context(), []ledger.Event{wide(t, 1, 25000)})
	require.NoError(t, err)
	for _, path := range []string{"/api/v1/group?group=g&at=seq:1", "/api/v1/history", "/api/v1/history?follow=1"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(d.URL, "http://"))
		require.NoError(t, err)
		_, err = io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n")
		require.NoError(t, err)
		_, err = conn.Read(make([]byte, 1)) // it is being answered
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			resp, _ := d.get(t, "/api/v1/events?limit=1")
			return resp.StatusCode == http.StatusOK
		}, 20*time.Second, 10*time.Millisecond, path)
		require.NoError(t, conn.Close())
	}
}
