package main

import (
	"bufio"
	"context"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/cmd/internal/api/apitest"
)

// program is an app for a test, at the end of the story's night.
func program(t *testing.T, stdout io.Writer) (*app, *strings.Builder) {
	now, err := time.Parse(time.RFC3339, apitest.NightEnds)
	require.NoError(t, err)
	var stderr strings.Builder
	return &app{stdin: strings.NewReader(""), stdout: stdout, stderr: &stderr, getenv: os.Getenv, program: "offsetledger", now: func() time.Time { return now }}, &stderr
}

// What is stored while the command follows is shown at once, every line of the table under one
// header, until Ctrl-C; its exit code then is 130.
func TestHistoryFollows(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "night")
	writeLedger(t, "night", dir)
	l, err := openLedger(t.Context(), dir, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, l.close()) }()
	server := httptest.NewServer(api.NewHandler(api.Config{Log: l.log, View: l.view}))
	defer server.Close()
	defer server.CloseClientConnections()

	for _, args := range [][]string{
		{"history", "billing", "-f", "--limit", "1"},
		{"events", "billing", "-f", "--limit", "1"},
	} {
		r, w := io.Pipe()
		a, stderr := program(t, w)
		ctx, interrupt := context.WithCancel(t.Context())
		code := make(chan int, 1)
		go func() {
			code <- a.execute(ctx, append(args, "--api", server.URL))
			w.Close()
		}()
		lines := bufio.NewScanner(r)
		require.True(t, lines.Scan())
		require.True(t, strings.HasPrefix(lines.Text(), "SEQ"), lines.Text())
		require.True(t, lines.Scan())
		before, _, _ := strings.Cut(lines.Text(), " ")

		seq := apitest.Begin(t, l.log, apitest.NightEnds).Commit("billing", "orders", "", 5, 5, 5)
		require.True(t, lines.Scan())
		after, _, _ := strings.Cut(lines.Text(), " ")
		require.NotEqual(t, before, after)
		require.Equal(t, api.Spell(number(ptr(int64(seq)))), after)

		interrupt()
		require.False(t, lines.Scan(), lines.Text())
		require.Equal(t, exitInterrupted, <-code)
		require.NotContains(t, stderr.String(), "error")
		require.Contains(t, stderr.String(), "note: prod: the daemon does not capture yet: nothing comes until it does\n")
		require.Contains(t, stderr.String(), "prod  following, until Ctrl-C\n")
	}
}

// Whoever follows a ledger that no daemon has is told that nothing will come.
func TestFollowingWhereNothingCaptures(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "night")
	writeLedger(t, "night", dir)
	for _, command := range []string{"history", "events"} {
		r, w := io.Pipe()
		a, stderr := program(t, w)
		ctx, interrupt := context.WithCancel(t.Context())
		code := make(chan int, 1)
		go func() {
			code <- a.execute(ctx, []string{command, "billing", "-f", "-o", "jsonl", "--limit", "1", "--data-dir", dir})
			w.Close()
		}()
		lines := bufio.NewScanner(r)
		require.True(t, lines.Scan())
		interrupt()
		for lines.Scan() { // the rest of the event
		}
		require.Equal(t, exitInterrupted, <-code)
		require.Contains(t, stderr.String(), "note: prod: nothing captures into this ledger, and no daemon can while this command has it open: nothing will come\n")
		require.NotContains(t, stderr.String(), "following", "programs are told what is wrong, and no more")
	}
}

func ptr[T any](v T) *T { return &v }

// closed is an output that nobody reads any more, as that of "offsetledger … | head -1".
type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, syscall.EPIPE }

func TestAReaderThatHasSeenEnoughIsNoError(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "night")
	writeLedger(t, "night", dir)
	for _, args := range [][]string{
		{"group", "list", "-o", "csv"}, {"history", "-o", "jsonl"}, {"history", "billing"}, {"events", "-o", "json"}, {"incidents"},
		{"group", "describe", "billing", "-o", "kafka-csv"},
	} {
		a, stderr := program(t, closed{})
		require.Equal(t, exitDone, a.execute(t.Context(), append(args, "--data-dir", dir)), args)
		require.NotContains(t, stderr.String(), "error")
	}
}

// A daemon that stops while it is followed is an error, since more was asked for.
func TestAStoppedDaemonEndsFollowing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "night")
	writeLedger(t, "night", dir)
	l, err := openLedger(t.Context(), dir, nil)
	require.NoError(t, err)
	server := httptest.NewServer(api.NewHandler(api.Config{Log: l.log, View: l.view}))
	r, w := io.Pipe()
	a, stderr := program(t, w)
	code := make(chan int, 1)
	go func() {
		code <- a.execute(t.Context(), []string{"events", "-f", "-o", "jsonl", "--limit", "1", "--api", server.URL})
		w.Close()
	}()
	lines := bufio.NewScanner(r)
	require.True(t, lines.Scan())
	server.CloseClientConnections()
	require.False(t, lines.Scan())
	require.Equal(t, exitFailed, <-code)
	require.Contains(t, stderr.String(), "error: the answer of "+server.URL+" broke off")
	server.Close()
	require.NoError(t, l.close())
}
