package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/replay"
)

// A job runs with /dev/null for its input, which is a device as terminals are, and nobody types
// there: it is told so, as one with a pipe is.
func TestNobodyIsAskedWithoutATerminal(t *testing.T) {
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer null.Close() // it was only read
	plan := &replay.Plan{Cluster: "prod", Groups: []replay.PlanGroup{{Group: "billing"}}}
	for name, a := range map[string]*app{
		"no input": {stdin: null, stderr: &strings.Builder{}},
		"a pipe":   {stdin: strings.NewReader("prod/billing\n"), stderr: &strings.Builder{}},
	} {
		err := a.confirm(plan, false)
		require.Empty(t, a.stderr.(*strings.Builder).String(), "nobody is asked: %s", name)
		require.ErrorContains(t, err, "there is no terminal to ask on", name)
		require.ErrorContains(t, err, "--yes", name)
		var coded *exitError
		require.ErrorAs(t, err, &coded, name)
		require.Equal(t, exitUsage, coded.code, name)
		require.NoError(t, a.confirm(plan, true), name)
	}
}
