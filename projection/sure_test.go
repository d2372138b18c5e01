package projection_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// onLine moves an event to a source partition and a group.
func onLine(partition int32, group string, ev ledger.Event) ledger.Event {
	ev.Source.Partition, ev.Group = partition, group
	return ev
}

// lines is a cursor of several source partitions, each read to the end at its moment.
func lines(ms int64, through map[int32]int64) ledger.Event {
	ev := cursor(ms)
	ev.Cursor.Lines = nil
	for partition, ms := range through {
		ev.Cursor.Lines = append(ev.Cursor.Lines, ledger.SourceLine{Partition: partition, CompleteThrough: at(ms), MaxEffective: at(ms)})
	}
	return ev
}

// How sure the state after a record is, is what is known of the group's own source partition
// then: that another partition keeps up, or that watermarks were observed, says nothing of it.
func TestBySequenceOnlyTheGroupsOwnSourcePartitionCounts(t *testing.T) {
	h := newHistory(t)
	h.add(lines(10_000, map[int32]int64{3: 10_000, 4: 10_000}))
	h.add(onLine(3, "g", commit(11_000, row(0, 5, 0))))
	h.add(onLine(4, "other", commit(11_000, row(0, 5, 0))))
	sure := func(group string, now int64) [2]projection.Known {
		tp := ledger.TopicPartition{Topic: "t"}
		p, ok := h.state.Partition("c", group, "t", 0)
		require.True(t, ok)
		q := projection.Asked{Now: at(now)}
		return [2]projection.Known{h.state.Known("c", group, tp, &p, q), h.state.Sure("c", &group, q)}
	}
	exact := projection.Known{Certainty: projection.CertaintyExact}
	stale := func(ms int64) projection.Known {
		return projection.Known{Certainty: projection.CertaintyStale, Until: at(ms)}
	}
	both := func(k projection.Known) [2]projection.Known { return [2]projection.Known{k, k} }

	require.Equal(t, both(exact), sure("g", 11_000), "its own commit is how far its partition was read")
	h.add(onLine(4, "other", commit(60_000, row(0, 6, 1))))
	require.Equal(t, both(stale(11_000)), sure("g", 60_000), "the other partition was read on")
	require.Equal(t, both(exact), sure("other", 60_000))
	h.add(watermarks(61_000, 0, 10, 10))
	require.Equal(t, both(stale(11_000)), sure("g", 61_000), "only the topic was looked at")
	h.add(lines(62_000, map[int32]int64{3: 12_000, 4: 61_000}))
	require.Equal(t, both(stale(12_000)), sure("g", 62_000), "capture has not come further with it")
	require.Equal(t, stale(12_000), h.state.Sure("c", nil, projection.Asked{Now: at(62_000)}), "the whole is as sure as its least")
	h.add(lines(63_000, map[int32]int64{3: 62_000}))
	require.Equal(t, both(exact), sure("g", 63_000))
	require.Equal(t, exact, h.state.Sure("c", nil, projection.Asked{Now: at(63_000)}))
}

// Where only managers write there is no capture to wait for, neither for a row nor for the whole.
func TestALedgerThatManagersAloneWriteIsExact(t *testing.T) {
	h := newHistory(t)
	h.add(fromManager(1000, row(0, 5, 0)))
	group := "g"
	p, _ := h.state.Partition("c", "g", "t", 0)
	for _, q := range []projection.Asked{{Now: at(900_000)}, {Time: at(800_000), Now: at(900_000)}} {
		exact := projection.Known{Certainty: projection.CertaintyExact}
		require.Equal(t, exact, h.state.Known("c", "g", ledger.TopicPartition{Topic: "t"}, &p, q))
		require.Equal(t, exact, h.state.Sure("c", &group, q))
		require.Equal(t, exact, h.state.Sure("c", nil, q))
	}
}

// Before capture began nothing is known of what has no row yet; of a group that had some then,
// and of a ledger that does not hold the cluster, it is said so.
func TestBeforeHistoryIsUnknownAsAWhole(t *testing.T) {
	h := newHistory(t)
	h.add(cursor(5000))
	h.add(commit(3000, row(0, 5, 0)))
	group, other := "g", "other"
	unknown := projection.Known{Why: projection.WhyBeforeHistory}
	for ms, want := range map[int64]projection.Known{2000: unknown, 3000: {Certainty: projection.CertaintyExact}} {
		s, q := h.asOf(ms), projection.Asked{Time: at(ms), Now: at(6000)}
		require.Equal(t, want, s.Sure("c", nil, q), "at %d", ms)
		require.Equal(t, want, s.Sure("c", &group, q), "at %d", ms)
		require.Equal(t, unknown, s.Sure("c", &other, q), "at %d", ms)
		require.Equal(t, unknown, s.Sure("unheard of", nil, q), "at %d", ms)
	}
}

// Records were removed before they were read, and whose they were is still being found out: what
// is said of later moments can change until then.
func TestBehindAnUnsettledHoleNothingIsFinal(t *testing.T) {
	h := newHistory(t)
	h.add(cursor(1000))
	h.add(commit(1500, row(0, 5, 0)))
	open := cursor(9000)
	open.Cursor.Lines[0].Hole = &ledger.Hole{First: 3, Last: 7, Until: 20, From: at(2000)}
	h.add(open)
	tp, group := ledger.TopicPartition{Topic: "t"}, "g"
	p, _ := h.state.Partition("c", "g", "t", 0)
	known := func(ms int64) projection.Known {
		return h.state.Known("c", "g", tp, &p, projection.Asked{Time: at(ms), Now: at(9500)})
	}
	require.Equal(t, projection.CertaintyExact, known(2000).Certainty)
	require.Equal(t, projection.Known{Certainty: projection.CertaintyStale, Until: at(2000)}, known(3000))
	require.Equal(t, at(2000), h.state.Through("c", &group))
	h.add(cursor(9100))
	require.Equal(t, projection.CertaintyExact, known(3000).Certainty)
}
