package kafka

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/ledgertest"
	"github.com/offsetledger/offsetledger/projection"
)

// Capture was away for so long that an offset was deleted and its tombstone compacted away as
// well. No record tells that it is gone; the coordinator does.
func TestOffsetForgottenWhileCaptureWasAway(t *testing.T) {
	fake, log := forgetAnOffset(t)
	r := capture(t, fake, log, func(cfg *TailConfig) { cfg.Facts = ViewFacts{View: view(t, log), Cluster: "c"} })
	r.ready()
	requireForgotten(t, log)
}

// Capture dies before it has asked the coordinators. The hole is in the ledger, so the next
// one asks, once.
func TestQuestionsBehindAHoleSurviveAKill(t *testing.T) {
	fake, log := forgetAnOffset(t)
	for range 2 {
		r := capture(t, fake, log, func(cfg *TailConfig) { cfg.Facts = silent{} })
		r.eventually(func(Status) bool { return holeOf(t, log) != nil })
		require.ErrorIs(t, r.kill(), context.Canceled)
		require.NotNil(t, holeOf(t, log), "it has not been settled")
	}
	r := capture(t, fake, log, func(cfg *TailConfig) { cfg.Facts = ViewFacts{View: view(t, log), Cluster: "c"} })
	requireForgotten(t, log)
	r.eventually(func(Status) bool { return holeOf(t, log) == nil })
	require.ErrorIs(t, r.kill(), context.Canceled)
	require.Len(t, eventsOf(t, log, ledger.KindGap), 1, "the key with rows behind the hole is told once")
}

// The coordinator does not tell the offsets of the group at first. Capture goes on meanwhile,
// and asks again.
func TestQuestionsBehindAHoleAreAskedUntilTheyAreAnswered(t *testing.T) {
	fake, log := forgetAnOffset(t)
	refused := make(chan struct{})
	fake.Kafka.ControlKey(int16(kmsg.OffsetFetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
		defer close(refused)
		resp := req.ResponseKind().(*kmsg.OffsetFetchResponse)
		for _, g := range req.(*kmsg.OffsetFetchRequest).Groups {
			resp.Groups = append(resp.Groups, kmsg.OffsetFetchResponseGroup{Group: g.Group, ErrorCode: kerr.GroupAuthorizationFailed.Code})
		}
		return resp, nil, true
	})
	r := capture(t, fake, log, func(cfg *TailConfig) { cfg.Facts = ViewFacts{View: view(t, log), Cluster: "c"} })
	r.ready()
	<-refused
	require.NoError(t, fake.Write(t.Context(), "h", commits("h", "t", 0, 77)...))
	r.caughtUp()
	requireForgotten(t, log)
	r.eventually(func(Status) bool { return holeOf(t, log) == nil })
}

// The brokers removed records outright, and with them the last commit of an offset, while
// capture was away; it dies again before it has asked. The coordinator still knows, and the next
// capture asks for every offset of the partition, also for one that is there.
func TestQuestionsAboutRemovedRecordsSurviveAKill(t *testing.T) {
	fake := startFake(t, kafkatest.FakeConfig{Partitions: 1, Topics: map[string]int32{"t": 2}})
	log := ledgertest.New(t)
	require.NoError(t, fake.Commit(t.Context(), "g", "t", map[int32]int64{0: 5, 1: 7}))
	require.NoError(t, fake.Sync(t.Context()))
	r := capture(t, fake, log, nil)
	r.ready()
	require.ErrorIs(t, r.kill(), context.Canceled)
	require.NoError(t, fake.Commit(t.Context(), "g", "t", map[int32]int64{0: 8}))
	require.NoError(t, fake.DeleteOffsets(t.Context(), "g", "t", 1))
	require.NoError(t, fake.Sync(t.Context()))
	records, err := fake.ReadOffsets(t.Context())
	require.NoError(t, err)
	end := records[len(records)-1].Offset + 1
	require.NoError(t, fake.Write(t.Context(), "h", commits("h", "t", 0, 1)...))
	fake.Kafka.DeleteRecords(offsetsTopic, 0, end)

	r = capture(t, fake, log, func(cfg *TailConfig) { cfg.Facts = silent{} })
	r.eventually(func(Status) bool { return holeOf(t, log) != nil })
	require.ErrorIs(t, r.kill(), context.Canceled)
	require.True(t, holeOf(t, log).Removed)
	r = capture(t, fake, log, func(cfg *TailConfig) { cfg.Facts = ViewFacts{View: view(t, log), Cluster: "c"} })
	r.eventually(func(Status) bool { return holeOf(t, log) == nil })
	require.ErrorIs(t, r.kill(), context.Canceled)
	s := folded(t, log)
	there, _ := s.Partition("c", "g", "t", 0)
	require.Equal(t, projection.Value{At: 8, Exists: true}, there.Committed)
	gone, _ := s.Partition("c", "g", "t", 1)
	require.False(t, gone.Committed.Exists)
}

// silent is a fold that never gets there.
type silent struct{}

func (silent) RetainedFrom(string, ledger.TopicPartition) (ledger.Time, bool) {
	return ledger.Time{}, false
}

func (silent) AppliedFrom(ctx context.Context, _ uint64, _ int32, _ int64) ([]OffsetKey, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (silent) Committed() []ledger.TopicPartition { return nil }

// holeOf is the hole that the ledger tells of the one line.
func holeOf(t *testing.T, log ledgerLog) *ledger.Hole {
	at, ok := folded(t, log).Cursor("c", ledger.CursorShardAll)
	require.True(t, ok)
	require.Len(t, at.Lines, 1)
	return at.Lines[0].Hole
}

// forgetAnOffset returns a broker and what was captured of it before offset 0 of group g was
// deleted, offset 1 moved on, and compaction removed even the tombstone of the first.
func forgetAnOffset(t *testing.T) (*kafkatest.Fake, *ledgertest.Ledger) {
	fake := startFake(t, kafkatest.FakeConfig{Partitions: 1, Topics: map[string]int32{"t": 3}})
	log := ledgertest.New(t)
	require.NoError(t, fake.Commit(t.Context(), "g", "t", map[int32]int64{0: 5, 1: 7, 2: 9}))
	require.NoError(t, fake.Sync(t.Context()))
	r := capture(t, fake, log, nil)
	r.ready()
	require.ErrorIs(t, r.kill(), context.Canceled)

	require.NoError(t, fake.DeleteOffsets(t.Context(), "g", "t", 0))
	for at := int64(8); at < 20; at++ {
		require.NoError(t, fake.Commit(t.Context(), "g", "t", map[int32]int64{1: at}))
	}
	require.NoError(t, fake.Sync(t.Context()))
	forgetTombstones(t, fake)
	fake.Kafka.Compact()
	return fake, log
}

// requireForgotten waits until the ledger tells that offset 0 is gone, and nothing else.
func requireForgotten(t *testing.T, log ledgerLog) {
	t.Helper()
	require.Eventually(t, func() bool { return len(eventsOf(t, log, ledger.KindDeleted)) > 0 }, patience, 5*time.Millisecond)
	s := folded(t, log)
	for partition, want := range []projection.Value{{}, {At: 19, Exists: true}, {At: 9, Exists: true}} {
		p, ok := s.Partition("c", "g", "t", int32(partition))
		require.True(t, ok)
		require.Equal(t, want.Exists, p.Committed.Exists, "partition %d", partition)
		if want.Exists {
			require.Equal(t, want, p.Committed, "partition %d", partition)
		}
	}
	gone := eventsOf(t, log, ledger.KindDeleted)
	require.Len(t, gone, 1)
	require.Equal(t, ledger.SourceReconcile, gone[0].Source.Kind)
	require.Equal(t, ledger.CauseUnknown, gone[0].Cause)
	require.True(t, gone[0].NotBefore.Known())
	require.Len(t, gone[0].Offsets, 1)
	require.Equal(t, int32(0), gone[0].Offsets[0].Partition)
}

// forgetTombstones makes compaction of __consumer_offsets remove tombstones at once, as it does
// a day later by default.
func forgetTombstones(t *testing.T, fake *kafkatest.Fake) {
	t.Helper()
	client, err := kgo.NewClient(fake.Options()...)
	require.NoError(t, err)
	defer client.Close()
	alterOffsetsTopic(t, client, "delete.retention.ms", "0")
}

func alterOffsetsTopic(t *testing.T, client *kgo.Client, name, value string) {
	t.Helper()
	resp, err := kadm.NewClient(client).AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Name: name, Value: &value}}, offsetsTopic)
	require.NoError(t, err)
	for _, r := range resp {
		require.NoError(t, r.Err)
	}
}
