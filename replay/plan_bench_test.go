package replay_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/replay"
)

// To plan for 50 groups of 25 partitions is to be a small part of the 0.2 seconds that planning
// and applying them may take: the metric is that part. Kafka is not asked here.
func BenchmarkPlanRestore(b *testing.B) {
	const groups, partitions, allowed = 50, 25, 200 * time.Millisecond
	var log memory
	log.add(0, cursor(1000, 1))
	f := kafkaNow()
	f.Groups = nil
	var names []string
	topic := &f.Topics[0]
	for n := range int32(partitions) {
		topic.Partitions = append(topic.Partitions[:min(int(n), len(topic.Partitions))], replay.PartitionFacts{
			Partition: n, Log: &replay.Bounds{End: 1_000_000, LastStable: 1_000_000}, Epoch: ledger.EpochOf(9),
		})
	}
	for i := range groups {
		name := fmt.Sprintf("g%02d", i)
		names = append(names, name)
		g := replay.GroupFacts{Name: name, Exists: true, State: "Empty", Type: ledger.GroupTypeClassic, Simple: true}
		var rows []ledger.Offset
		for n := range int32(partitions) {
			rows = append(rows, recordedRow(n, 1000, 7, "metadata", int64(i*partitions)+int64(n), hour))
			g.Rows = append(g.Rows, has(n, 5))
		}
		log.add(0, commit(name, hour, rows...))
		f.Groups = append(f.Groups, g)
	}
	log.add(0, cursor(planNow, planNow-1000))
	at := replay.Point{Time: millis(2 * hour)}
	s, then := stateAt(b, log, replay.Point{}, replay.OfCluster("c")), stateAt(b, log, at, replay.OfCluster("c"))
	m := replay.Material{Now: s, Then: then, Asked: projection.Asked{Time: at.Time, Now: millis(planNow), Through: s.Through("c", nil)}}
	w := wishFor(pointTarget(at))
	w.AllTopics, w.Groups = false, names
	b.ReportAllocs()
	for b.Loop() {
		p, err := replay.PlanRestore(w, m, f)
		require.NoError(b, err)
		require.Equal(b, groups*partitions, p.Sums().Set)
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(allowed), "of-allowed")
}
