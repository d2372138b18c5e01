package projection

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/offsetledger/offsetledger/ledger"
)

// rareRow draws a row that is not just the next step of its partition, in one of the ways that
// there are.
func rareRow(t *rapid.T, r *ledger.Offset) {
	switch rapid.IntRange(0, 9).Draw(t, "oddity") {
	case 0:
		r.At = rapid.SampledFrom([]int64{0, -1, r.At - 500, r.At + 1<<40, 1<<63 - 1}).Draw(t, "at")
	case 1:
		r.Topic = "u"
	case 2:
		r.TopicID = rapid.SampledFrom([]uuid.UUID{{}, {1}, {2}}).Draw(t, "id")
	case 3:
		r.ExpireTime = ledger.AtMillis(5)
	case 4:
		r.Effective = rapid.SampledFrom([]ledger.Time{{}, ledger.AtMillis(3), ledger.AtMillis(1 << 40)}).Draw(t, "effective")
	case 5:
		r.Metadata = rapid.SampledFrom([]string{"m", "note"}).Draw(t, "metadata")
	case 6:
		r.LeaderEpoch = ledger.EpochOf(rapid.Int32Range(-1, 3).Draw(t, "epoch"))
	case 7:
		r.Flags = ledger.FlagTrailingBytes
	case 8:
		r.Partition += 3
	}
}

// mostlyReading draws commits of one group that mostly go forward, as reading does, with
// members that come and go.
func mostlyReading(t *rapid.T) []ledger.Record {
	var recs []ledger.Record
	ms, position, offset := int64(1000), int64(0), int64(1000)
	rare := func() bool { return rapid.IntRange(0, 19).Draw(t, "rare") == 0 }
	for range rapid.IntRange(1, 40).Draw(t, "events") {
		ms += rapid.Int64Range(0, 3000).Draw(t, "pause")
		ev := ledger.Event{Cluster: "c", Group: "g", Kind: ledger.KindCommitted, Time: ledger.AtMillis(ms)}
		ev.Source.Kind = rapid.SampledFrom([]ledger.SourceKind{ledger.SourceTail, ledger.SourceTail, ledger.SourceTail, ledger.SourceManager}).Draw(t, "source")
		ev.Source.Offset = position
		switch {
		case rare():
			ev.Kind = rapid.SampledFrom([]ledger.Kind{ledger.KindDeleted, ledger.KindReset}).Draw(t, "kind")
		case rare():
			ev.Source.Kind, ev.NotBefore = ledger.SourcePoll, ledger.AtMillis(ms-1)
		case rare():
			ev.Source = ledger.Source{Kind: ledger.SourceTail, Offset: position, Transactional: true}
		case rare():
			members := []ledger.Member{{ID: "m", Assigned: []ledger.TopicPartitions{{Topic: "t", Partitions: []int32{1}}}}}
			ev.Kind, ev.Source.Kind = ledger.KindGroup, ledger.SourceTail
			ev.Membership = &ledger.Membership{RecordType: recordClassicGroup, Members: members[:rapid.IntRange(0, 1).Draw(t, "members")]}
			recs = append(recs, ledger.Record{Seq: uint64(len(recs) + 1), Event: ev})
			continue
		}
		offset += rapid.Int64Range(0, 300).Draw(t, "moved")
		for p := range rapid.Int32Range(1, 6).Draw(t, "rows") {
			r := ledger.Offset{Topic: "t", TopicID: uuid.UUID{1}, Partition: p, At: offset, SourceOffset: position,
				CommitTime: ev.Time, Effective: ev.Time}
			if rare() {
				rareRow(t, &r)
			}
			ev.Offsets = append(ev.Offsets, r)
			position++
		}
		recs = append(recs, ledger.Record{Seq: uint64(len(recs) + 1), Event: ev})
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
