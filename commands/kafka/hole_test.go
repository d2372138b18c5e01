package kafka

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
)

// Capture was away while compaction ran: of the keys with a row behind the missing positions,
// the first row says since when it is exact again. Rows after it, and keys without one, are
// untouched.
func TestGapOfEachKeyBehindAHole(t *testing.T) {
	lt, s := newLineTest(t), &source{at: 1000}
	lt.feed(s.plain("g", "t", 0, 1), s.plain("g", "t", 1, 1), s.plain("h", "t", 0, 1))
	lt.crash()
	s.next, s.at = 10, 5000
	lt.line.high = 13
	events := lt.feed(s.plain("g", "t", 0, 7))
	require.Equal(t, []string{"gap", "committed"}, kinds(events))
	gap := events[0]
	require.Equal(t, "g", gap.Group)
	require.Equal(t, ledger.CauseCompacted, gap.Cause)
	require.Len(t, gap.Offsets, 1)
	require.Equal(t, ledger.Gap{OfGroup: true, SourcePartition: 3, First: 3, Last: 9, From: ledger.AtMillis(1000), To: ledger.AtMillis(5000)}, *gap.Gap)

	s.at = 6000
	require.Equal(t, []string{"committed"}, kinds(lt.feed(s.plain("g", "t", 0, 8))), "exact since its first row")
	require.Equal(t, []string{"gap", "committed"}, kinds(lt.feed(s.plain("g", "t", 1, 8))))
	require.Equal(t, []string{"committed"}, kinds(lt.feed(s.plain("h", "t", 0, 8))),
		"behind what was the end when the hole was found: it has lost nothing")
}

// Capture dies while it reads behind a hole. What it had still to say of the other keys is
// said after the restart, and what it had said is not said again.
func TestHoleSurvivesAKill(t *testing.T) {
	for deaths := range 3 {
		lt, s := newLineTest(t), &source{at: 1000}
		lt.feed(s.plain("g", "t", 0, 10), s.plain("h", "t", 0, 10), s.plain("i", "t", 0, 10))
		lt.crash()
		s.next, s.at = 20, 9000 // 3 to 19 were compacted away
		lt.line.high = 24
		for i, r := range []sourceRecord{s.plain("g", "t", 0, 50), s.plain("h", "t", 0, 60), s.plain("g", "t", 0, 51), s.plain("h", "t", 0, 61)} {
			lt.feed(r)
			if i < deaths {
				lt.crash()
			}
		}
		require.True(t, lt.line.hole.ended(lt.line.next), "the coordinators are still to be asked for i")
		require.Equal(t, int64(3), lt.cursor().Hole.First)
		lt.crash()
		require.True(t, lt.line.hole.ended(lt.line.next), "also after a restart")
		gaps := map[string][]ledger.Gap{}
		for _, e := range lt.log {
			if e.Kind == ledger.KindGap {
				gaps[e.Group] = append(gaps[e.Group], *e.Gap)
			}
		}
		gap := ledger.Gap{OfGroup: true, SourcePartition: 3, First: 3, Last: 19, From: ledger.AtMillis(1000), To: ledger.AtMillis(9000)}
		require.Equal(t, map[string][]ledger.Gap{"g": {gap}, "h": {gap}}, gaps, "%d deaths", deaths)
	}
}

// Compaction overtook capture for a second time before the coordinators had answered about the
// first. The keys that were known since the first hole may have lost rows anew.
func TestSecondHoleBeforeTheFirstIsSettled(t *testing.T) {
	lt, s := newLineTest(t), &source{at: 1000}
	lt.feed(s.plain("g", "t", 0, 1))
	lt.crash()
	s.next, s.at, lt.line.high = 10, 5000, 11
	lt.feed(s.plain("g", "t", 0, 2))
	lt.crash()
	s.next, s.at, lt.line.high = 20, 9000, 21
	events := lt.feed(s.plain("g", "t", 0, 3))
	require.Equal(t, []string{"gap", "committed"}, kinds(events))
	require.Equal(t, ledger.Gap{OfGroup: true, SourcePartition: 3, First: 11, Last: 19, From: ledger.AtMillis(1000), To: ledger.AtMillis(9000)}, *events[0].Gap)
}

// A capture that has run since its first start stood still, since it could store nothing, for
// so long that compaction overtook it. That is a hole as after a restart.
func TestHoleOfACaptureThatStoodStill(t *testing.T) {
	lt, s := newLineTest(t), &source{at: 1000}
	lt.line.firstEnd = 2
	lt.feed(s.plain("g", "t", 0, 1), s.plain("g", "t", 0, 2))
	s.next, s.at, lt.line.high = 10, 5000, 11
	require.Equal(t, []string{"gap", "committed"}, kinds(lt.feed(s.plain("g", "t", 0, 7))))
}

// At the first start compaction has left the end of each key's history; there is no gap.
func TestNoGapAtTheFirstStart(t *testing.T) {
	lt, s := newLineTest(t), &source{at: 1000}
	first := s.plain("g", "t", 0, 1)
	s.next = 50
	lt.line.high, lt.line.firstEnd = 51, 51
	require.Equal(t, []string{"committed", "committed"}, kinds(lt.feed(first, s.plain("g", "t", 0, 2))))
}

// facts are what a test knows of groups.
type facts map[string]ledger.Time

func (f facts) RetainedFrom(group string, _ ledger.TopicPartition) (ledger.Time, bool) {
	from, ok := f[group]
	return from, ok
}

func (facts) AppliedFrom(context.Context, uint64, int32, int64) ([]OffsetKey, error) { return nil, nil }

func (facts) Committed() []ledger.TopicPartition { return nil }

func factsOf(f facts) GroupFacts { return f }

// Kafka records no cause of a deletion. It is concluded from how long the offset was kept and
// from what stands behind the tombstones.
func TestCausesOfDeletions(t *testing.T) {
	week := ledger.AtMillis(time.Hour.Milliseconds() * 24 * 7)
	for _, c := range []struct {
		name  string
		facts GroupFacts
		gone  bool
		want  ledger.Cause
	}{
		{"kept for its time", factsOf(facts{"g": ledger.AtMillis(1000)}), false, ledger.CauseExpired},
		{"kept for its time, and the group ended with it", factsOf(facts{"g": ledger.AtMillis(1000)}), true, ledger.CauseExpired},
		{"not kept for its time", factsOf(facts{"g": week}), false, ledger.CauseDeleted},
		{"members are there", factsOf(facts{"g": {}}), false, ledger.CauseDeleted},
		{"the group ended", factsOf(facts{"g": week}), true, ledger.CauseGroupDeleted},
		{"nothing is known but that the group ended", factsOf(facts{}), true, ledger.CauseGroupDeleted},
		{"nothing is known", factsOf(facts{}), false, ledger.CauseUnknown},
		{"nobody to ask", nil, false, ledger.CauseUnknown},
	} {
		lt, s := newLineTest(t), &source{at: 1000 + time.Hour.Milliseconds()*24*7}
		lt.line.retention = retention{period: 7 * 24 * time.Hour, facts: c.facts}
		records := []sourceRecord{s.tombstone("g", "t", 0), s.tombstone("g", "t", 1)}
		if c.gone {
			records = append(records, s.groupTombstone("g"))
		}
		events := lt.feed(records...)
		require.Equal(t, c.want, events[0].Cause, c.name)
		require.True(t, events[0].CauseInferred, c.name)
		require.Len(t, events[0].Offsets, 2, c.name)
		if c.gone {
			require.Equal(t, []string{"deleted", "group"}, kinds(events), c.name)
			require.True(t, events[1].Membership.Deleted)
		}
	}
}

// The end of another group, or of this one a moment later, explains nothing.
func TestEndOfAGroupExplainsOnlyItsOwnBatch(t *testing.T) {
	lt, s := newLineTest(t), &source{at: 1000}
	events := lt.feed(s.tombstone("g", "t", 0), s.groupTombstone("h"))
	require.Equal(t, ledger.CauseUnknown, events[0].Cause)
	row := s.tombstone("g", "t", 0)
	s.at++
	require.Equal(t, ledger.CauseUnknown, lt.feed(row, s.groupTombstone("g"))[0].Cause)
}

func TestDeletionsOfADeletedTopic(t *testing.T) {
	event := func(cause ledger.Cause, topics ...string) ledger.Event {
		e := ledger.Event{Kind: ledger.KindDeleted, Cause: cause, CauseInferred: true}
		for _, topic := range topics {
			e.Offsets = append(e.Offsets, ledger.Offset{Topic: topic})
		}
		return e
	}
	events := []ledger.Event{
		event(ledger.CauseDeleted, "gone"), event(ledger.CauseUnknown, "gone", "gone"),
		event(ledger.CauseDeleted, "gone", "here"), event(ledger.CauseGroupDeleted, "gone"), event(ledger.CauseExpired, "gone"),
	}
	explain(events, func(topic string) bool { return topic == "gone" })
	require.Equal(t, []ledger.Cause{
		ledger.CauseTopicDeleted, ledger.CauseTopicDeleted, ledger.CauseDeleted, ledger.CauseGroupDeleted, ledger.CauseExpired,
	}, mapEvents(events, func(e ledger.Event) ledger.Cause { return e.Cause }))
}

// A coordinator moved to a host whose clock is behind, one client's clock is in 2099, and one
// record has a time that no calendar holds. Order is that of the log, and the absurd times
// hide nothing.
func TestPRJ09CommitTimesThatGoBackOrLieFarAhead(t *testing.T) {
	const ten = 1_800_000_000_000
	lt := newLineTest(t)
	s := &source{}
	commit := func(at, commitTime int64) sourceRecord {
		s.at = commitTime
		r := s.plain("g", "t", 0, at)
		r.timestamp = ledger.AtMillis(commitTime)
		return r
	}
	lt.now = ledger.AtMillis(ten + 7000)
	events := lt.feed(commit(10, ten+5000), commit(11, ten+2000), commit(12, 4_102_444_800_000), commit(13, ten+6000), commit(14, 9223372036854775807))
	require.Equal(t, []int64{10, 11, 12, 13, 14}, allAts(events))
	require.Equal(t, []ledger.Time{
		ledger.AtMillis(ten + 5000), ledger.AtMillis(ten + 5000), ledger.AtMillis(ten + 7000),
		ledger.AtMillis(ten + 7000), ledger.AtMillis(ten + 7000),
	}, mapEvents(events, func(e ledger.Event) ledger.Time { return e.Time }))
	require.Equal(t, ledger.AtMillis(9223372036854775807), events[4].Offsets[0].CommitTime, "as the broker has it")
}
