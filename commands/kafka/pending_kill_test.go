package kafka

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/offsetledger/offsetledger/ledger"
)

// A tombstone kills the rows of its key that stand before it, of every open transaction, and no
// others: also between the steps in which a transaction is given out, and after a truncation.
func TestATombstoneKillsWhatStandsBeforeIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p pendingTable
		type placed struct {
			producer, position int64
			key                pendingKey
			dead               bool
		}
		var model []placed
		for position := range int64(rapid.IntRange(1, 60).Draw(t, "records")) {
			key := pendingKey{rapid.SampledFrom([]string{"g", "h"}).Draw(t, "group"), ledger.TopicPartition{Topic: "t", Partition: rapid.Int32Range(0, 3).Draw(t, "partition")}}
			producer := rapid.Int64Range(1, 3).Draw(t, "producer")
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0, 1, 2:
				p.kill(key.group, key.Topic, key.Partition)
				for i := range model {
					model[i].dead = model[i].dead || model[i].key == key
				}
			case 3: // as if a step were one row
				tx := p.open[producer]
				if tx == nil || len(tx.rows) < 2 {
					continue
				}
				tx.rows = tx.rows[1:]
				tx.moved()
				for i := range model {
					if model[i].producer == producer {
						model = append(model[:i], model[i+1:]...)
						break
					}
				}
			case 4:
				from := rapid.Int64Range(0, position).Draw(t, "truncated")
				p.truncate(from)
				var left []placed
				for _, m := range model {
					if m.position < from && p.open[m.producer] != nil {
						left = append(left, m)
					}
				}
				model = left
			default:
				p.add(&sourceRecord{producerID: producer, offset: position}, key.group, ledger.Offset{Topic: key.Topic, Partition: key.Partition, SourceOffset: position})
				model = append(model, placed{producer: producer, position: position, key: key})
			}
		}
		want, got := map[int64]bool{}, map[int64]bool{}
		for _, m := range model {
			want[m.position] = m.dead
		}
		for _, tx := range p.open {
			for _, r := range tx.rows {
				got[r.row.SourceOffset] = r.dead
			}
		}
		require.Equal(t, want, got)
	})
}

// BenchmarkKill deletes a group of so many partitions while a transaction that committed all of them
// is open. What a tombstone takes does not depend on how many there are.
func BenchmarkKill(b *testing.B) {
	for _, n := range []int32{1000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				var p pendingTable
				for i := range n {
					p.add(&sourceRecord{producerID: 1, offset: int64(i)}, "g", ledger.Offset{Topic: "t", Partition: i, SourceOffset: int64(i)})
				}
				for i := range n {
					p.kill("g", "t", i)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/tombstone")
		})
	}
}
