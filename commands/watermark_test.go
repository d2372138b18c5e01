package commands_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/offsetledger/offsetledger/commands"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/ledgertest"
)

func onWatermark() commands.Config {
	cfg := config()
	cfg.Strategy = commands.OnWatermark()
	return cfg
}

// second is a moment of the records' own time.
func second(n int64) time.Time { return time.Unix(1_700_000_000+n, 0) }

// Only the run of updates whose event times are all at or before the watermark is committed; a
// late record in between holds back what comes after it.
func TestWatermarkCommitsThePrefix(t *testing.T) {
	log := ledgertest.New(t)
	m := newManager(t, log, onWatermark())
	for _, u := range []struct {
		partition  int32
		at, second int64
	}{{0, 1, 10}, {0, 2, 12}, {0, 3, 30}, {0, 4, 11}, {1, 1, 31}, {2, 9, 5}} {
		require.NoError(t, m.Update(commands.Update{Topic: "orders", Partition: u.partition, Offset: u.at, EventTime: second(u.second)}))
	}
	committed, err := m.NotifyWatermark(t.Context(), second(20))
	require.NoError(t, err)
	require.True(t, committed)
	require.Equal(t, map[ledger.TopicPartition]int64{tp("orders", 0): 2, tp("orders", 2): 9}, plain(m.Committed()))
	require.Equal(t, map[ledger.TopicPartition]int64{tp("orders", 0): 4, tp("orders", 1): 1}, plain(m.Pending()))

	for _, s := range []int64{20, 19} {
		committed, err = m.NotifyWatermark(t.Context(), second(s))
		require.NoError(t, err)
		require.False(t, committed, "a watermark that does not advance")
	}
	committed, err = m.NotifyWatermark(t.Context(), second(29))
	require.NoError(t, err)
	require.False(t, committed, "nothing lies before it")
	committed, err = m.NotifyWatermark(t.Context(), second(31))
	require.NoError(t, err)
	require.True(t, committed)
	require.Equal(t, map[ledger.TopicPartition]int64{tp("orders", 0): 4, tp("orders", 1): 1, tp("orders", 2): 9}, plain(m.Committed()))
	require.Len(t, events(t, log, ledger.KindCommitted), 2)
	require.NoError(t, m.Close(t.Context()))
}

// Without event times a watermark commits what was updated before the call.
func TestWatermarkWithoutEventTimes(t *testing.T) {
	m := newManager(t, ledgertest.New(t), onWatermark())
	require.NoError(t, m.UpdateOffset("orders", 0, 5))
	committed, err := m.NotifyWatermark(t.Context(), second(1))
	require.NoError(t, err)
	require.True(t, committed)
	require.Equal(t, int64(5), offset(t, m, "orders", 0))
	require.NoError(t, m.UpdateOffset("orders", 0, 6))
	require.NoError(t, m.Close(t.Context()))
	require.Equal(t, int64(5), offset(t, m, "orders", 0), "what no watermark covers is not committed")
}

// A watermark whose commit failed has not come: it is told again, and then it counts.
func TestWatermarkAfterAFailure(t *testing.T) {
	log := newFaulty(t)
	m := newManager(t, log, onWatermark())
	for at := int64(1); at <= 3; at++ {
		require.NoError(t, m.Update(commands.Update{Topic: "orders", Offset: at, EventTime: second(at)}))
	}
	log.FailBefore(errAway)
	_, err := m.NotifyWatermark(t.Context(), second(2))
	require.ErrorIs(t, err, errAway)
	committed, err := m.NotifyWatermark(t.Context(), second(2))
	require.NoError(t, err)
	require.True(t, committed)
	require.Equal(t, int64(2), offset(t, m, "orders", 0))
	n, err := m.Commit(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, n, "an explicit commit means all of it")
	require.Equal(t, int64(3), offset(t, m, "orders", 0))
}

func TestWatermarkOfAnotherStrategy(t *testing.T) {
	m := newManager(t, ledgertest.New(t), config())
	_, err := m.NotifyWatermark(t.Context(), second(1))
	require.ErrorIs(t, err, commands.ErrInvalid)
	m = newManager(t, ledgertest.New(t), onWatermark())
	_, err = m.NotifyWatermark(t.Context(), time.Time{})
	require.ErrorIs(t, err, commands.ErrInvalid)
}

// Against the rule spelled out: of each partition, the longest beginning of the updates since
// the last commit of which no event time is after the watermark. However many updates wait, what
// is committed never goes beyond it.
func TestWatermarkAgainstTheRule(t *testing.T) {
	log := ledgertest.New(t)
	rapid.Check(t, func(rt *rapid.T) {
		m := newManager(t, log, onWatermark())
		type update struct{ at, second int64 }
		var waiting []update
		at, watermark, committed := int64(0), int64(0), int64(0)
		for range rapid.IntRange(1, 5).Draw(rt, "rounds") {
			for range rapid.IntRange(0, 20).Draw(rt, "updates") {
				at++
				u := update{at, rapid.Int64Range(0, 100).Draw(rt, "second")}
				waiting = append(waiting, u)
				require.NoError(t, m.Update(commands.Update{Topic: "orders", Offset: u.at, EventTime: second(u.second)}))
			}
			w := rapid.Int64Range(1, 100).Draw(rt, "watermark")
			_, err := m.NotifyWatermark(t.Context(), second(w))
			require.NoError(t, err)
			if w <= watermark {
				continue
			}
			watermark = w
			for len(waiting) > 0 && waiting[0].second <= w {
				committed, waiting = waiting[0].at, waiting[1:]
			}
			got, _ := m.Offset("orders", 0)
			require.Equal(t, committed, got)
		}
	})
}

// A partition of which a hundred thousand updates wait takes bounded memory, and commits late
// rather than early.
func TestManyUpdatesWaitForAWatermark(t *testing.T) {
	m := newManager(t, ledgertest.New(t), onWatermark())
	const n = 100_000
	for at := int64(1); at <= n; at++ {
		require.NoError(t, m.Update(commands.Update{Topic: "orders", Offset: at, EventTime: second(at)}))
	}
	_, err := m.NotifyWatermark(t.Context(), second(n/2))
	require.NoError(t, err)
	got := offset(t, m, "orders", 0)
	require.LessOrEqual(t, got, int64(n/2))
	require.Greater(t, got, int64(n/2-n/100))
	_, err = m.NotifyWatermark(t.Context(), second(n))
	require.NoError(t, err)
	require.Equal(t, int64(n), offset(t, m, "orders", 0))
}
