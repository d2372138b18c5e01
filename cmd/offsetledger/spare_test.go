package main

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// The daemon spares the garbage collector work where it has memory for that, less in a small
// container, and not where whoever started it says how the collector is to run.
func TestSpareMemory(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "none")
	limit := func(text string) string {
		file := filepath.Join(t.TempDir(), "memory.max")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		return file
	}
	environment := func(set ...string) func(string) string {
		return func(name string) string {
			for i := 0; i < len(set); i += 2 {
				if set[i] == name {
					return set[i+1]
				}
			}
			return ""
		}
	}
	require.Len(t, spareMemory(environment(), nowhere), 512<<20)
	require.Len(t, spareMemory(environment(), limit("max\n")), 512<<20)
	require.Len(t, spareMemory(environment(), limit("1073741824\n")), 128<<20)
	require.Empty(t, spareMemory(environment("GOGC", "100"), nowhere))
	require.Empty(t, spareMemory(environment("GOMEMLIMIT", "1GiB"), nowhere))

	spare := spareMemory(environment(), nowhere)
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	require.Greater(t, m.NextGC, uint64(2*mostSpare), "the next collection is that much later")
	runtime.KeepAlive(spare)
}
