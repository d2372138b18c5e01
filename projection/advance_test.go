package projection

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/offsetledger/offsetledger/ledger"
)

// oddRow makes of a row that is the next step of its partition one that is not just that.
func oddRow(t *rapid.T, oddity int, r *ledger.Offset) {
	switch oddity {
	case 0:
		r.At = rapid.SampledFrom([]int64{0, -1, r.At - 500, r.At + 1<<40, 1<<63 - 1}).Draw(t, "at")
	case 1:
		r.At += rapid.Int64Range(0, 20_000).Draw(t, "more")
	case 2:
		r.Topic = "u"
	case 3:
		r.TopicID = rapid.SampledFrom([]uuid.UUID{{}, {1}, {2}}).Draw(t, "id")
	case 4:
		r.ExpireTime = ledger.AtMillis(5)
	case 5:
		r.Effective = rapid.SampledFrom([]ledger.Time{{}, ledger.AtMillis(3), ledger.AtMillis(1 << 40)}).Draw(t, "effective")
	case 6:
		r.Metadata = rapid.SampledFrom([]string{"m", "note"}).Draw(t, "metadata")
	case 7:
		r.LeaderEpoch = ledger.EpochOf(rapid.Int32Range(-1, 3).Draw(t, "epoch"))
	case 8:
		r.Flags = rapid.SampledFrom([]ledger.Flags{ledger.FlagTrailingBytes, ledger.FlagReplaced}).Draw(t, "flags")
	case 9:
		r.Partition += 3
	}
}

// oddEvent makes of a commit that the tail saw an event that is not just that.
func oddEvent(t *rapid.T, oddity int, ev *ledger.Event) {
	switch oddity {
	case 0:
		ev.Kind = rapid.SampledFrom([]ledger.Kind{ledger.KindDeleted, ledger.KindReset}).Draw(t, "kind")
	case 1:
		ev.Source.Kind, ev.NotBefore = ledger.SourcePoll, ev.Time.Add(-time.Second)
	case 2:
		ev.Source.Transactional = true
	case 3:
		ev.Source.Kind = ledger.SourceManager
	case 4:
		members := []ledger.Member{{ID: "m", Assigned: []ledger.TopicPartitions{{Topic: "t", Partitions: []int32{1}}}}}
		ev.Kind, ev.Offsets = ledger.KindGroup, nil
		ev.Membership = &ledger.Membership{RecordType: ledger.RecordClassicGroup, Members: members[:rapid.IntRange(0, 1).Draw(t, "members")]}
	}
}

// mostlyReading draws commits of one group that mostly go forward, as reading does. Each history
// has odd rows of one kind and odd events of one: many oddities keep all rows from the short way.
func mostlyReading(t *rapid.T) []ledger.Record {
	ofRows, ofEvents := rapid.IntRange(0, 10).Draw(t, "odd rows"), rapid.IntRange(0, 5).Draw(t, "odd events")
	ms, position, offset := int64(1000), int64(0), int64(0)
	recs := make([]ledger.Record, rapid.IntRange(1, 40).Draw(t, "events"))
	for n := range recs {
		ms += rapid.Int64Range(0, 3000).Draw(t, "pause")
		offset += rapid.Int64Range(0, 300).Draw(t, "moved")
		ev := ledger.Event{Cluster: "c", Group: "g", Kind: ledger.KindCommitted, Time: ledger.AtMillis(ms),
			Source: ledger.Source{Kind: ledger.SourceTail, Offset: position}}
		for p := range rapid.Int32Range(1, 6).Draw(t, "rows") {
			r := ledger.Offset{Topic: "t", TopicID: uuid.UUID{1}, Partition: p, At: offset, SourceOffset: position,
				CommitTime: ev.Time, Effective: ev.Time}
			if rapid.IntRange(0, 7).Draw(t, "odd") == 0 {
				oddRow(t, ofRows, &r)
			}
			ev.Offsets = append(ev.Offsets, r)
			position++
		}
		if rapid.IntRange(0, 7).Draw(t, "odd") == 0 {
			oddEvent(t, ofEvents, &ev)
		}
		appended := time.UnixMilli(ms + rapid.Int64Range(0, 5000).Draw(t, "appended"))
		recs[n] = ledger.Record{Seq: uint64(n + 1), Appended: appended, Event: ev}
	}
	return recs
}

// Rows that are folded in the short way leave behind what the long way leaves, to the last bit.
func TestTheShortWayOfFoldingIsTheLongOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		short, long := NewState(), NewState()
		for _, rec := range mostlyReading(t) {
			require.NoError(t, short.ApplyUpTo(rec, ledger.Time{}))
			_, err := long.Apply(rec)
			require.NoError(t, err)
			require.Equal(t, long.clusters, short.clusters)
		}
	})
}

// So do those of a moment in the past.
func TestTheShortWayEndsAtTheMomentAskedFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		until := ledger.AtMillis(rapid.Int64Range(0, 60_000).Draw(t, "until"))
		short, long := NewState(), NewState()
		for _, rec := range mostlyReading(t) {
			require.NoError(t, short.ApplyUpTo(rec, until))
			long.limited, long.until, long.quiet, long.rec = true, until, false, rec
			_, err := long.apply()
			require.NoError(t, err)
			require.Equal(t, long.clusters, short.clusters)
		}
	})
}
