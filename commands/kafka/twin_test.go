package kafka

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/commands"
	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/ledgertest"
	"github.com/offsetledger/offsetledger/projection"
)

// The daemon captures the cluster in which a bound consumer commits. Every commit is told twice,
// by the manager and by the tail, and is one; a reset is a reset, with its reason, though the
// tail sees a member's commit.
func TestRealCommitsToldTwiceAreOne(t *testing.T) {
	kafka := kafkatest.Shared(t, "")
	topic := "twin-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	require.NoError(t, kafka.CreateTopic(t.Context(), topic, 3))
	for part := range int32(3) {
		require.NoError(t, kafka.Produce(t.Context(), topic, part, 10))
	}
	log := ledgertest.New(t)
	tail := capture(t, kafka, log, nil)
	tail.ready()
	for name, opts := range protocols {
		group := topic + "-" + name
		p := startPod(t, kafka, log, group, topic, podConfig{manager: commands.Config{Strategy: commands.Manual()}, opts: opts})
		for range 5 {
			p.done(p.poll(6)...)
			_, err := p.m.Commit(t.Context())
			require.NoError(t, err)
		}
		_, err := Reset(t.Context(), p.Client, topic, 0, commands.Specific(3))
		require.NoError(t, err)
		p.leave()
	}
	tail.caughtUp()
	require.ErrorContains(t, tail.kill(), "context canceled")

	s := projection.NewState()
	type key struct {
		group string
		part  int32
	}
	moved := map[key][]projection.Change{}
	told, twins := map[ledger.SourceKind]int{}, 0
	for _, rec := range recordsOf(t, log) {
		if rec.Event.Kind == ledger.KindCommitted {
			told[rec.Event.Source.Kind] += len(rec.Event.Offsets)
		}
		changes, err := s.Apply(rec)
		require.NoError(t, err)
		twins += len(s.Twins())
		for _, c := range changes {
			moved[key{c.Group, c.Partition}] = append(moved[key{c.Group, c.Partition}], c)
		}
	}
	require.Positive(t, told[ledger.SourceManager])
	require.Equal(t, told[ledger.SourceManager], twins, "each second telling says which it repeats")
	require.GreaterOrEqual(t, told[ledger.SourceTail], told[ledger.SourceManager])
	for name := range protocols {
		group := topic + "-" + name
		rows := 0
		for part := range int32(3) {
			rows += len(moved[key{group, part}])
			at := int64(0)
			changes := moved[key{group, part}]
			for i, c := range changes {
				if part == 0 && i == len(changes)-1 {
					require.Equal(t, projection.MovementReset, c.Movement, "%+v", c)
					require.Equal(t, "reset to offset 3", c.Reason)
					require.EqualValues(t, 3, c.To.At)
					continue
				}
				require.Equal(t, projection.MovementAdvance, c.Movement, "%s/%d: %+v", group, part, c)
				require.Greater(t, c.To.At, at, "once")
				at = c.To.At
			}
			require.Positive(t, at)
			p, ok := s.Partition("c", group, topic, part)
			require.True(t, ok)
			require.Equal(t, committedAt(t, kafka, group, topic, part), p.Committed.At)
		}
		g, ok := s.Group("c", group)
		require.True(t, ok)
		require.EqualValues(t, rows, g.Statistics.OffsetsCommitted, "none is counted twice")
	}
}
