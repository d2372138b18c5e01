package projection

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
)

// A golden file is what some version has written. A change of these bytes needs a new format
// number of snapshots, since nothing in a part says what it consists of.
var update = flag.Bool("update", false, "write golden files that are missing")

// goldenState holds one of nearly everything that a state can hold.
func goldenState(t require.TestingT) *State {
	ms := int64(1_764_598_800_000) // 2025-12-01T14:20:00Z
	id := uuid.MustParse("7c1e3a52-9f0b-4d65-8b1e-2a3f4c5d6e7f")
	row := func(partition int32, at, position int64) ledger.Offset {
		ms += 500
		return ledger.Offset{Topic: "orders", TopicID: id, Partition: partition, At: at, SourceOffset: position, LeaderEpoch: ledger.EpochOf(4),
			Metadata: "m1", CommitTime: ledger.AtMillis(ms), Effective: ledger.AtMillis(ms)}
	}
	tail := ledger.Source{Kind: ledger.SourceTail, Partition: 17, Offset: 9}
	invalid := row(2, -1, 12)
	invalid.LeaderEpoch, invalid.Metadata, invalid.TopicID = ledger.Epoch{}, "\xff", uuid.Nil
	events := []ledger.Event{
		{Kind: ledger.KindTopic, Topic: "orders", TopicInfo: &ledger.TopicInfo{TopicID: id, Partitions: 3}},
		{Kind: ledger.KindGroup, Group: "billing", Source: tail, Membership: &ledger.Membership{Type: ledger.GroupTypeClassic, RecordType: ledger.RecordClassicGroup,
			Generation: 4, ProtocolType: "consumer", Protocol: "range", StateTime: ledger.AtMillis(ms), Members: []ledger.Member{{ID: "m1", ClientID: "app", Host: "/10.0.0.7",
				SessionTimeoutMillis: 45000, Subscriptions: []string{"orders"}, Assigned: []ledger.TopicPartitions{{Topic: "orders", Partitions: []int32{0, 1}}}}}}},
		{Kind: ledger.KindCommitted, Group: "billing", Source: tail, Offsets: []ledger.Offset{row(0, 100, 10), row(1, 1<<53+1, 11), invalid}},
		{Kind: ledger.KindCommitted, Group: "billing", Source: tail, Offsets: []ledger.Offset{row(0, 40, 13)}},
		{Kind: ledger.KindDeleted, Group: "billing", Source: tail, Cause: ledger.CauseExpired, CauseInferred: true, Offsets: []ledger.Offset{row(1, 0, 14)}},
		{Kind: ledger.KindClaim, Group: "billing", Source: ledger.Source{Kind: ledger.SourceManager, Instance: "i1"}, Claim: &ledger.Claim{Instance: "i1"}},
		{Kind: ledger.KindCheckpoint, Group: "billing", Source: ledger.Source{Kind: ledger.SourceManager, Instance: "i1"}, Checkpoint: &ledger.Checkpoint{Name: "release-41"}},
		{Kind: ledger.KindIntent, Group: "billing", Source: ledger.Source{Kind: ledger.SourceOperator}, Plan: "p7f3a1", Actor: "ann", Reason: "CHG-41", Offsets: []ledger.Offset{row(0, 90, 0)}},
		{Kind: ledger.KindGap, Source: tail, Gap: &ledger.Gap{SourcePartition: 17, First: 3, Last: 7, From: ledger.AtMillis(ms), To: ledger.AtMillis(ms + 10)}},
		{Kind: ledger.KindWatermarks, Watermarks: &ledger.Watermarks{Shard: ledger.WatermarkShard("orders"), Rows: []ledger.Watermark{
			{Topic: "orders", TopicID: id, Partition: 0, LogEnd: 140, LastStable: 130}, {Topic: "orders", Partition: 1, LogStart: 5, LogEnd: 1<<53 + 9, LastStable: 1<<53 + 9}},
			Unanswered: []ledger.TopicPartitions{{Topic: "orders", Partitions: []int32{2}}}}},
		{Kind: ledger.KindCursor, Source: tail, Cursor: &ledger.Cursor{Shard: ledger.CursorShardAll, KafkaClusterID: "4L6g3nShT-eMCtK--X86sw", Complete: true, Lines: []ledger.SourceLine{
			{Partition: 17, Next: 15, LeaderEpoch: ledger.EpochOf(4), MaxEffective: ledger.AtMillis(ms), CompleteThrough: ledger.AtMillis(ms - 1000),
				Open: []ledger.OpenTransaction{{ProducerID: 8, First: 15, Since: ledger.AtMillis(ms), Rows: []ledger.PendingOffset{{Group: "billing", Topic: "orders", Partition: 2, At: 7, Position: 15}}}}}}}},
	}
	s := NewState()
	for i, ev := range events {
		ms += 1000
		ev.Cluster, ev.Time = "prod", ledger.AtMillis(ms)
		_, err := s.Apply(ledger.Record{Seq: uint64(i + 1), Appended: time.UnixMilli(ms + 37).UTC(), Event: ev})
		require.NoError(t, err)
	}
	return s
}

// goldenParts are the parts of the golden state by the names of their files.
func goldenParts(t require.TestingT) map[string][]byte {
	s := goldenState(t)
	return map[string][]byte{
		"group":   s.AppendGroup(nil, "prod", "billing"),
		"topics":  s.AppendTopics(nil, "prod", ledger.WatermarkShard("orders")),
		"capture": s.AppendCapture(nil, "prod"),
	}
}

func loadPart(l *Loader, part string, b []byte) error {
	switch part {
	case "group":
		return l.Group("prod", "billing", b)
	case "topics":
		return l.Topics("prod", ledger.WatermarkShard("orders"), b)
	}
	return l.Capture("prod", b)
}

func TestGoldenParts(t *testing.T) {
	s := goldenState(t)
	l := NewLoader(s.Seq(), s.Appended(), s.Latest())
	for name, want := range goldenParts(t) {
		file := filepath.Join("testdata", "snapshot", "v1", name+".bin")
		b, err := os.ReadFile(file)
		if os.IsNotExist(err) && *update {
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
			b, err = want, os.WriteFile(file, want, 0o644)
		}
		require.NoError(t, err, "run with -update if this file is new")
		require.Equal(t, want, b)
		require.NoError(t, loadPart(l, name, b))
	}
	require.Equal(t, written(s)["prod group billing"], written(l.State())["prod group billing"])
	require.Equal(t, s.Partitions("prod", "billing"), l.State().Partitions("prod", "billing"))
	want, _ := s.Group("prod", "billing")
	got, _ := l.State().Group("prod", "billing")
	require.Equal(t, want, got)
}

// FuzzLoadIncidents does the same for incidents.
func FuzzLoadIncidents(f *testing.F) {
	s, x := NewState(), NewIncidents()
	for i, at := range []int64{500, 100, 200, 7} {
		rec := ledger.Record{Seq: uint64(i + 1), Event: ledger.Event{Kind: ledger.KindCommitted, Cluster: "c", Group: "g", Time: ledger.AtMillis(int64(i) * 5000),
			Source: ledger.Source{Kind: ledger.SourceTail}, Offsets: []ledger.Offset{{Topic: "t", At: at, SourceOffset: int64(i)}}}}
		changes, err := s.Apply(rec)
		require.NoError(f, err)
		x.Apply(s, &rec, changes)
	}
	b := x.Append(nil)
	for n := range b {
		_, err := LoadIncidents(b[:n])
		require.ErrorIs(f, err, ledger.ErrDamaged)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := LoadIncidents(b)
		if err != nil {
			require.ErrorIs(t, err, ledger.ErrDamaged)
			return
		}
		again, err := LoadIncidents(x.Append(nil))
		require.NoError(t, err)
		require.Equal(t, x.Append(nil), again.Append(nil))
	})
}

// A part that was cut short anywhere, or has something behind it, is refused.
func TestPartsThatWereCut(t *testing.T) {
	for name, b := range goldenParts(t) {
		for n := range b {
			require.ErrorIs(t, loadPart(NewLoader(1, time.Time{}, ledger.Time{}), name, b[:n]), ledger.ErrDamaged, "%s of %d bytes", name, n)
		}
		require.ErrorIs(t, loadPart(NewLoader(1, time.Time{}, ledger.Time{}), name, append(b, 0)), ledger.ErrDamaged)
	}
	require.Error(t, NewLoader(1, time.Time{}, ledger.Time{}).Topics("prod", ledger.WatermarkShards, nil))
}

// Whatever the bytes, loading ends, and what it takes it writes again as something that it takes
// for the same.
func FuzzLoad(f *testing.F) {
	parts := []string{"group", "topics", "capture"}
	for name, b := range goldenParts(f) {
		f.Add(uint8(max(0, len(name)-5)), b)
	}
	f.Fuzz(func(t *testing.T, which uint8, b []byte) {
		part := parts[int(which)%len(parts)]
		l := NewLoader(1, time.Time{}, ledger.Time{})
		if err := loadPart(l, part, b); err != nil {
			require.ErrorIs(t, err, ledger.ErrDamaged)
			return
		}
		again := loaded(t, l.State())
		require.Equal(t, written(l.State()), written(again))
		for _, c := range again.Clusters() {
			for _, g := range again.Groups(c) {
				again.Partitions(c, g.Name)
				again.TotalLag(c, g.Name)
			}
			again.Coverage(c)
		}
	})
}

// What some version has written is read by every later one.
func TestGoldenTrail(t *testing.T) {
	trail := NewTrail(300)
	for seq := uint64(301); seq < 310; seq++ {
		trail.Note(&ledger.Record{Seq: seq, Event: ledger.Event{Kind: ledger.KindCommitted, Cluster: "c", Group: fmt.Sprint("g", seq%3)}})
	}
	trail.Note(&ledger.Record{Seq: 310, Event: ledger.Event{Kind: ledger.KindCursor, Cluster: "c", Cursor: &ledger.Cursor{}}})
	trail.Note(&ledger.Record{Seq: 311, Event: ledger.Event{Kind: ledger.KindWatermarks, Cluster: "c", Watermarks: &ledger.Watermarks{Shard: 7}}})
	file := filepath.Join("testdata", "snapshot", "v2", "events")
	if _, err := os.Stat(file); os.IsNotExist(err) && *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, trail.Append(nil), 0o644))
	}
	b, err := os.ReadFile(file)
	require.NoError(t, err, "run with -update if there is none")
	require.Equal(t, b, trail.Append(nil))
	got, err := LoadTrail(b)
	require.NoError(t, err)
	require.Equal(t, trail.Of("c", "g0"), got.Of("c", "g0"))
}
