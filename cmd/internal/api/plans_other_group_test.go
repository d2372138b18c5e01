package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/cmd/internal/api/apitest"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/replay"
)

// A group is to go to where another one was at 03:00. Capture has read the partition of the group
// up to 03:12, but that of the other one only up to 02:50: where that was is not known.
func TestPlanToAnotherGroupThatIsNotReadSoFar(t *testing.T) {
	d := emptyPlanner(t, nil)
	s := apitest.Begin(t, d.ledger, "2026-11-30T02:00:00Z")
	readTo := func(slow int64, at ledger.Time) {
		s.Append(ledger.Event{
			Kind: ledger.KindCursor, Source: ledger.Source{Kind: ledger.SourceTail},
			Cursor: &ledger.Cursor{
				Shard: ledger.CursorShardAll, KafkaClusterID: "kafka-1", TopicID: apitest.SourceTopic, Complete: true,
				Lines: []ledger.SourceLine{
					{Partition: apitest.Line, Next: 9, MaxEffective: s.Now(), CompleteThrough: s.Now()},
					{Partition: 8, Next: slow, MaxEffective: at, CompleteThrough: at},
				},
			},
		})
	}
	readTo(1, s.Now())
	s.Topic("orders", 1)
	s.Commit("billing", "orders", "", 158630)
	s.At("2026-11-30T02:49:00Z").Append(ledger.Event{
		Kind: ledger.KindCommitted, Group: "slow", Source: ledger.Source{Kind: ledger.SourceTail, Partition: 8, LeaderEpoch: ledger.EpochOf(5), Offset: 1},
		Offsets: []ledger.Offset{{Topic: "orders", At: 100, CommitTime: s.Now(), Effective: s.Now(), SourceOffset: 1}},
	})
	last := s.At("2026-11-30T02:50:00Z").Now()
	s.Watermarks("orders", 0, 160000)
	s.At("2026-11-30T03:12:38Z")
	readTo(2, last)
	to := func(point string) replay.Step {
		p, err := d.Plan(t.Context(), api.PlanRequest{
			Command: replay.CommandReset, Groups: []api.Text{"billing"}, To: "group:slow@" + point,
			Topics: []api.TopicSet{{Topic: "orders", Partitions: []int32{0}}},
		})
		require.NoError(t, err)
		return p.Groups[0].Steps[0]
	}
	for _, target := range []string{"group:nobody", "group:nobody@2026-11-30T02:50:00Z"} {
		_, err := d.Plan(t.Context(), api.PlanRequest{Command: replay.CommandReset, Groups: []api.Text{"billing"}, To: target, AllTopics: true})
		requireCode(t, err, api.CodeUnknownGroup)
		require.NotContains(t, err.Error(), "allow_new_group", "it is not to be made")
	}
	require.Equal(t, replay.ActionSet, to("2026-11-30T02:50:00Z").Action)
	step := to("2026-11-30T03:00:00Z")
	require.Equal(t, replay.ActionRefuse, step.Action)
	require.Equal(t, "capture has not passed that moment; it is known up to 2026-11-30T02:50:00.000Z", step.Reason)
}
