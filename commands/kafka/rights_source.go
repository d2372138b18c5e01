package kafka

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetledger/offsetledger/ledger"
)

// readOffsets fetches nothing from the end of one partition of __consumer_offsets: that
// shows the right to read the topic.
func (c *accessCheck) readOffsets(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	mend := allow("Read", "--topic "+offsetsTopic)
	var topic kmsg.MetadataResponseTopic
	meta, err := askMetadata(ctx, c.client, []string{offsetsTopic})
	if err == nil && len(meta.Topics) > 0 {
		topic = meta.Topics[0]
		err = kerr.ErrorForCode(topic.ErrorCode)
	}
	switch {
	case isMissingTopic(err), err == nil && len(topic.Partitions) == 0:
		c.missing = true
		c.Rights = append(c.Rights, Right{Key: RightReadOffsets, Detail: "it does not exist yet: Kafka makes it when the first group commits"})
		return
	case err != nil:
		c.record(RightReadOffsets, err, "", mend)
		return
	}
	c.Source = int32(len(topic.Partitions))
	c.Oldest = oldestRecord(ctx, c.client, c.Source)
	detail := ledger.Count(c.Source, "partition")
	if c.Oldest.Known() {
		detail += ", oldest record of " + c.Oldest.String()
	}
	c.record(RightReadOffsets, fetchNothing(ctx, c.client, topic), detail, mend)
}

// askMetadata asks for brokers and the named topics, or all topics if topics is nil. It never
// takes what the client remembers for an answer.
func askMetadata(ctx context.Context, client *kgo.Client, topics []string) (*kmsg.MetadataResponse, error) {
	req := kmsg.NewPtrMetadataRequest()
	if topics != nil {
		req.Topics = []kmsg.MetadataRequestTopic{}
	}
	for _, topic := range topics {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(topic)
		req.Topics = append(req.Topics, t)
	}
	return req.RequestWith(ctx, client)
}

// fetchNothing asks the leader of a partition of the topic for the records after its end.
func fetchNothing(ctx context.Context, client *kgo.Client, topic kmsg.MetadataResponseTopic) error {
	p := topic.Partitions[0]
	end := askOffsets(ctx, client, map[string][]int32{offsetsTopic: {p.Partition}},
		pointLogEnd)[ledger.TopicPartition{Topic: offsetsTopic, Partition: p.Partition}]
	if end.err != nil {
		return end.err
	}
	answers, err := fetchAt(ctx, client, p.Leader, topic.TopicID, map[int32]int64{p.Partition: end.at})
	if err != nil {
		return err
	}
	for i := range answers {
		if err := kerr.ErrorForCode(answers[i].ErrorCode); err != nil {
			return err
		}
	}
	return nil
}

// oldestRecord returns the earliest timestamp among the first records of a topic's
// partitions. It is unknown if there are no records, or it cannot be asked for.
func oldestRecord(ctx context.Context, client *kgo.Client, partitions int32) ledger.Time {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = offsetsTopic
	for p := range partitions {
		rp := kmsg.NewListOffsetsRequestTopicPartition()
		rp.Partition, rp.Timestamp = p, 0 // the first record that is not older than 1970
		t.Partitions = append(t.Partitions, rp)
	}
	req.Topics = append(req.Topics, t)
	var oldest ledger.Time
	for _, shard := range client.RequestSharded(ctx, req) {
		resp, ok := shard.Resp.(*kmsg.ListOffsetsResponse)
		if shard.Err != nil || !ok {
			continue
		}
		for i := range resp.Topics {
			for _, p := range resp.Topics[i].Partitions {
				if p.ErrorCode == 0 && p.Offset >= 0 {
					oldest = ledger.MinTime(oldest, knownTime(p.Timestamp))
				}
			}
		}
	}
	return oldest
}

// retentionConfig is the broker setting of how long offsets of an empty group are kept.
