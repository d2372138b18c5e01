package main

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// The rows of bench are what is documented: each figure with its limit of the same run.
func TestBenchPrintsItsRows(t *testing.T) {
	dir := t.TempDir()
	sizes := []string{"bench", "--offsets", "200000", "--drain", "20000", "--dir", dir}
	r := launch(t, append(sizes, "-o", "json")...)
	require.Equal(t, exitDone, r.wait(), "%s", &r.stderr)
	require.Contains(t, r.stdout.String(), `"goal":"ratio >= 0.9"`)
	require.Contains(t, r.stderr.String(), "note: the goals are for 20000000 offsets and a drain of 1000000; with fewer the start weighs more")
	var rows []map[string]any
	require.NoError(t, json.Unmarshal([]byte(r.stdout.String()), &rows))
	var names []any
	for _, row := range rows {
		names = append(names, row["name"])
		require.Len(t, row, 6)
		value, limit := row["value"].(float64), row["limit"].(float64)
		require.Positive(t, value)
		require.InEpsilon(t, value/limit, row["ratio"], 1e-9)
		require.NotEmpty(t, row["unit"])
		require.NotEmpty(t, row["goal"])
	}
	require.Equal(t, []any{"append", "replay", "ready", "drain"}, names)
	require.Contains(t, r.stderr.String(), "syncing a page to this disk takes ")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left, "it leaves nothing behind")

	r = launch(t, sizes...)
	require.Equal(t, exitDone, r.wait(), "%s", &r.stderr)
	require.Regexp(t, `^NAME +VALUE +LIMIT +RATIO +UNIT +GOAL\nappend +\d+ +\d+ +\d+\.\d\d +offsets/s `, r.stdout.String())
}

func TestBenchRefusesSizesThatCannotBe(t *testing.T) {
	require.Contains(t, launch(t, "bench", "--offsets", "7", "--drain", "20").refused(exitUsage),
		"error: 7 offsets: want a multiple of 100000; 20 offsets to drain: want a multiple of 100")
	require.Contains(t, launch(t, "bench", "-o", "csv").refused(exitUsage), "--output csv")
	require.Contains(t, launch(t, "bench", "--dir", "/nowhere/at/all").refused(exitFailed), "/nowhere/at/all")
}

// Ctrl-C ends a long run at once and leaves nothing behind.
func TestBenchInterrupted(t *testing.T) {
	dir := t.TempDir()
	r := launch(t, "bench", "--offsets", "200000000", "--dir", dir)
	require.Eventually(t, func() bool {
		entries, err := os.ReadDir(dir)
		return err == nil && len(entries) == 1 && entries[0].IsDir()
	}, patience, patience/3000)
	require.Equal(t, exitInterrupted, r.stop())
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}
