package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is handed in is read up to a bound: a device has no end, and its size is 0.
func TestWhatIsHandedInHasABound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.csv")
	require.NoError(t, os.WriteFile(path, []byte("t,0,5\n"), 0o600))
	b, err := readAtMost(path, 6)
	require.NoError(t, err)
	require.Equal(t, "t,0,5\n", string(b))
	_, err = readAtMost(path, 5)
	require.ErrorContains(t, err, "more than 5 bytes")
	_, err = readAtMost("/dev/zero", 1<<16)
	require.ErrorContains(t, err, "/dev/zero has more than 65536 bytes")
	_, err = readAtMost(filepath.Dir(path), 5)
	require.ErrorContains(t, err, "is a directory")
}
