package commands_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/commands"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/ledgertest"
)

// Retention moves the log start past a committed offset, truncation leaves it beyond the end:
// lag counts what can still be read, is never negative and never wraps.
func TestPRJ01CommitOutsideTheLog(t *testing.T) {
	m := newManager(t, ledgertest.New(t), config())
	for i, c := range []struct{ commit, start, end, lag int64 }{
		{100, 5000, 5000, 0},
		{100, 5000, 5200, 200},
		{144424, 0, 136204, 0},
		{5200, 5000, 5200, 0},
		{math.MaxInt64, 0, 10, 0},
	} {
		p := int32(i)
		require.NoError(t, m.Observe("orders", p, c.start, c.end))
		require.NoError(t, m.UpdateOffset("orders", p, c.commit))
		_, err := m.Commit(t.Context())
		require.NoError(t, err)
		lag, ok := m.Lag("orders", p, c.end)
		require.True(t, ok)
		require.Equal(t, c.lag, lag, "commit %d of %d to %d", c.commit, c.start, c.end)
	}
	lag, unknown := m.TotalLag()
	require.Equal(t, int64(200), lag)
	require.Zero(t, unknown)
	_, ok := m.Lag("orders", 0, -1)
	require.False(t, ok)
	require.ErrorIs(t, m.Observe("orders", 0, 5, 4), commands.ErrInvalid)
	require.ErrorIs(t, m.Observe("orders", 0, -1, 4), commands.ErrInvalid)
}

// Two partitions of a group have no commit: their lag is unknown and not the whole history, and
// the total is that of the third.
func TestPRJ03PartitionWithoutCommit(t *testing.T) {
	m := newManager(t, ledgertest.New(t), config())
	require.NoError(t, m.Observe("orders", 0, 0, 1234234))
	require.NoError(t, m.UpdateOffsetWithWatermark("orders", 1, 2033, 2034))
	require.NoError(t, m.Observe("orders", 2, 700, 700))
	_, err := m.Commit(t.Context())
	require.NoError(t, err)
	for _, p := range []int32{0, 2, 3} {
		_, ok := m.Lag("orders", p, 1234234)
		require.False(t, ok)
	}
	lag, unknown := m.TotalLag()
	require.Equal(t, int64(1), lag)
	require.Equal(t, 2, unknown)
	info, ok := m.OffsetInfo("orders", 1)
	require.True(t, ok)
	known, ok := info.Lag()
	require.True(t, ok)
	require.Equal(t, int64(1), known)
}

// Without Kafka a reset goes to what was told, and is refused where nothing was.
func TestResetWithoutKafka(t *testing.T) {
	log := ledgertest.New(t)
	m := newManager(t, log, config())
	for _, r := range []commands.Reset{commands.Earliest(), commands.Latest(), commands.Timestamp(second(1))} {
		_, err := m.ResetOffset(t.Context(), "orders", 0, r)
		require.ErrorIs(t, err, commands.ErrUnknown, r)
	}
	for _, r := range []commands.Reset{commands.Specific(-1), {}} {
		_, err := m.ResetOffset(t.Context(), "orders", 0, r)
		require.ErrorIs(t, err, commands.ErrInvalid, r)
	}
	_, err := m.ResetOffset(t.Context(), "", 0, commands.Specific(1))
	require.ErrorIs(t, err, commands.ErrInvalid)
	require.Empty(t, events(t, log))

	require.NoError(t, m.UpdateOffset("orders", 0, 70))
	_, err = m.Commit(t.Context())
	require.NoError(t, err)
	require.NoError(t, m.Observe("orders", 0, 50, 90))
	require.NoError(t, m.UpdateOffset("orders", 0, 80))
	at, err := m.ResetOffset(t.Context(), "orders", 0, commands.Earliest())
	require.NoError(t, err)
	require.Equal(t, int64(50), at)
	require.Equal(t, int64(50), offset(t, m, "orders", 0))
	require.Empty(t, m.Pending(), "what was pending is overtaken")
	require.NoError(t, m.UpdateOffset("orders", 0, 51), "and work goes on from there")
	at, err = m.ResetOffset(t.Context(), "orders", 0, commands.Latest())
	require.NoError(t, err)
	require.Equal(t, int64(90), at)

	resets := events(t, log, ledger.KindReset)
	require.Len(t, resets, 2)
	require.Equal(t, []int64{70}, ats(resets[0].Event.Before))
	require.Equal(t, "reset to earliest", resets[0].Event.Reason)
	require.Equal(t, []int64{70, 80, 51}, recorded(t, log, "orders", 0))
}
