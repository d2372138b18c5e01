package kafka

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/ledgertest"
	"github.com/offsetledger/offsetledger/projection"
)

// Capture was away for so long that an offset was deleted and its tombstone compacted away as
// well. No record tells that it is gone; the coordinator does.
func TestOffsetForgottenWhileCaptureWasAway(t *testing.T) {
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

	r = capture(t, fake, log, func(cfg *TailConfig) { cfg.Facts = ViewFacts{View: view(t, log), Cluster: "c"} })
	r.ready()
	r.eventually(func(Status) bool { return len(eventsOf(t, log, ledger.KindDeleted)) > 0 })
	s := folded(t, log)
	for partition, want := range []projection.Value{{}, {At: 19, Exists: true}, {At: 9, Exists: true}} {
		p, ok := s.Partition("c", "g", "t", int32(partition))
		require.True(t, ok)
		if !want.Exists {
			require.False(t, p.Committed.Exists, "partition %d", partition)
			continue
		}
		require.Equal(t, want, p.Committed, "partition %d", partition)
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
	none := "0"
	resp, err := kadm.NewClient(client).AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Name: "delete.retention.ms", Value: &none}}, offsetsTopic)
	require.NoError(t, err)
	for _, r := range resp {
		require.NoError(t, r.Err)
	}
}
