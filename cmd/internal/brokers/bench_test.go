package brokers_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/replay"
)

// A plan of 1,250 offsets in 50 groups, looked at anew and carried out: with the intents and the
// resets durable, and everything read back. Beside it, as the limit, what the same commits take
// by themselves, one group after the other.
func BenchmarkApply(b *testing.B) {
	const groups, partitions = 50, 25
	w := newWorld(b)
	require.NoError(b, w.fake.CreateTopic(b.Context(), "wide", partitions))
	p := &replay.Plan{Command: replay.CommandReset, Cluster: cluster, Point: "5", Rules: replay.Rules{AllowNewGroup: true, Direction: replay.DirectionBoth}}
	for p := range int32(partitions) {
		require.NoError(b, w.fake.Produce(b.Context(), "wide", p, 10))
	}
	for i := range groups {
		g := replay.PlanGroup{Group: fmt.Sprintf("group-%d", i), New: true}
		for n := range int32(partitions) {
			g.Steps = append(g.Steps, replay.Step{Topic: "wide", Partition: n, Action: replay.ActionSet})
		}
		p.Groups = append(p.Groups, g)
	}
	rows := func(at int64) []ledger.Offset {
		out := make([]ledger.Offset, partitions)
		for n := range out {
			out[n] = ledger.Offset{Topic: "wide", Partition: int32(n), At: at}
		}
		return out
	}
	commitAll := func(at int64) {
		for i := range p.Groups {
			_, err := w.b.Commit(b.Context(), p.Groups[i].Group, rows(at))
			require.NoError(b, err)
		}
	}
	at := int64(1)
	commitAll(at)
	var limit int64
	b.ResetTimer()
	for b.Loop() {
		at = at%9 + 1 // another offset each time
		for i := range p.Groups {
			for j := range p.Groups[i].Steps {
				p.Groups[i].Steps[j].Action, p.Groups[i].Steps[j].Target = replay.ActionSet, projection.Value{At: at, Exists: true}
			}
		}
		facts, err := w.b.Facts(b.Context(), p.Inquiry())
		require.NoError(b, err)
		plan := p.Renew(facts)
		plan.Made = facts.At
		plan.Seal(nil)
		done, err := w.apply(plan)
		require.NoError(b, err)
		written, _, _ := done.Sums()
		require.Equal(b, groups*partitions, written)

		b.StopTimer()
		at = at%9 + 1
		began := time.Now()
		commitAll(at)
		limit += time.Since(began).Nanoseconds()
		b.StartTimer()
	}
	took := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
	b.ReportMetric(took/1e9, "s/plan+apply")
	b.ReportMetric(float64(limit)/float64(b.N)/took, "of-bare-commits")
}
