package projection

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
)

func TestKnown(t *testing.T) {
	at := ledger.AtMillis
	there := &Partition{Committed: Value{At: 5, Exists: true}, Effective: at(2000)}
	gone := &Partition{DeletedAt: at(2000)}
	polled := &Partition{Committed: Value{At: 5, Exists: true}, NotBefore: at(1000), Effective: at(2000)}
	unsure := &Partition{Committed: Value{At: 5, Exists: true}, Effective: at(500), Unsure: &Interval{at(1000), at(2000)}}
	pending := &Partition{Pending: &Pending{At: 9}}
	asOf := func(ms int64) Asked { return Asked{Time: at(ms), Now: at(100_000)} }
	nowAt := func(ms int64) Asked { return Asked{Now: at(ms)} }

	for name, c := range map[string]struct {
		in   knowing
		want Known
	}{
		"exact":                  {knowing{p: there, asked: asOf(3000), through: at(3000)}, Known{Certainty: CertaintyExact}},
		"capture not yet there":  {knowing{p: there, asked: asOf(3001), through: at(3000)}, Known{Certainty: CertaintyStale, Until: at(3000)}},
		"never at the end":       {knowing{p: there, asked: asOf(3001)}, Known{Certainty: CertaintyStale}},
		"now, close behind":      {knowing{p: there, asked: nowAt(9000), through: at(3000)}, Known{Certainty: CertaintyExact}},
		"now, away":              {knowing{p: there, asked: nowAt(9001), through: at(3000)}, Known{Certainty: CertaintyStale, Until: at(3000)}},
		"polled":                 {knowing{p: polled, asked: asOf(2500), through: at(3000)}, Known{Certainty: CertaintyInterval, NotBefore: at(1000), NotAfter: at(2000)}},
		"before a poll":          {knowing{p: unsure, asked: asOf(1500), through: at(3000)}, Known{Certainty: CertaintyInterval, NotBefore: at(1000), NotAfter: at(2000)}},
		"deleted":                {knowing{p: gone, asked: asOf(2500), through: at(3000)}, Known{Certainty: CertaintyNone, DeletedAt: at(2000)}},
		"deleted, capture away":  {knowing{p: gone, asked: asOf(3500), through: at(3000)}, Known{Certainty: CertaintyStale, Until: at(3000), DeletedAt: at(2000)}},
		"never":                  {knowing{asked: asOf(2500), began: at(1000), through: at(3000)}, Known{Certainty: CertaintyNone, Never: true}},
		"before history":         {knowing{asked: asOf(999), began: at(1000), through: at(3000)}, Known{Why: WhyBeforeHistory}},
		"before any capture":     {knowing{asked: asOf(999), through: at(3000)}, Known{Why: WhyBeforeHistory}},
		"only pending":           {knowing{p: pending, asked: asOf(2500), began: at(1000), through: at(3000)}, Known{Why: WhyOnlyPending}},
		"unreadable":             {knowing{p: &Partition{Committed: Value{Exists: true}, Unreadable: true}, asked: asOf(2500), through: at(3000)}, Known{Why: WhyUnreadable}},
		"in a gap":               {knowing{p: there, asked: asOf(2500), through: at(3000), hidden: true}, Known{Why: WhyGap}},
		"told by managers":       {knowing{p: there, asked: asOf(2500), told: true}, Known{Certainty: CertaintyExact}},
		"told by managers, ever": {knowing{p: there, asked: asOf(100_001), told: true}, Known{Certainty: CertaintyStale}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, c.in.known()) })
	}
}

// What compaction removed while capture was away concerns the keys that have a row behind the
// hole, from where capture stood to that row; other keys have lost nothing.
func TestGapOfSomeKeys(t *testing.T) {
	at := ledger.AtMillis
	s := NewState()
	for i, ev := range []ledger.Event{
		{Kind: ledger.KindCommitted, Time: at(1000), Offsets: []ledger.Offset{{Topic: "t"}, {Topic: "t", Partition: 1}}},
		{Kind: ledger.KindGap, Time: at(9000), Cause: ledger.CauseCompacted, Offsets: []ledger.Offset{{Topic: "t"}},
			Gap: &ledger.Gap{OfGroup: true, From: at(2000), To: at(8000)}},
		{Kind: ledger.KindCommitted, Time: at(8000), Offsets: []ledger.Offset{{Topic: "t", At: 9}}},
		{Kind: ledger.KindCursor, Time: at(9500), Cursor: &ledger.Cursor{Complete: true, Lines: []ledger.SourceLine{{Partition: 3, CompleteThrough: at(9000)}}}},
	} {
		ev.Cluster, ev.Group, ev.Source = "c", "g", ledger.Source{Kind: ledger.SourceTail, Partition: 3}
		err := s.ApplyUpTo(ledger.Record{Seq: uint64(i + 1), Event: ev}, at(5000))
		require.NoError(t, err)
	}
	for partition, want := range []Known{{Why: WhyGap}, {Certainty: CertaintyExact}} {
		tp := ledger.TopicPartition{Topic: "t", Partition: int32(partition)}
		p, ok := s.Partition("c", "g", tp.Topic, tp.Partition)
		require.True(t, ok)
		require.Equal(t, want, s.Known("c", "g", tp, &p, Asked{Time: at(5000), Now: at(9600)}))
	}
	gaps := s.Gaps("c", nil, Interval{at(8000), at(9000)})
	require.Len(t, gaps, 1)
	require.Equal(t, []ledger.TopicPartition{{Topic: "t"}}, gaps[0].Keys)
	require.Empty(t, s.Gaps("c", nil, Interval{at(8001), at(9000)}))
}
