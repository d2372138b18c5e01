package kafka

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
)

// What records tell of since a loss: plain commits and deletions, and the rows of a
// transaction once it is committed. Those of one that is aborted or still open tell nothing,
// so what the broker answers for them stands.
func TestSaidSinceALoss(t *testing.T) {
	const plain, deleted, done, aborted, open = "plain", "deleted", "done", "aborted", "open"
	row := func(group string, producer int64) *kgo.Record {
		rec := kafkatest.Commit{Group: group, Topic: "t", At: 5, LeaderEpoch: -1, Version: 3}.Record()
		rec.ProducerID = producer
		if producer >= 0 {
			rec.Attrs = kgo.NewRecordAttrs(kgo.RecordAttrsOpts{Transactional: true})
		}
		return rec
	}
	marker := func(producer int64, kind byte) *kgo.Record {
		return &kgo.Record{Key: []byte{0, 0, 0, kind}, ProducerID: producer, Attrs: kgo.NewRecordAttrs(kgo.RecordAttrsOpts{Transactional: true, Control: true})}
	}
	s := said{keys: map[groupKey]bool{}, open: map[int64][]groupKey{}}
	for _, rec := range []*kgo.Record{
		row(plain, -1), row(done, 1), row(aborted, 2), row(open, 3), kafkatest.Tombstone(deleted, "t", 0),
		kafkatest.GroupTombstone(plain), marker(1, controlCommit), marker(2, controlAbort),
	} {
		s.take(rec)
	}
	var groups []string
	for _, key := range slices.Collect(maps.Keys(s.keys)) {
		groups = append(groups, key.group)
	}
	require.ElementsMatch(t, []string{plain, deleted, done}, groups)
}
