package kafka

import (
	"encoding/binary"
	"hash/crc32"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/ledgertest"
)

// endBeyond makes the broker tell that its one partition of __consumer_offsets ends at end, and
// have nothing behind its last record. Consumers are not answered so: they wait.
func endBeyond(fake *kafkatest.Fake, end int64) {
	fake.Kafka.ControlKey(int16(kmsg.ListOffsets), func(r kmsg.Request) (kmsg.Response, error, bool) {
		fake.Kafka.KeepControl()
		req := r.(*kmsg.ListOffsetsRequest)
		if len(req.Topics) != 1 || req.Topics[0].Topic != offsetsTopic || req.Topics[0].Partitions[0].Timestamp != -1 {
			return nil, nil, false
		}
		resp := req.ResponseKind().(*kmsg.ListOffsetsResponse)
		topic, partition := kmsg.NewListOffsetsResponseTopic(), kmsg.NewListOffsetsResponseTopicPartition()
		partition.Offset = end
		topic.Topic, topic.Partitions = offsetsTopic, append(topic.Partitions, partition)
		resp.Topics = append(resp.Topics, topic)
		return resp, nil, true
	})
	// A consumer that begins at a position asks whether its epoch reaches as far.
	fake.Kafka.ControlKey(int16(kmsg.OffsetForLeaderEpoch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		fake.Kafka.KeepControl()
		resp := r.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
		for _, asked := range r.(*kmsg.OffsetForLeaderEpochRequest).Topics {
			topic := kmsg.NewOffsetForLeaderEpochResponseTopic()
			topic.Topic = asked.Topic
			for _, p := range asked.Partitions {
				partition := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
				partition.Partition, partition.LeaderEpoch, partition.EndOffset = p.Partition, p.LeaderEpoch, end
				topic.Partitions = append(topic.Partitions, partition)
			}
			resp.Topics = append(resp.Topics, topic)
		}
		return resp, nil, true
	})
	fake.Kafka.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		fake.Kafka.KeepControl()
		req := r.(*kmsg.FetchRequest)
		if req.SessionEpoch != -1 || len(req.Topics) == 0 {
			return nil, nil, false
		}
		resp := req.ResponseKind().(*kmsg.FetchResponse)
		topic, partition := kmsg.NewFetchResponseTopic(), kmsg.NewFetchResponseTopicPartition()
		partition.HighWatermark = end
		topic.Topic, topic.TopicID, topic.Partitions = offsetsTopic, req.Topics[0].TopicID, append(topic.Partitions, partition)
		resp.Topics = append(resp.Topics, topic)
		return resp, nil, true
	})
}

// The log of a partition ends beyond its last record, as compaction leaves it that empties the
// last batches. Nothing will ever come for those positions, and capture is ready all the same;
// so it is when it starts again.
func TestReadyWhereTheLogEndsBeyondItsLastRecord(t *testing.T) {
	fake := startFake(t, kafkatest.FakeConfig{Partitions: 1, Topics: map[string]int32{"t": 1}})
	log := ledgertest.New(t)
	require.NoError(t, fake.Write(t.Context(), "g", commits("g", "t", 0, 5, 6, 7)...))
	endBeyond(fake, 9)
	for range 2 {
		r := capture(t, fake, log, nil)
		r.ready()
		r.eventually(func(s Status) bool { return s.Lines[0].Next == 9 && s.Lines[0].CompleteThrough.Known() })
		r.kill()
	}
	require.Equal(t, []int64{5, 6, 7}, allAts(eventsOf(t, log, ledger.KindCommitted)))
	require.Empty(t, eventsOf(t, log, ledger.KindGap))
}

// What compaction removed at the end of the log while capture was away may have been the
// tombstone of an offset: the coordinators are asked, though no record stands behind the hole.
func TestHoleAtTheEndOfTheLog(t *testing.T) {
	fake := startFake(t, kafkatest.FakeConfig{Partitions: 1, Topics: map[string]int32{"t": 1}})
	log := ledgertest.New(t)
	require.NoError(t, fake.Commit(t.Context(), "g", "t", map[int32]int64{0: 5}))
	require.NoError(t, fake.Sync(t.Context()))
	r := capture(t, fake, log, nil)
	r.ready()
	r.kill()
	end := r.Status().Lines[0].Next
	endBeyond(fake, end+1)
	fake.Kafka.ControlKey(int16(kmsg.OffsetFetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		fake.Kafka.KeepControl()
		return noOffsets(r.(*kmsg.OffsetFetchRequest)), nil, true
	})
	r = capture(t, fake, log, func(cfg *TailConfig) { cfg.Facts = ViewFacts{View: view(t, log), Cluster: "c"} })
	r.ready()
	require.Eventually(t, func() bool { return len(eventsOf(t, log, ledger.KindDeleted)) == 1 }, patience, 5*time.Millisecond)
	gone := eventsOf(t, log, ledger.KindDeleted)[0]
	require.Equal(t, ledger.SourceReconcile, gone.Source.Kind)
	require.Equal(t, "g", gone.Group)
	r.eventually(func(Status) bool { return holeOf(t, log) == nil })
}

// noOffsets answers that none of the offsets asked for exists.
func noOffsets(req *kmsg.OffsetFetchRequest) *kmsg.OffsetFetchResponse {
	resp := req.ResponseKind().(*kmsg.OffsetFetchResponse)
	for _, g := range req.Groups {
		group := kmsg.NewOffsetFetchResponseGroup()
		group.Group = g.Group
		for _, t := range g.Topics {
			topic := kmsg.NewOffsetFetchResponseGroupTopic()
			topic.Topic, topic.TopicID = t.Topic, t.TopicID
			for _, p := range t.Partitions {
				partition := kmsg.NewOffsetFetchResponseGroupTopicPartition()
				partition.Partition, partition.Offset = p, -1
				topic.Partitions = append(topic.Partitions, partition)
			}
			group.Topics = append(group.Topics, topic)
		}
		resp.Groups = append(resp.Groups, group)
	}
	return resp
}

// A batch that compaction has emptied ends its positions, one with a record at or above the
// position does not, and an error tells nothing.
func TestBarrenTo(t *testing.T) {
	batch := func(first int64, lastDelta int32, records ...kmsg.Record) []byte {
		b := kmsg.RecordBatch{FirstOffset: first, Magic: 2, LastOffsetDelta: lastDelta, NumRecords: int32(len(records)), ProducerID: -1}
		for i := range records {
			raw := records[i].AppendTo(nil)
			records[i].Length = int32(len(raw) - 1) // a record of less than 64 bytes
			b.Records = records[i].AppendTo(b.Records)
		}
		b.Length = int32(len(b.AppendTo(nil)) - 12)
		encoded := b.AppendTo(nil)
		binary.BigEndian.PutUint32(encoded[17:], crc32.Checksum(encoded[21:], crc32.MakeTable(crc32.Castagnoli)))
		return encoded
	}
	for name, c := range map[string]struct {
		answer kmsg.FetchResponseTopicPartition
		want   int64
	}{
		"nothing up to the end": {kmsg.FetchResponseTopicPartition{HighWatermark: 20}, 20},
		"at the end":            {kmsg.FetchResponseTopicPartition{HighWatermark: 10}, 10},
		"an emptied batch":      {kmsg.FetchResponseTopicPartition{HighWatermark: 20, RecordBatches: batch(10, 4)}, 15},
		"records before alone":  {kmsg.FetchResponseTopicPartition{HighWatermark: 20, RecordBatches: batch(8, 6, kmsg.Record{OffsetDelta: 1})}, 15},
		"a record":              {kmsg.FetchResponseTopicPartition{HighWatermark: 20, RecordBatches: batch(10, 4, kmsg.Record{OffsetDelta: 2})}, 10},
		"an error":              {kmsg.FetchResponseTopicPartition{HighWatermark: 20, ErrorCode: 1}, 10},
		"a batch that is cut":   {kmsg.FetchResponseTopicPartition{HighWatermark: 20, RecordBatches: batch(10, 4)[:50]}, 10},
	} {
		require.Equal(t, c.want, barrenTo(&c.answer, 10), name)
	}
}
