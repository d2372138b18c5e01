package ledger

import (
	"math"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// Each fault is found, and said in words.
func TestValidateFindsEveryFault(t *testing.T) {
	for _, c := range []struct {
		of    string // golden event that is spoilt
		spoil func(e *Event)
		fault string
	}{
		{"committed", func(e *Event) { e.Kind = 0 }, "kind 0 is not one of this version"},
		{"committed", func(e *Event) { e.Kind = KindSnapshot + 1 }, "kind 17 is not one of this version"},
		{"committed", func(e *Event) { e.ID = uuid.Nil }, "is no UUIDv7"},
		{"committed", func(e *Event) { e.ID = uuid.MustParse("8d2f1c1e-0000-4000-8000-000000000000") }, "is no UUIDv7"},
		{"committed", func(e *Event) { e.Cluster = "" }, "no cluster"},
		{"committed", func(e *Event) { e.Time = Time{} }, "no time"},
		{"committed", func(e *Event) { e.NotBefore = e.Time.Add(1e6) }, "which is after its time"},
		{"committed", func(e *Event) { e.Source.Kind = 0 }, "source kind 0 is not one of this version"},
		{"committed", func(e *Event) { e.Part = 1 }, "part 1 of 0"},
		{"committed", func(e *Event) { e.Part, e.Parts = 3, 2 }, "part 3 of 2"},
		{"committed", func(e *Event) { e.Part, e.Parts = 1, 1 }, "part 1 of 1"},
		{"committed", func(e *Event) { e.Part, e.Parts, e.Updates = 1, 2, make([]Offset, MaxRows) }, "and at most 65536 fit"},
		{"committed", func(e *Event) { e.Offsets = nil }, "no rows"},
		{"committed", func(e *Event) { e.Before = e.Offsets }, "4 rows of before"},
		{"committed", func(e *Event) { e.Offsets[1].Topic = "" }, "row 1: no topic"},
		{"committed", func(e *Event) { e.Updates[0].Topic = "" }, "update 0: no topic"},
		{"committed", func(e *Event) { e.Offsets[2].Effective = Time{} }, "row 2: no effective time"},
		{"committed", func(e *Event) { e.Offsets[0].ErrorCode = 22 }, "row 0: error code 22"},
		{"committed", func(e *Event) { e.Cause = CauseExpired }, "cause expired"},
		{"committed", func(e *Event) { e.CauseInferred = true }, "cause unknown"},
		{"committed", func(e *Event) { e.Topic = "orders" }, `topic "orders"`},
		{"committed", func(e *Event) { e.Claim = &Claim{Instance: "m"} }, "a claim"},
		{"reset", func(e *Event) { e.Updates = e.Offsets }, "2 updates"},
		{"reset", func(e *Event) { e.Before[0].Topic = "" }, "row 0 of before: no topic"},
		{"deleted", func(e *Event) { e.Cause = 99 }, "cause 99 is not one of this version"},
		{"claim", func(e *Event) { e.Claim = nil }, "no claim"},
		{"claim", func(e *Event) { e.Claim.Instance = "" }, "no instance"},
		{"claim", func(e *Event) { e.Offsets = goldenRows() }, "4 rows"},
		{"checkpoint", func(e *Event) { e.Checkpoint.Name = "" }, "no name"},
		{"group", func(e *Event) { e.Membership.RecordType = 5 }, "2 members from a record of one"},
		{"topic", func(e *Event) { e.Topic = "" }, `topic ""`},
		{"topic", func(e *Event) { e.Group = "g" }, "not about a group"},
		{"topic", func(e *Event) { e.TopicInfo.Partitions = -1 }, "-1 partitions"},
		{"topic", func(e *Event) { e.TopicInfo.Deleted = true }, "both deleted and recreated"},
		{"watermarks", func(e *Event) { e.Watermarks.Shard = 16 }, "shard 16"},
		{"watermarks", func(e *Event) { e.Watermarks.Rows[1].Topic = "refunds" }, `row 1: topic "refunds" is not of shard`},
		{"watermarks", func(e *Event) { e.Watermarks.Rows[0].Topic = "" }, "row 0: no topic"},
		{"watermarks-unanswered", func(e *Event) { e.Watermarks.Complete = true }, "complete, and 2 topics unanswered"},
		{"watermarks-unanswered", func(e *Event) { e.Watermarks.Unanswered[1].Topic = "refunds" }, `unanswered: topic "refunds" is not of shard`},
		{"cursor", func(e *Event) { e.Cursor.Shard = "" }, "no shard"},
		{"cursor", func(e *Event) { e.Cursor.Lines[1].Partition = -1 }, "line 1: partition -1"},
		{"cursor", func(e *Event) { e.Cursor.Lines[1].Partition = 0 }, "line 1: partition 0 comes twice"},
		{"cursor", func(e *Event) { e.Cursor.Lines[1].Next = -1 }, "line 1: next offset -1"},
		{"gap", func(e *Event) { e.Gap.First = 10 }, "positions 10 to 9"},
		{"gap", func(e *Event) { e.Group = "g" }, "not about a group"},
		{"gap", func(e *Event) { e.Offsets = goldenRows() }, "rows in a gap of a source partition"},
		{"gap-of-group", func(e *Event) { e.Gap.From = e.Gap.To.Add(1e6) }, "times 2025"},
		{"opaque", func(e *Event) { e.Opaque.ValueNull = true }, "null and has 2 bytes"},
		{"operator", func(e *Event) { e.Operation.Action = "" }, "no action"},
		{"snapshot", func(e *Event) { e.Snapshot.Name = "" }, "no name"},
		{"snapshot", func(e *Event) { e.Snapshot.Seq = 0 }, "no sequence"},
		{"snapshot", func(e *Event) { e.Snapshot.Digest = nil }, "a digest of 0 bytes"},
	} {
		e := goldenEvents()[c.of].Clone()
		require.NoError(t, e.Validate(), c.of)
		c.spoil(&e)
		err := e.Validate()
		require.ErrorIs(t, err, ErrInvalid, c.fault)
		require.ErrorContains(t, err, c.fault)
	}
}

// All faults are told at once, but not without end.
func TestValidateTellsAllAtOnce(t *testing.T) {
	e := goldenEvents()["committed"].Clone()
	e.Cluster, e.Time, e.Source.Kind = "", Time{}, 9
	err := e.Validate()
	for _, fault := range []string{"invalid committed event", "no cluster", "no time", "source kind 9"} {
		require.ErrorContains(t, err, fault)
	}
	e.Offsets = make([]Offset, MaxRows)
	require.Equal(t, maxFaults, strings.Count(e.Validate().Error(), "\n"))
}

// Kafka stores whatever it is sent, and what it stores can be recorded.
func TestValidateTakesWhatKafkaStores(t *testing.T) {
	e := goldenEvents()["committed"].Clone()
	e.Group = ""
	for i, at := range []int64{-1, math.MinInt64, math.MaxInt64, 1<<53 + 1} {
		e.Offsets[i].At = at
	}
	e.Offsets[0].Partition = -1
	e.Offsets[1].LeaderEpoch = EpochOf(-7)
	e.Offsets[2].CommitTime = AtMillis(math.MaxInt64)
	e.Offsets[3].Metadata = "\x00\xff"
	e.Group = strings.Repeat("\xff", 32767)
	require.NoError(t, e.Validate())
}
