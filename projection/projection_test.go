package projection_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// Retention moved the log start past an idle group, or truncation left commits above the end.
// The lag is never negative and never a phantom, and what is odd is said.
func TestPRJ01CommitOutsideTheLog(t *testing.T) {
	for _, c := range []struct {
		at, start, end, lag int64
		note                string
	}{
		{100, 5000, 5000, 0, "4900 records gone unread"},
		{100, 5000, 5200, 200, "4900 records gone unread"},
		{144424, 0, 136204, 0, "ahead of end by 8220"},
		{5200, 5000, 5200, 0, ""},
		{math.MaxInt64, 0, 10, 0, "ahead of end by 9223372036854775797"},
	} {
		w := &projection.Watermark{LogStart: c.start, LastStable: c.end, LogEnd: c.end, Observed: at(2000)}
		lag := projection.LagOf(projection.Value{At: c.at, Exists: true}, at(1000), w)
		require.True(t, lag.Known)
		require.Equal(t, c.lag, lag.Records)
		require.Equal(t, c.lag, lag.Readable)
		require.Equal(t, c.note, lag.Note())
	}
}

// Watermarks are observed at intervals. A commit after the last observation shows that the
// log has grown, not that the group is ahead of its end.
func TestCommitAfterTheObservationIsNotAhead(t *testing.T) {
	w := &projection.Watermark{LogEnd: 100, LastStable: 100, Observed: at(1000)}
	require.Equal(t, projection.Lag{Known: true}, projection.LagOf(projection.Value{At: 120, Exists: true}, at(1001), w))
}

// A partition without commit inside a group that has others has no lag: neither the whole
// log nor one more than that.
func TestPRJ03PartitionWithoutCommit(t *testing.T) {
	var total projection.TotalLag
	for _, c := range []struct {
		v   projection.Value
		end int64
	}{{projection.Value{}, 1234234}, {projection.Value{At: 2033, Exists: true}, 2034}, {projection.Value{}, 700}} {
		lag := projection.LagOf(c.v, at(1), &projection.Watermark{LogEnd: c.end, LastStable: c.end})
		require.Equal(t, c.v.Exists, lag.Known)
		total.Add(lag)
	}
	sum, known := total.Get()
	require.True(t, known)
	require.EqualValues(t, 1, sum)
	require.Equal(t, 2, total.Unknown)
}

// A consumer dies: no commit comes any more, and the lag grows all the same.
func TestPRJ04LagMovesWhenCommitsStop(t *testing.T) {
	h := newHistory(t)
	h.add(classic(900, 1, member("m", 0)))
	h.add(commit(1000, row(0, 100, 0)))
	h.add(watermarks(1000, 0, 100, 100))
	for i, end := range []int64{200, 400, 600} {
		h.add(watermarks(11_000+10_000*int64(i), 0, end, end))
		require.Equal(t, end-100, h.state.TotalLag("c", "g").Records)
	}
	require.Equal(t, projection.StatusOK, h.state.Status("c", "g", at(60_000), projection.StatusRules{}))
	require.Equal(t, projection.StatusStopped, h.state.Status("c", "g", at(400_000), projection.StatusRules{}))
}

// The broker keeps the last write. An old commit that comes late moves the group back: once.
func TestPRJ06LateOldCommit(t *testing.T) {
	h := newHistory(t)
	want := []projection.Movement{projection.MovementAdvance, projection.MovementRewind, projection.MovementRecommit, projection.MovementAdvance}
	for i, offset := range []int64{2, 1, 1, 3} {
		changes := h.add(commit(1000+int64(i), row(0, offset, 50+int64(i))))
		require.Equal(t, moved(want[i]), movements(changes))
		h.wants(0, offset)
	}
	g, _ := h.state.Group("c", "g")
	require.EqualValues(t, 1, g.Statistics.Rewinds)
}

// Asked for moments outside what is known, the answer says so.
func TestPRJ07OffsetOutsideKnownHistory(t *testing.T) {
	h := newHistory(t)
	h.add(commit(200, row(0, 500, 0))) // what compaction had left when capture began
	h.add(cursor(1000))
	h.add(tombstone(3000, ledger.CauseDeleted, row(0, 0, 1)))
	h.add(commit(5000, row(0, 510, 2)))
	h.add(cursor(6000))

	exact, none, stale := projection.CertaintyExact, projection.CertaintyNone, projection.CertaintyStale
	for _, c := range []struct {
		ms    int64
		want  projection.Value
		known projection.Known
	}{
		{100, projection.Value{}, projection.Known{Why: projection.WhyBeforeHistory}},
		{200, projection.Value{At: 500, Exists: true}, projection.Known{Certainty: exact}},
		{999, projection.Value{At: 500, Exists: true}, projection.Known{Certainty: exact}},
		{1000, projection.Value{At: 500, Exists: true}, projection.Known{Certainty: exact}},
		{2999, projection.Value{At: 500, Exists: true}, projection.Known{Certainty: exact}},
		{3000, projection.Value{}, projection.Known{Certainty: none, DeletedAt: at(3000)}},
		{4999, projection.Value{}, projection.Known{Certainty: none, DeletedAt: at(3000)}},
		{5000, projection.Value{At: 510, Exists: true}, projection.Known{Certainty: exact}},
		{9000, projection.Value{At: 510, Exists: true}, projection.Known{Certainty: stale, Until: at(6000)}},
	} {
		s := h.asOf(c.ms)
		tp := ledger.TopicPartition{Topic: "t"}
		p, ok := s.Partition("c", "g", "t", 0)
		seen := &p
		if !ok {
			seen = nil
		}
		require.Equal(t, c.want, p.Committed, "at %d", c.ms)
		require.Equal(t, c.known, s.Known("c", "g", tp, seen, projection.Asked{Time: at(c.ms), Now: at(7000)}), "at %d", c.ms)
	}
}

// Commit times go back and lie far ahead. Order is the position in the log; as-of uses the
// effective time, worked out once at capture, so the absurd times hide nothing.
func TestPRJ09CommitTimesThatGoBackwards(t *testing.T) {
	h := newHistory(t)
	for i, c := range []struct{ offset, committed, effective int64 }{
		{10, 36005_000, 36005_000},
		{11, 36002_000, 36005_000},         // a coordinator with another clock
		{12, 4070908800_000, 36005_500},    // the year 2099
		{13, 36006_000, 36006_000},         // and back again
		{14, math.MaxInt64, 36007_000},     // no moment at all
		{15, math.MinInt64 + 1, 36007_000}, // nor this
	} {
		r := row(0, c.offset, 100+int64(i))
		r.CommitTime, r.Effective = at(c.committed), at(c.effective)
		h.add(commit(c.effective, r))
	}
	_, ok := committed(h.asOf(36004_000), 0)
	require.False(t, ok)
	for ms, want := range map[int64]int64{36005_000: 11, 36005_999: 12, 36006_000: 13, 36007_000: 15} {
		got, _ := committed(h.asOf(ms), 0)
		require.Equal(t, want, got)
	}
	p, _ := h.state.Partition("c", "g", "t", 0)
	ms, known := p.CommitTime.Millis()
	require.True(t, known)
	require.EqualValues(t, math.MinInt64+1, ms)
}

// The last offset of a transactional topic is a marker that no consumer sees, and behind an
// open transaction nothing can be read. Both are lag, neither is a stall.
func TestPRJ11LagOnTransactionalTopics(t *testing.T) {
	marker := projection.LagOf(projection.Value{At: 100, Exists: true}, at(1), &projection.Watermark{LogEnd: 101, LastStable: 101, Observed: at(2)})
	require.Equal(t, projection.Lag{Known: true, Records: 1, Readable: 1}, marker)

	h := newHistory(t)
	h.add(classic(900, 1, member("m", 0)))
	h.add(commit(1000, row(0, 200, 0)))
	h.add(commit(700_000, row(0, 200, 1)))
	h.add(watermarks(700_000, 0, 1663, 200))
	p, _ := h.state.Partition("c", "g", "t", 0)
	lag := h.state.Lag("c", &p)
	require.Equal(t, projection.Lag{Known: true, Records: 1463}, lag)
	require.Equal(t, "waiting on an open transaction", lag.Note())
	require.Equal(t, projection.StatusOK, h.state.Status("c", "g", at(701_000), projection.StatusRules{}))
}

// Clients that commit the last offset read instead of the next show a lag of 1 for ever. It
// is reported as it is, and it is no stall.
func TestPRJ12CommitOfTheLastReadOffset(t *testing.T) {
	h := newHistory(t)
	h.add(classic(900, 1, member("m", 0, 1, 2, 3, 4, 5, 6, 7)))
	var marks []ledger.Watermark
	for p := range int32(8) {
		marks = append(marks, ledger.Watermark{Topic: "t", Partition: p, LogEnd: 50, LastStable: 50})
	}
	h.add(watermarksOf(900, marks...))
	for i := range int64(200) {
		var rows []ledger.Offset
		for p := range int32(8) {
			rows = append(rows, row(p, 49, i*8+int64(p)))
		}
		h.add(commit(1000+5000*i, rows...))
	}
	require.EqualValues(t, 8, h.state.TotalLag("c", "g").Records)
	require.Equal(t, projection.StatusOK, h.state.Status("c", "g", at(1_000_000), projection.StatusRules{}))
}

// Two groups read one topic, in two clusters that both have the group.
func TestPRJ16TwoGroupsOnOneTopic(t *testing.T) {
	h := newHistory(t)
	for _, c := range []struct {
		cluster, group string
		offset, end    int64
	}{{"c1", "g1", 10, 100}, {"c1", "g2", 90, 100}, {"c2", "g1", 40, 45}} {
		ev := commit(1000, row(0, c.offset, 0))
		ev.Cluster, ev.Group = c.cluster, c.group
		h.add(ev)
		w := watermarks(1000, 0, c.end, c.end)
		w.Cluster = c.cluster
		h.add(w)
	}
	require.EqualValues(t, 90, h.state.TotalLag("c1", "g1").Records)
	require.EqualValues(t, 10, h.state.TotalLag("c1", "g2").Records)
	require.EqualValues(t, 5, h.state.TotalLag("c2", "g1").Records)
	require.Equal(t, []string{"c1", "c2"}, h.state.Clusters())
	require.Len(t, h.state.Groups("c1"), 2)
}

// After a quiet week the offsets expire, and the group comes to life again. What was lost is
// named, and the new commit is neither an ordinary advance nor a rewind from nothing.
func TestPRJ18ExpiryWhileIdle(t *testing.T) {
	const day = 86_400_000
	for _, again := range []int64{27198925, 0} {
		h := newHistory(t)
		h.add(commit(1000, row(0, 27196925, 0)))
		changes := h.add(tombstone(7*day, ledger.CauseExpired, row(0, 0, 1)))
		require.Equal(t, moved(projection.MovementExpired), movements(changes))
		require.Equal(t, projection.WhoBroker, changes[0].Who.Kind)
		_, ok := committed(h.state, 0)
		require.False(t, ok)
		changes = h.add(commit(7*day+3_600_000, row(0, again, 2)))
		require.Equal(t, moved(projection.MovementAfterLoss), movements(changes))
		require.Equal(t, projection.Value{At: 27196925, Exists: true}, changes[0].Lost)
		require.False(t, changes[0].From.Exists)
	}
}

// A group can be there, with members, before it has committed anything.
func TestPRJ19KnownGroupWithNothingToShow(t *testing.T) {
	h := newHistory(t)
	h.add(classic(1000, 1, member("m")))
	g, ok := h.state.Group("c", "g")
	require.True(t, ok)
	require.Equal(t, projection.GroupStateStable, g.State)
	require.Empty(t, h.state.Partitions("c", "g"))
	_, known := h.state.TotalLag("c", "g").Get()
	require.False(t, known)
	require.Equal(t, projection.StatusUnknown, h.state.Status("c", "g", at(2000), projection.StatusRules{}))

	h.add(commit(2000, row(0, 0, 0)))
	h.add(watermarks(2000, 0, 0, 0)) // a topic without records
	total, known := h.state.TotalLag("c", "g").Get()
	require.True(t, known)
	require.Zero(t, total)
	require.Equal(t, projection.StatusOK, h.state.Status("c", "g", at(2500), projection.StatusRules{}))
	_, ok = h.state.Group("c", "never-seen")
	require.False(t, ok)
}
