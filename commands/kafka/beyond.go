package kafka

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetledger/offsetledger/ledger"
)

// A partition can end beyond its last record: compaction keeps a batch that it has emptied, and
// not every broker gives all positions to records. A consumer is told nothing of that. So where
// a line stands still before the end, the leader is asked what is there.

// standsStill is how many listings of ends in a row have to find a line at the same place,
// before the end, for its leader to be asked.
const standsStill = 3

// barren is a range of positions without records, from up to, not including, to.
type barren struct{ from, to int64 }

// standing returns where the lines stand that have stood still before their end for a while.
// It is called at every listing of the ends.
func (t *Tail) standing(ends map[int32]int64) map[int32]int64 {
	at := map[int32]int64{}
	for p, l := range t.lines {
		switch {
		case l.read != l.stoodAt || l.read >= ends[p]:
			l.stoodAt, l.stood = l.read, 0
		case l.stood < standsStill:
			l.stood++
		default:
			at[p] = l.read
		}
	}
	return at
}

// beyond asks the leaders for records from positions on, and returns what of the partitions is
// barren. What cannot be told is asked again the next time.
func beyond(ctx context.Context, client *kgo.Client, positions map[int32]int64) map[int32]barren {
	if len(positions) == 0 {
		return nil
	}
	meta, err := askMetadata(ctx, client, []string{offsetsTopic})
	if err != nil || len(meta.Topics) == 0 {
		return nil
	}
	topic := meta.Topics[0]
	byLeader := map[int32]map[int32]int64{}
	for _, p := range topic.Partitions {
		if position, ok := positions[p.Partition]; ok && p.Leader >= 0 {
			if byLeader[p.Leader] == nil {
				byLeader[p.Leader] = map[int32]int64{}
			}
			byLeader[p.Leader][p.Partition] = position
		}
	}
	found := map[int32]barren{}
	for leader, at := range byLeader {
		answers, err := fetchAt(ctx, client, leader, topic.TopicID, at)
		if err != nil {
			continue
		}
		for i := range answers {
			if from, ok := at[answers[i].Partition]; ok {
				if to := barrenTo(&answers[i], from); to > from {
					found[answers[i].Partition] = barren{from, to}
				}
			}
		}
	}
	return found
}

// barrenTo returns up to where an answer shows that there is no record at or above from; from
// itself if there is one, or if it does not tell.
func barrenTo(answer *kmsg.FetchResponseTopicPartition, from int64) int64 {
	if answer.ErrorCode != 0 {
		return from
	}
	if len(answer.RecordBatches) == 0 {
		return max(from, answer.HighWatermark)
	}
	fetched, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
		KeepControlRecords: true, Offset: from, IsolationLevel: kgo.ReadUncommitted(), Topic: offsetsTopic, Partition: answer.Partition,
	}, answer, kgo.DefaultDecompressor(), nil)
	if fetched.Err != nil || len(fetched.Records) > 0 {
		return from
	}
	return next
}

// fetchAt asks the leader of partitions of __consumer_offsets, without a session, for what is
// at a position of each: one batch at the most.
func fetchAt(ctx context.Context, client *kgo.Client, leader int32, topicID [16]byte, at map[int32]int64) ([]kmsg.FetchResponseTopicPartition, error) {
	req := kmsg.NewPtrFetchRequest()
	req.ReplicaID, req.SessionEpoch = -1, -1
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic, topic.TopicID = offsetsTopic, topicID
	for p, position := range at {
		partition := kmsg.NewFetchRequestTopicPartition()
		partition.Partition, partition.FetchOffset, partition.PartitionMaxBytes = p, position, 1
		topic.Partitions = append(topic.Partitions, partition)
	}
	req.Topics = append(req.Topics, topic)
	answer, err := client.Broker(int(leader)).RetriableRequest(ctx, req)
	if err != nil {
		return nil, err
	}
	resp, ok := answer.(*kmsg.FetchResponse)
	if !ok {
		return nil, fmt.Errorf("the broker answered a fetch with %T", answer)
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return nil, err
	}
	var partitions []kmsg.FetchResponseTopicPartition
	for i := range resp.Topics {
		partitions = append(partitions, resp.Topics[i].Partitions...)
	}
	return partitions, nil
}

// pass takes the line over a barren range, if it still stands before it. What compaction may
// have removed there is looked after as behind any hole.
func (l *sourceLine) pass(b barren, now ledger.Time) {
	if l.read != b.from {
		return
	}
	l.closeRun(now)
	l.read = b.to
	if b.to <= l.next {
		return // it was read before a restart
	}
	if l.hole.watch || b.to > l.firstEnd {
		l.hole.found(l.next, b.to, l.high, l.latest())
		l.hole.Until = b.to // nothing before it is still to be read
	}
	l.next, l.moved = b.to, true
}
