package bench_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/offsetledger/offsetledger/cmd/internal/bench"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A small run measures every figure, beside a limit of the same run.
func TestEveryFigureIsMeasured(t *testing.T) {
	var names []string
	err := bench.Run(t.Context(), bench.Config{Dir: t.TempDir(), Offsets: 200_000, Drain: 20_000}, func(r bench.Row) {
		names = append(names, r.Name)
		require.Positive(t, r.Value, r.Name)
		require.Positive(t, r.Limit, r.Name)
		require.InEpsilon(t, r.Value/r.Limit, r.Ratio, 1e-9, r.Name)
		require.NotEmpty(t, r.Goal, r.Name)
	})
	require.NoError(t, err)
	require.Equal(t, []string{"append", "replay", "ready", "drain"}, names)
}

func TestSizesThatCannotBeAreRefusedAllAtOnce(t *testing.T) {
	err := bench.Run(t.Context(), bench.Config{Offsets: 7, Drain: -1}, func(bench.Row) { t.Fatal("measured") })
	require.ErrorContains(t, err, "7 offsets")
	require.ErrorContains(t, err, "-1 offsets to drain")
}

func TestFsyncIsMeasured(t *testing.T) {
	took, err := bench.Fsync(t.TempDir())
	require.NoError(t, err)
	require.Positive(t, took)
}
