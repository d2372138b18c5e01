package kafka

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/offsetledger/offsetledger/ledger"
)

// The set answers as a map would, over any number of uses.
func TestKeySetIsASet(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var s keySet
		for range rapid.IntRange(1, 4).Draw(rt, "uses") {
			model := map[ledger.TopicPartition]bool{}
			for range rapid.IntRange(0, 40).Draw(rt, "keys") {
				topic := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "topic")
				p := rapid.OneOf(rapid.Int32Range(0, 200), rapid.Int32()).Draw(rt, "partition")
				k := ledger.TopicPartition{Topic: topic, Partition: p}
				require.Equal(t, model[k], s.has(topic, p), "%v", k)
				if rapid.Bool().Draw(rt, "add") {
					s.add(topic, p)
					model[k] = true
				}
			}
			s.clear()
		}
	})
}
