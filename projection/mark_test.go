package projection_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// unanswered makes ev name partitions of topic t that the brokers did not answer for.
func unanswered(ev ledger.Event, partitions ...int32) ledger.Event {
	ev.Watermarks.Unanswered = []ledger.TopicPartitions{{Topic: "t", Partitions: partitions}}
	return ev
}

func mark(partition int32, end int64) ledger.Watermark {
	return ledger.Watermark{Topic: "t", Partition: partition, LastStable: end, LogEnd: end}
}

// The leader of a partition goes away. Others of its shard are still told, and it must not look
// as if its end, which nobody could ask for, had been seen not to move: from then on its lag is
// not known, and once the brokers answer again it is, also if nothing had changed.
func TestLagIsNotKnownFromAnEndThatNobodyAnswersFor(t *testing.T) {
	h := newHistory(t)
	h.add(commit(500, row(0, 90, 0), row(1, 90, 1)))
	h.add(watermarksOf(1000, mark(0, 100), mark(1, 100)))
	h.add(watermarksOf(2000, mark(0, 110)))
	h.add(unanswered(watermarksOf(3000, mark(0, 120)), 1))
	h.add(unanswered(watermarksOf(4000, mark(0, 130)), 1))

	lagOf := func(s *projection.State, partition int32) projection.Lag {
		p, ok := s.Partition("c", "g", "t", partition)
		require.True(t, ok)
		return s.Lag("c", &p)
	}
	require.Equal(t, projection.Lag{Known: true, Records: 40, Readable: 40}, lagOf(h.state, 0))
	require.Equal(t, projection.Lag{Why: "the log could not be observed since 1970-01-01T00:00:02.000Z"}, lagOf(h.state, 1))
	require.Equal(t, projection.TotalLag{Records: 40, Readable: 40, Known: 1, Unknown: 1}, h.state.TotalLag("c", "g"))
	w, ok := h.state.Watermark("c", "t", 1)
	require.True(t, ok)
	require.Equal(t, projection.Watermark{LastStable: 100, LogEnd: 100, Told: at(1000), Observed: at(2000), Old: true}, w)
	require.True(t, lagOf(h.asOf(2500), 1).Known, "as of a moment before")
	offsets := h.state.Offsets("c", "g")
	require.Equal(t, projection.Value{At: 130, Exists: true}, offsets[ledger.TopicPartition{Topic: "t", Partition: 0}].HighWatermark)
	require.False(t, offsets[ledger.TopicPartition{Topic: "t", Partition: 1}].HighWatermark.Exists)

	h.add(watermarksOf(5000, mark(0, 140)))
	require.Equal(t, projection.Lag{Known: true, Records: 10, Readable: 10}, lagOf(h.state, 1))
	w, _ = h.state.Watermark("c", "t", 1)
	require.Equal(t, projection.Watermark{LastStable: 100, LogEnd: 100, Told: at(1000), Observed: at(5000)}, w)
}

// A partition that never answered has no end at all, and one that answers with a new end while
// others do not is as good as any.
func TestUnansweredBeforeTheFirstAnswer(t *testing.T) {
	h := newHistory(t)
	h.add(unanswered(watermarksOf(1000, mark(0, 100)), 1, 2))
	_, ok := h.state.Watermark("c", "t", 1)
	require.False(t, ok)
	h.add(unanswered(watermarksOf(2000, mark(1, 7)), 2))
	w, ok := h.state.Watermark("c", "t", 1)
	require.True(t, ok)
	require.Equal(t, projection.Watermark{LastStable: 7, LogEnd: 7, Told: at(2000), Observed: at(2000)}, w)
	h.add(unanswered(watermarksOf(3000), 0, 1, 2))
	w, _ = h.state.Watermark("c", "t", 0)
	require.Equal(t, [2]any{true, at(2000)}, [2]any{w.Old, w.Observed}, "left out is unchanged, named is old")
}

// A partition that no group had an offset in any more is left out of complete events. What was
// once known of its end is old when a group commits there again.
func TestEndThatIsNoLongerObservedIsOld(t *testing.T) {
	h := newHistory(t)
	complete := func(ev ledger.Event) ledger.Event {
		ev.Watermarks.Complete = true
		return ev
	}
	h.add(complete(watermarksOf(1000, mark(0, 100), mark(1, 100))))
	h.add(watermarksOf(2000, mark(0, 110)))
	w, _ := h.state.Watermark("c", "t", 1)
	require.Equal(t, projection.Watermark{LastStable: 100, LogEnd: 100, Told: at(1000), Observed: at(2000)}, w)
	h.add(complete(watermarksOf(3000, mark(0, 120))))
	h.add(watermarksOf(4000, mark(0, 130)))
	w, _ = h.state.Watermark("c", "t", 1)
	require.Equal(t, projection.Watermark{LastStable: 100, LogEnd: 100, Told: at(1000), Observed: at(1000), Old: true}, w)
	h.add(watermarksOf(5000, mark(1, 900)))
	w, _ = h.state.Watermark("c", "t", 1)
	require.Equal(t, projection.Watermark{LastStable: 900, LogEnd: 900, Told: at(5000), Observed: at(5000)}, w)
}

// A broker took eight seconds to answer. The ends count from when the answer was there, so that
// no answer given before changes; but a commit since the question is not ahead of them.
func TestEndsThatWereLongInComing(t *testing.T) {
	h := newHistory(t)
	h.add(watermarksOf(1000, mark(0, 100)))
	h.add(commit(5000, row(0, 130, 0)))
	late := watermarksOf(10_000, mark(0, 120))
	late.NotBefore = at(2000)
	h.add(late)
	p, _ := h.state.Partition("c", "g", "t", 0)
	require.Equal(t, projection.Lag{Known: true}, h.state.Lag("c", &p))
	w, _ := h.asOf(9000).Watermark("c", "t", 0)
	require.EqualValues(t, 100, w.LogEnd)
}

// A topic of 100,000 partitions is observed in any order, in one observation or in several, and some
// twice: each has the end that was told last. Moving marks aside one by one would take seconds.
func TestAHundredThousandMarksInAnyOrder(t *testing.T) {
	const n = 100_000
	rnd := rand.New(rand.NewPCG(1, 2))
	order := rnd.Perm(n)
	h := newHistory(t)
	told, ms := make([]int64, n), int64(1000)
	for part := range 10 {
		var rows []ledger.Watermark
		for _, p := range slices.Concat(order[part*n/10:(part+1)*n/10], order[:100]) {
			ms++
			told[p] = ms
			rows = append(rows, mark(int32(p), ms))
		}
		h.add(watermarksOf(ms, rows...))
	}
	for p, end := range told {
		w, ok := h.state.Watermark("c", "t", int32(p))
		require.True(t, ok)
		require.Equal(t, end, w.LogEnd)
	}
}
