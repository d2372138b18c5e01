package ledger

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const (
	earliest = math.MinInt64 + 1
	latest   = math.MaxInt64
)

func TestTimeKnowsWhatItDoesNotKnow(t *testing.T) {
	var unknown Time
	require.False(t, unknown.Known())
	require.Equal(t, unknown, AtMillis(math.MinInt64))
	require.Equal(t, unknown, AtTime(time.Time{}))
	require.Equal(t, "-", unknown.String())
	_, ok := unknown.Std()
	require.False(t, ok)
	require.Equal(t, unknown, unknown.Add(time.Hour))
	for _, ms := range []int64{0, -1, 1, earliest, latest} {
		got, ok := AtMillis(ms).Millis()
		require.True(t, ok)
		require.Equal(t, ms, got)
		require.True(t, unknown.Before(AtMillis(ms)))
		require.True(t, AtMillis(ms).After(unknown))
	}
}

func TestTimeString(t *testing.T) {
	for ms, want := range map[int64]string{
		0:               "1970-01-01T00:00:00.000Z",
		-1:              "1969-12-31T23:59:59.999Z",
		1764598800037:   "2025-12-01T14:20:00.037Z",
		minCalendar:     "0000-01-01T00:00:00.000Z",
		minCalendar - 1: "-62167219200001ms",
		maxCalendar:     "9999-12-31T23:59:59.999Z",
		maxCalendar + 1: "253402300800000ms",
		latest:          "9223372036854775807ms",
	} {
		require.Equal(t, want, AtMillis(ms).String())
		std, ok := AtMillis(ms).Std()
		require.Equal(t, ms >= minCalendar && ms <= maxCalendar, ok)
		if ok {
			require.Equal(t, AtMillis(ms), AtTime(std))
			_, err := std.MarshalJSON()
			require.NoError(t, err)
		}
	}
}

func TestTimeAdd(t *testing.T) {
	for _, c := range []struct {
		ms   int64
		d    time.Duration
		want int64
	}{
		{10, 1500 * time.Microsecond, 11},
		{10, -1500 * time.Microsecond, 8},
		{10, -time.Nanosecond, 9},
		{latest - 1, time.Hour, latest},
		{latest, time.Millisecond, latest},
		{latest, -time.Millisecond, latest - 1},
		{earliest, -time.Millisecond, earliest},
		{earliest + 5, -5 * time.Millisecond, earliest},
		{earliest, math.MinInt64, earliest},
		{latest, math.MaxInt64, latest},
	} {
		require.Equal(t, AtMillis(c.want), AtMillis(c.ms).Add(c.d), "%d + %s", c.ms, c.d)
	}
	require.Equal(t, AtMillis(-1), AtTime(time.Unix(0, -1)), "rounded down")
}

func TestTimeSub(t *testing.T) {
	for _, c := range []struct {
		a, b int64
		want time.Duration
	}{
		{5, 3, 2 * time.Millisecond},
		{3, 5, -2 * time.Millisecond},
		{latest, earliest, math.MaxInt64},
		{earliest, latest, math.MinInt64},
		{latest, 0, math.MaxInt64},
		{0, latest, math.MinInt64},
		{math.MaxInt64 / 1_000_000, 0, math.MaxInt64 / 1_000_000 * time.Millisecond},
		{math.MaxInt64/1_000_000 + 1, 0, math.MaxInt64},
	} {
		got, ok := AtMillis(c.a).Sub(AtMillis(c.b))
		require.True(t, ok)
		require.Equal(t, c.want, got, "%d - %d", c.a, c.b)
	}
	_, ok := AtMillis(1).Sub(Time{})
	require.False(t, ok)
	_, ok = Time{}.Sub(AtMillis(1))
	require.False(t, ok)
}

// The order is that of the numbers, adding never goes the wrong way, and what Sub says Add
// undoes.
func TestTimeArithmetic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyInt64.Draw(t, "a"), anyInt64.Draw(t, "b")
		at, bt := AtMillis(a), AtMillis(b)
		require.Equal(t, a < b, at.Before(bt))
		require.Equal(t, a > b, at.After(bt))
		require.Equal(t, AtMillis(max(a, b)), MaxTime(at, bt))
		require.Equal(t, at, bt.plus(at.diff(bt)))
		d := time.Duration(rapid.Int64().Draw(t, "d"))
		if moved := at.Add(d); at.Known() {
			require.True(t, moved.Known())
			require.False(t, d >= 0 && moved.Before(at))
			require.False(t, d <= 0 && moved.After(at))
		}
		if diff, ok := at.Sub(bt); ok && diff != math.MaxInt64 && diff != math.MinInt64 {
			require.Equal(t, at, bt.Add(diff))
		}
	})
}

func TestMinTimeIgnoresTheUnknown(t *testing.T) {
	require.Equal(t, Time{}, MinTime())
	require.Equal(t, Time{}, MinTime(Time{}, Time{}))
	require.Equal(t, AtMillis(3), MinTime(Time{}, AtMillis(5), AtMillis(3)))
	require.Equal(t, AtMillis(3), MaxTime(Time{}, AtMillis(3)))
}

func TestEpoch(t *testing.T) {
	var unknown Epoch
	require.Equal(t, unknown, EpochOf(-1))
	require.Equal(t, "-", unknown.String())
	require.Equal(t, int32(-1), unknown.Kafka())
	_, ok := unknown.Get()
	require.False(t, ok)
	for _, n := range []int32{0, 1, -2, math.MaxInt32, math.MinInt32} {
		got, ok := EpochOf(n).Get()
		require.True(t, ok)
		require.Equal(t, n, got)
		require.Equal(t, n, EpochOf(n).Kafka())
	}
	require.Equal(t, "0", EpochOf(0).String())
}
