package projection_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// A group that assigns its partitions by hand is deleted: older brokers leave the tombstones
// of its offsets and none for the group. It is a deleted group, not a missing one.
func TestCAP04GroupDeletedByOffsetTombstonesOnly(t *testing.T) {
	h := newHistory(t)
	h.add(cursor(900))
	h.add(commit(1000, row(0, 10, 0), row(1, 20, 1)))
	h.add(watermarksOf(1500, ledger.Watermark{Topic: "t", LogEnd: 100, LastStable: 100}, ledger.Watermark{Topic: "t", Partition: 1, LogEnd: 100, LastStable: 100}))
	changes := h.add(tombstone(5000, ledger.CauseGroupDeleted, row(0, 0, 2), row(1, 0, 3)))
	require.Equal(t, moved(projection.MovementDeleted, projection.MovementDeleted), movements(changes))
	require.Equal(t, projection.Value{At: 20, Exists: true}, changes[1].From)
	require.False(t, changes[1].To.Exists)
	h.add(cursor(6000))

	before := h.asOf(4999)
	for p, want := range []int64{10, 20} {
		got, ok := committed(before, int32(p))
		require.True(t, ok)
		require.Equal(t, want, got)
	}
	for _, s := range []*projection.State{h.asOf(5000), h.state} {
		p, ok := s.Partition("c", "g", "t", 0)
		require.True(t, ok)
		require.False(t, p.Committed.Exists)
		require.Equal(t, at(5000), p.DeletedAt)
		require.Equal(t, projection.Value{At: 10, Exists: true}, p.Before)
		known := s.Known("c", "g", ledger.TopicPartition{Topic: "t"}, &p, projection.Asked{Time: at(5500), Now: at(6000)})
		require.Equal(t, projection.Known{Certainty: projection.CertaintyNone, DeletedAt: at(5000)}, known)

		g, ok := s.Group("c", "g")
		require.True(t, ok)
		require.Equal(t, projection.GroupStateDeleted, g.State)
		require.Equal(t, at(5000), g.DeletedAt)
		require.Equal(t, projection.TotalLag{}, s.TotalLag("c", "g"))
		require.Equal(t, projection.StatusEmpty, s.Status("c", "g", at(9_000_000), projection.StatusRules{}))
	}
}

// Offsets sent in a transaction that is aborted were never readable; of one that commits they
// are from the marker on; while it is open they stand beside the answer.
func TestCAP06TransactionalCommitThatAborts(t *testing.T) {
	open := ledger.OpenTransaction{ProducerID: 7, First: 5, Since: at(2000),
		Rows: []ledger.PendingOffset{{Group: "g", Topic: "t", At: 500, Position: 5}}}

	t.Run("aborted", func(t *testing.T) {
		h := newHistory(t)
		h.add(commit(1000, row(0, 100, 0)))
		h.add(cursor(2500, open))
		failed := tail(ledger.KindFailed, 3000, row(0, 500, 5))
		failed.Cause = ledger.CauseAborted
		require.Empty(t, h.add(failed))
		h.add(cursor(3500))
		for _, ms := range []int64{1000, 2500, 3000, 4000} {
			got, _ := committed(h.asOf(ms), 0)
			require.EqualValues(t, 100, got)
		}
		g, _ := h.state.Group("c", "g")
		require.EqualValues(t, 1, g.Statistics.Failures)
		require.Zero(t, g.Statistics.Rewinds+g.Statistics.Jumps)
	})
	t.Run("committed", func(t *testing.T) {
		h := newHistory(t)
		h.add(commit(1000, row(0, 100, 0)))
		h.add(cursor(2500, open))
		require.Len(t, h.add(inTransaction(3000, row(0, 500, 5))), 1)
		got, _ := committed(h.asOf(2999), 0)
		require.EqualValues(t, 100, got)
		got, _ = committed(h.asOf(3000), 0)
		require.EqualValues(t, 500, got)
		p, _ := h.state.Partition("c", "g", "t", 0)
		require.Nil(t, p.Pending) // applied, although the last cursor still had it open
	})
	t.Run("open", func(t *testing.T) {
		h := newHistory(t)
		h.add(commit(1000, row(0, 100, 0)))
		h.add(cursor(2500, open))
		h.wants(0, 100)
		p, _ := h.state.Partition("c", "g", "t", 0)
		require.Equal(t, &projection.Pending{At: 500, Since: at(2000)}, p.Pending)
		q, _ := h.asOf(2400).Partition("c", "g", "t", 0)
		require.Nil(t, q.Pending)
	})
}

// The interleavings of plain, transactional and deleted offsets that a real broker was asked
// after every step: at no moment does the fold show what OffsetFetch did not.
func TestTransactionsShowOnlyWhatClientsCouldRead(t *testing.T) {
	t.Run("a plain commit while one is pending stays", func(t *testing.T) {
		h := newHistory(t)
		h.add(commit(1000, row(0, 5, 0)))
		require.Equal(t, moved(projection.MovementAdvance), movements(h.add(commit(3000, row(0, 50, 2)))))
		require.Empty(t, h.add(inTransaction(4000, row(0, 100, 1))))
		h.wants(0, 50)
	})
	t.Run("of 100 then 90 in one transaction only 90", func(t *testing.T) {
		h := newHistory(t)
		changes := h.add(inTransaction(1000, row(0, 100, 0), row(1, 7, 1), row(0, 90, 2)))
		require.Len(t, changes, 2)
		require.Equal(t, []int{1, 2}, []int{changes[0].Row, changes[1].Row})
		require.False(t, changes[1].From.Exists)
		h.wants(0, 90)
	})
	t.Run("the later row of two transactions wins, not the later marker", func(t *testing.T) {
		h := newHistory(t)
		h.add(inTransaction(1000, row(0, 200, 5)))
		require.Empty(t, h.add(inTransaction(2000, row(0, 100, 4))))
		h.wants(0, 200)
	})
	t.Run("a tombstone kills what is pending, even where nothing was visible", func(t *testing.T) {
		h := newHistory(t)
		require.Empty(t, h.add(tombstone(1000, ledger.CauseGroupDeleted, row(0, 0, 3))))
		require.Empty(t, h.add(inTransaction(2000, row(0, 100, 2))))
		_, ok := committed(h.state, 0)
		require.False(t, ok)
		require.Len(t, h.add(inTransaction(3000, row(0, 110, 4))), 1) // sent after the tombstone: stands
		h.wants(0, 110)
	})
	t.Run("a second tombstone of one key is no second deletion", func(t *testing.T) {
		h := newHistory(t)
		h.add(commit(1000, row(0, 5, 0)))
		require.Len(t, h.add(tombstone(2000, ledger.CauseTopicDeleted, row(0, 0, 1))), 1)
		require.Empty(t, h.add(tombstone(2000, ledger.CauseTopicDeleted, row(0, 0, 2))))
	})
}

// Brokers store negative offsets when they are sent some. Such a value is what OffsetFetch
// answers, so it is current; but nobody can read from it, and it has no lag.
func TestCAP11NegativeOffsets(t *testing.T) {
	for _, offset := range []int64{-1, -2, -1001} {
		h := newHistory(t)
		h.add(watermarks(500, 0, 50, 50))
		h.add(commit(1000, row(0, offset, 0)))
		p, _ := h.state.Partition("c", "g", "t", 0)
		require.Equal(t, projection.Value{At: offset, Exists: true}, p.Committed)
		require.True(t, p.Invalid())
		lag := h.state.Lag("c", &p)
		require.False(t, lag.Known)
		require.Zero(t, lag.Records)
		require.Equal(t, moved(projection.MovementAdvance), movements(h.add(commit(2000, row(0, 40, 1)))))
		require.Equal(t, projection.TotalLag{Records: 10, Readable: 10, Known: 1}, h.state.TotalLag("c", "g"))
	}
}

// A topic is deleted and made again under its name. An offset of the former topic is no
// measure for the new one: no rewind of 995, no lag out of two logs.
func TestCAP14TopicMadeAgainUnderTheSameName(t *testing.T) {
	a, b := uuid.MustParse("00000000-0000-0000-0000-00000000000a"), uuid.MustParse("00000000-0000-0000-0000-00000000000b")
	with := func(id uuid.UUID, r ledger.Offset) ledger.Offset { r.TopicID = id; return r }
	recreated := ledger.Event{Kind: ledger.KindTopic, Topic: "t", Time: at(2000), TopicInfo: &ledger.TopicInfo{TopicID: b, Partitions: 1, Recreated: true}}
	newMarks := watermarksOf(2500, ledger.Watermark{Topic: "t", TopicID: b, LogEnd: 50, LastStable: 50})

	t.Run("by id", func(t *testing.T) {
		h := newHistory(t)
		h.add(commit(1000, with(a, row(0, 1000, 0))))
		h.add(recreated)
		h.add(newMarks)
		p, _ := h.state.Partition("c", "g", "t", 0)
		require.True(t, p.OtherTopic)
		require.False(t, h.state.Lag("c", &p).Known)

		late := h.add(commit(3000, with(a, row(0, 1001, 1)))) // still of the former topic
		require.Equal(t, moved(projection.MovementAdvance), movements(late))
		p, _ = h.state.Partition("c", "g", "t", 0)
		require.True(t, p.OtherTopic)
		require.False(t, h.state.Lag("c", &p).Known)

		require.Equal(t, moved(projection.MovementRecreated), movements(h.add(commit(4000, with(b, row(0, 5, 2))))))
		p, _ = h.state.Partition("c", "g", "t", 0)
		require.False(t, p.OtherTopic)
		require.EqualValues(t, 45, h.state.Lag("c", &p).Records)
		g, _ := h.state.Group("c", "g")
		require.Zero(t, g.Statistics.Rewinds)
	})
	t.Run("without ids", func(t *testing.T) {
		h := newHistory(t)
		h.add(commit(1000, row(0, 1000, 0)))
		h.add(recreated)
		h.add(newMarks)
		p, _ := h.state.Partition("c", "g", "t", 0)
		require.True(t, p.OtherTopic)
		require.Equal(t, moved(projection.MovementRecreated), movements(h.add(commit(3000, row(0, 5, 1)))))
		p, _ = h.state.Partition("c", "g", "t", 0)
		require.EqualValues(t, 45, h.state.Lag("c", &p).Records)
	})
	t.Run("deleted in between", func(t *testing.T) {
		h := newHistory(t)
		h.add(commit(1000, with(a, row(0, 1000, 0))))
		h.add(tombstone(1500, ledger.CauseTopicDeleted, row(0, 0, 1)))
		require.Equal(t, moved(projection.MovementRecreated), movements(h.add(commit(4000, with(b, row(0, 5, 2))))))
	})
}

// Committing an unchanged offset every few seconds is a habit that keeps it from expiring.
// It is healthy with nothing left to read, and a stall with something left.
func TestCAP15SameOffsetAgainAndAgain(t *testing.T) {
	for _, c := range []struct {
		end    int64
		status projection.Status
	}{{10, projection.StatusOK}, {500, projection.StatusStalled}} {
		h := newHistory(t)
		h.add(classic(500, 1, member("m", 0)))
		h.add(watermarks(900, 0, c.end, c.end))
		for i := range int64(100) {
			h.add(commit(1000+5000*i, row(0, 10, i)))
		}
		p, _ := h.state.Partition("c", "g", "t", 0)
		require.Equal(t, at(1000+5000*99), p.Effective)
		require.Equal(t, at(1000), p.Moved)
		require.Equal(t, c.status, h.state.Status("c", "g", at(500_000), projection.StatusRules{}))
	}
}

// Of a commit of three partitions the broker took one. The refused rows are failures, and
// what was current stays.
func TestCAP18RefusedRowsLeaveCurrentUntouched(t *testing.T) {
	h := newHistory(t)
	h.add(commit(1000, row(0, 1, 0), row(1, 1, 1), row(2, 1, 2)))
	manager := ledger.Source{Kind: ledger.SourceManager, Instance: "m1"}
	took := ledger.Event{Kind: ledger.KindCommitted, Group: "g", Time: at(2000), Source: manager, Offsets: []ledger.Offset{row(0, 9, 0)}}
	refused := ledger.Event{Kind: ledger.KindFailed, Group: "g", Time: at(2000), Source: manager, Cause: ledger.CauseRefused,
		Offsets: []ledger.Offset{row(1, 9, 0), row(2, 9, 0)}}
	require.Len(t, h.add(took), 1)
	require.Empty(t, h.add(refused))
	h.wants(0, 9)
	h.wants(1, 1)
	h.wants(2, 1)
	g, _ := h.state.Group("c", "g")
	require.Equal(t, [3]uint64{3, 2, 1}, [3]uint64{g.Statistics.Commits, g.Statistics.Successes, g.Statistics.Failures})
}

// The broker lost the end of a source partition. The rows stay, since clients read them; what
// the broker has now is a roll-back, not a rewind, and the positions are given out again.
func TestTruncatedSourceRollsBack(t *testing.T) {
	h := newHistory(t)
	h.add(commit(1000, row(0, 10, 9), row(1, 5, 0)))
	h.add(commit(1100, row(0, 20, 10)))
	h.add(ledger.Event{Kind: ledger.KindGap, Time: at(2000), Cause: ledger.CauseTruncated,
		Gap: &ledger.Gap{SourcePartition: 3, First: 10, Last: 19}})
	reread := commit(2000, row(0, 10, 0))
	reread.Source.Kind = ledger.SourceReconcile
	require.Equal(t, moved(projection.MovementRolledBack), movements(h.add(reread)))
	require.Len(t, h.add(inTransaction(3000, row(0, 30, 10))), 1)
	h.wants(0, 30)
	h.wants(1, 5)
}

// A group that goes on committing from what the broker still had is not said to have moved
// itself back; the one that had already come further again has just advanced.
func TestCommitsAfterATruncationAreNoRewind(t *testing.T) {
	h := newHistory(t)
	h.add(commit(1000, row(0, 20, 10), row(1, 20, 11)))
	h.add(ledger.Event{Kind: ledger.KindGap, Time: at(2000), Cause: ledger.CauseTruncated,
		Gap: &ledger.Gap{SourcePartition: 3, First: 10, Last: 19}})
	require.Equal(t, moved(projection.MovementRolledBack), movements(h.add(commit(2100, row(0, 11, 10)))))
	require.Equal(t, moved(projection.MovementAdvance), movements(h.add(commit(2200, row(1, 21, 11)))))
	require.Equal(t, moved(projection.MovementRewind), movements(h.add(commit(2300, row(0, 5, 12)))))
}

// A record of a known key that could not be decoded makes the answer unknown, not the last
// readable one; the next readable record mends it.
func TestUndecodableRecordMakesTheAnswerUnknown(t *testing.T) {
	h := newHistory(t)
	h.add(cursor(900))
	h.add(commit(1000, row(0, 10, 0)))
	h.add(ledger.Event{Kind: ledger.KindOpaque, Time: at(2000), Source: ledger.Source{Kind: ledger.SourceTail, Partition: 3},
		Opaque: &ledger.Opaque{Key: []byte("\x00\x01\x00\x01g\x00\x01t\x00\x00\x00\x00"), Value: []byte{0, 9}}})
	h.add(cursor(2500))
	p, _ := h.state.Partition("c", "g", "t", 0)
	known := h.state.Known("c", "g", ledger.TopicPartition{Topic: "t"}, &p, projection.Asked{Now: at(2600)})
	require.Equal(t, projection.Known{Why: projection.WhyUnreadable}, known)
	h.add(commit(3000, row(0, 11, 1)))
	p, _ = h.state.Partition("c", "g", "t", 0)
	require.False(t, p.Unreadable)
}

// A poll found another offset than the one before: it changed at some moment in between. As
// of a moment inside, the old value may be true or not any more, and the answer says so; what
// a manager tells of its own commits is no such interval.
func TestPolledRowsAreIntervals(t *testing.T) {
	polled := func(from, to, offset int64) ledger.Event {
		ev := commit(to, row(0, offset, 0))
		ev.Source, ev.NotBefore = ledger.Source{Kind: ledger.SourcePoll}, at(from)
		return ev
	}
	end := cursor(30_000)
	end.Cursor.Lines = nil
	h := newHistory(t)
	h.add(polled(0, 10_000, 5))
	h.add(polled(10_000, 20_000, 6))
	h.add(end)
	tp := ledger.TopicPartition{Topic: "t"}
	for ms, want := range map[int64]struct {
		offset   int64
		from, to ledger.Time
	}{9_000: {0, at(0), at(10_000)}, 10_000: {5, at(0), at(10_000)}, 15_000: {5, at(10_000), at(20_000)}, 25_000: {6, at(10_000), at(20_000)}} {
		s := h.asOf(ms)
		p, ok := s.Partition("c", "g", "t", 0)
		if ms < 10_000 {
			require.False(t, ok)
			continue
		}
		require.Equal(t, want.offset, p.Committed.At)
		require.Equal(t, projection.Known{Certainty: projection.CertaintyInterval, NotBefore: want.from, NotAfter: want.to},
			s.Known("c", "g", tp, &p, projection.Asked{Time: at(ms), Now: at(31_000)}), "at %d", ms)
	}
	cov, _ := h.state.Coverage("c")
	require.Equal(t, ledger.SourcePoll, cov.Source)
	require.Equal(t, at(30_000), cov.Through)

	m := newHistory(t)
	m.add(fromManager(1000, row(0, 5, 0)))
	p, _ := m.state.Partition("c", "g", "t", 0)
	require.False(t, p.NotBefore.Known())
}
