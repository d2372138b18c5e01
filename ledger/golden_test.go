package ledger

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// A golden file is what some version has written to somebody's disk: it never changes. The
// flag writes those that are missing, of new kinds; to change one, make a new version.
var update = flag.Bool("update", false, "write golden files that are missing")

const goldenDir = "testdata/golden/v1"

func TestGolden(t *testing.T) {
	events := goldenEvents()
	for name, want := range events {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(goldenDir, name+".bin")
			b, err := os.ReadFile(file)
			if os.IsNotExist(err) && *update {
				require.NoError(t, os.MkdirAll(goldenDir, 0o755))
				b = encoded(t, want)
				err = os.WriteFile(file, b, 0o644)
			}
			require.NoError(t, err, "run with -update if this file is new")
			back, err := Decode(b)
			require.NoError(t, err)
			require.Equal(t, want, back)
			require.Equal(t, b, encoded(t, want), "the encoding changed: what is on disk everywhere would be read, but no longer written")
			if name != "newer" {
				require.NoError(t, back.Validate())
			}
		})
	}
	files, err := filepath.Glob(goldenDir + "/*.bin")
	require.NoError(t, err)
	require.Len(t, files, len(events), "every file has its event")
	for k := KindUpdated; k <= KindSnapshot; k++ {
		require.True(t, slices.ContainsFunc(files, func(f string) bool { return filepath.Base(f) == k.String()+".bin" }), "kind %s", k)
	}
}

var (
	goldenTime  = AtMillis(1764598800000) // 2025-12-01T14:20:00Z
	goldenTopic = uuid.MustParse("7c1e3a52-9f0b-4d65-8b1e-2a3f4c5d6e7f")
)

// golden is the envelope that all have: captured 37 ms after its time.
func golden(k Kind, group string) Event {
	return Event{
		ID: uuid.MustParse("019ada48-dea5-7abc-8def-0123456789ab"), Kind: k, Cluster: "prod", Group: group, Time: goldenTime,
		Source: Source{Kind: SourceTail, Partition: 17, LeaderEpoch: EpochOf(4), Offset: 1_234_567},
	}
}

// goldenRows has two topics, one of them twice, and a bit of everything.
func goldenRows() []Offset {
	return []Offset{
		{Topic: "orders", TopicID: goldenTopic, At: 701204, CommitTime: goldenTime, Effective: goldenTime, SourceOffset: 1_234_567, LeaderEpoch: EpochOf(0)},
		{Topic: "orders", TopicID: goldenTopic, Partition: 1, At: 701310, CommitTime: goldenTime, Effective: goldenTime, SourceOffset: 1_234_568, LeaderEpoch: EpochOf(12), Metadata: "über\xff"},
		{Topic: "a..b", Partition: 3, At: -1, CommitTime: goldenTime, Effective: goldenTime.Add(5e6), SourceOffset: 1_234_570, Flags: FlagTrailingBytes | FlagNoMetadata},
		{Topic: "orders", TopicID: goldenTopic, Partition: 9, At: 1<<53 + 1, Effective: goldenTime, ExpireTime: goldenTime.Add(7 * 24 * 3600e9), SourceOffset: 1_234_571},
	}
}

func goldenEvents() map[string]Event {
	manager := Source{Kind: SourceManager, Offset: 88, Instance: "billing-7f"}
	operator := Source{Kind: SourceOperator, Instance: "offsetledger@host"}
	rows := goldenRows()

	updated := golden(KindUpdated, "billing")
	updated.Source, updated.Offsets = manager, slices.Clone(rows[:2])
	committed := golden(KindCommitted, "billing")
	committed.Offsets, committed.Updates = rows, slices.Clone(rows[:1])
	reset := golden(KindReset, "billing")
	reset.Source, reset.Offsets, reset.Before = operator, slices.Clone(rows[:2]), slices.Clone(rows[2:])
	reset.Reason, reset.Actor, reset.ActorVerified, reset.Plan = "reindex CHG-41", "ana@ops", true, "p7f3a"
	deleted := golden(KindDeleted, "")
	deleted.Cause, deleted.CauseInferred = CauseExpired, true
	deleted.Offsets = []Offset{{Topic: "t1", Partition: 3, Effective: goldenTime, SourceOffset: 1_234_567}}
	failed := golden(KindFailed, "billing")
	failed.Source.Transactional, failed.Source.ProducerID = true, 4001
	failed.Cause, failed.Offsets = CauseRefused, slices.Clone(rows[:2])
	failed.Offsets[1].ErrorCode = 22
	intent := golden(KindIntent, "billing")
	intent.Source, intent.Offsets, intent.Before = operator, slices.Clone(rows[:1]), slices.Clone(rows[1:2])
	intent.Reason, intent.Actor = "reindex CHG-41", "ana@ops"
	claim := golden(KindClaim, "billing")
	claim.Source, claim.Claim = manager, &Claim{Instance: "billing-7f", Previous: "billing-7e"}
	checkpoint := golden(KindCheckpoint, "billing")
	checkpoint.Source, checkpoint.Checkpoint, checkpoint.Offsets = manager, &Checkpoint{Name: "end of day"}, slices.Clone(rows[:1])
	group := golden(KindGroup, "billing")
	group.Membership = goldenMembership()
	topic := golden(KindTopic, "")
	topic.Source.Kind, topic.Topic = SourcePoll, "orders"
	topic.TopicInfo = &TopicInfo{TopicID: goldenTopic, Partitions: 12, Recreated: true}
	topic.NotBefore = goldenTime.Add(-10e9)
	watermarks := golden(KindWatermarks, "")
	watermarks.Source.Kind = SourcePoll
	watermarks.Watermarks = &Watermarks{Shard: WatermarkShard("orders"), Complete: true, Rows: []Watermark{
		{Topic: "orders", TopicID: goldenTopic, LogStart: 100, LastStable: 701310, LogEnd: 701310},
		{Topic: "orders", TopicID: goldenTopic, Partition: 1, LastStable: 701400, LogEnd: 701402},
	}}
	unanswered := golden(KindWatermarks, "")
	unanswered.Source.Kind = SourcePoll
	unanswered.Watermarks = &Watermarks{
		Shard: WatermarkShard("orders"), Rows: []Watermark{{Topic: "orders", Partition: 1, LastStable: 701410, LogEnd: 701410}},
		Unanswered: []TopicPartitions{{Topic: "orders", Partitions: []int32{0, 2, 3}}, {Topic: "orders-7", Partitions: []int32{5}}},
	}
	many := golden(KindWatermarks, "")
	many.Source.Kind = SourcePoll
	many.Watermarks = &Watermarks{Shard: WatermarkShard("orders")}
	for p := range int64(manyEnds) {
		end := 701310 + p*p*1000
		many.Watermarks.Rows = append(many.Watermarks.Rows, Watermark{Topic: "orders", Partition: int32(p), LogStart: p % 2, LastStable: end - p%3, LogEnd: end})
	}
	cursor := golden(KindCursor, "")
	cursor.Cursor = goldenCursor()
	hole := golden(KindCursor, "")
	hole.Cursor = goldenCursor()
	hole.Cursor.Lines[0].Hole = &Hole{First: 3, Last: 8, Until: 9, Removed: true}
	hole.Cursor.Lines[2].Hole = &Hole{First: 1_234_000, Last: 1_234_499, Until: 1_234_600, From: goldenTime.Add(-3600e9)}
	gap := golden(KindGap, "")
	gap.Cause, gap.Gap = CauseTruncated, &Gap{SourcePartition: 17, First: 5, Last: 9}
	gapOfGroup := golden(KindGap, "billing")
	gapOfGroup.Cause, gapOfGroup.Gap = CauseCompacted, &Gap{OfGroup: true, From: goldenTime.Add(-60e9), To: goldenTime}
	gapOfGroup.Offsets = []Offset{{Topic: "orders", Partition: 2}}
	opaque := golden(KindOpaque, "")
	opaque.Opaque = &Opaque{Key: []byte{0, 99, 1}, Value: []byte{0xde, 0xad}, Timestamp: goldenTime, Problem: "key type 99"}
	op := golden(KindOperator, "")
	op.Source, op.Reason, op.Actor = operator, "wrong deploy", "ana@ops"
	op.Operation = &Operation{Action: "annotate", Target: "i412", Body: []byte(`{"ticket":"CHG-41"}`)}
	snapshot := golden(KindSnapshot, "")
	snapshot.Source, snapshot.Snapshot = operator, &Snapshot{Name: "s-184230", Seq: 184230, Digest: make([]byte, 32), Bytes: 1 << 20}
	newer := golden(99, "billing")
	newer.unknown = []byte{0xf2, 0x3f, 3, 'n', 'e', 'w'}
	newer.inner = []innerUnknown{{7, []byte{0xf8, 0x3f, 1}}}
	part := golden(KindCommitted, "billing")
	part.Part, part.Parts, part.Offsets = 2, 3, slices.Clone(rows[:1])
	return map[string]Event{
		"updated": updated, "committed": committed, "reset": reset, "deleted": deleted, "failed": failed,
		"intent": intent, "claim": claim, "checkpoint": checkpoint, "group": group, "topic": topic,
		"watermarks": watermarks, "watermarks-unanswered": unanswered, "watermarks-many": many,
		"cursor": cursor, "cursor-hole": hole, "gap": gap, "gap-of-group": gapOfGroup, "opaque": opaque,
		"operator": op, "snapshot": snapshot, "newer": newer, "part": part,
	}
}

func goldenMembership() *Membership {
	return &Membership{
		Type: GroupTypeClassic, RecordType: 2, Generation: 7, ProtocolType: "consumer", Protocol: "range", Leader: "m-1",
		StateTime: goldenTime.Add(-30e9),
		Members: []Member{{
			ID: "m-1", InstanceID: "static-1", ClientID: "c", Host: "/10.4.2.9", SessionTimeoutMillis: 45000, RebalanceTimeoutMillis: 300000,
			Subscriptions: []string{"orders", "refunds"},
			Assigned:      []TopicPartitions{{Topic: "orders", Partitions: []int32{0, 1, 2, 7}}, {TopicID: goldenTopic, Partitions: []int32{4}}},
		}, {ID: "m-2"}},
	}
}

func goldenCursor() *Cursor {
	return &Cursor{Shard: CursorShardAll, KafkaClusterID: "4L6g3nShT-eMCtK--X86sw", TopicID: goldenTopic, Complete: true, Lines: []SourceLine{
		{Partition: 0, Next: 10, LeaderEpoch: EpochOf(0), MaxEffective: goldenTime, CompleteThrough: goldenTime.Add(-1e9)},
		{Partition: 1},
		{Partition: 17, Next: 1_234_572, LeaderEpoch: EpochOf(4), MaxEffective: goldenTime.Add(-1), CompleteThrough: goldenTime.Add(-1e9),
			Open: []OpenTransaction{{ProducerID: 4001, First: 1_234_560, Since: goldenTime.Add(-2e9), Rows: []PendingOffset{
				{Group: "billing", Topic: "orders", Partition: 0, At: 5, Position: 1_234_561},
				{Group: "billing", Topic: "orders", Partition: 1, At: 6, Position: 1_234_562},
			}}, {ProducerID: 4002, First: 1_234_570}}},
	}}
}
