package main

import (
	"encoding/json"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/cmd/internal/api/apitest"
)

// The clock of this machine and that of the daemon are an hour apart. What is asked for is what
// is echoed: ten minutes before now is said by the clock that the person looks at.
func TestAPointIsReadByTheClockHere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "night")
	writeLedger(t, "night", dir)
	l, err := openLedger(t.Context(), dir, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, l.close()) }()
	ends, err := time.Parse(time.RFC3339, apitest.NightEnds)
	require.NoError(t, err)
	server := httptest.NewServer(api.NewHandler(api.Config{
		Log: l.log, View: l.view, Now: func() time.Time { return ends.Add(time.Hour) },
	}))
	defer server.Close()

	var out strings.Builder
	a, stderr := program(t, &out)
	require.Equal(t, exitDone, a.execute(t.Context(), []string{"group", "list", "--at", "-10m", "-o", "json", "--api", server.URL}), stderr)
	var answer api.Groups
	require.NoError(t, json.Unmarshal([]byte(out.String()), &answer))
	require.Equal(t, "2026-11-30T03:02:40.000Z", answer.AsOf.String())
	require.Contains(t, stderr.String(), "as of 2026-11-30T03:02:40.000Z")

	out.Reset()
	a, stderr = program(t, &out)
	require.Equal(t, exitDone, a.execute(t.Context(), []string{"history", "--since", "-1h", "--until", "02:50Z", "-o", "json", "--api", server.URL}), stderr)
	var told api.History
	require.NoError(t, json.Unmarshal([]byte(out.String()), &told))
	require.Equal(t, "2026-11-30T02:12:40.000Z", told.Coverage.From.String())
	require.Equal(t, "2026-11-30T02:50:00.000Z", told.Coverage.To.String())
}

// A tab key finds the daemon wherever the command would, and opens no ledger.
func TestCompletionAsksWhomTheCommandWouldAsk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "night")
	writeLedger(t, "night", dir)
	complete := func(args ...string) string {
		var out strings.Builder
		a, stderr := program(t, &out)
		require.Equal(t, exitDone, a.execute(t.Context(), append([]string{"__complete", "group", "describe"}, args...)), stderr)
		return out.String()
	}
	require.NotContains(t, complete("--data-dir", dir, "bil"), "billing", "nobody has it open")

	l, err := openLedger(t.Context(), dir, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, l.close()) }()
	server := httptest.NewServer(api.NewHandler(api.Config{Log: l.log, View: l.view}))
	defer server.Close()
	withdraw, err := announce(dir, server.URL)
	require.NoError(t, err)
	defer withdraw()
	require.Contains(t, complete("--data-dir", dir, "bil"), "billing")
	require.Contains(t, complete("--api", server.URL, "bil"), "billing")
	require.NotContains(t, complete("--api", server.URL, "--data-dir", dir, "bil"), "billing", "of the two one is to be given")
}
