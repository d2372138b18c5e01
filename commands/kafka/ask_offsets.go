package kafka

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetledger/offsetledger/ledger"
)

// Which offset of a partition ListOffsets asks for: a point of its log, or the first record at or
// after a timestamp, and whether open transactions end it.
type offsetPoint struct {
	timestamp int64
	isolation int8
}

var (
	pointLogStart   = offsetPoint{timestamp: -2}
	pointLogEnd     = offsetPoint{timestamp: -1}
	pointLastStable = offsetPoint{timestamp: -1, isolation: 1}
)

// listedOffset is the answer for one partition.
type listedOffset struct {
	at        int64
	timestamp int64 // of the record there, when asked by timestamp
	err       error
}

// errPartitionOmitted says that no answer held a partition that was asked for.
var errPartitionOmitted = errors.New("the broker's answer leaves the partition out")

// errNoOffset says that a broker answered with the offset that stands for none.
var errNoOffset = errors.New("the broker answered with no offset and no error")

// listWatermarks asks for the three watermarks of all partitions at once: three requests to
// each broker, however many partitions it leads. Rows come sorted by topic and partition; a
// partition whose answer is not complete has none, and is added to failed.
func listWatermarks(ctx context.Context, client *kgo.Client, partitions map[string][]int32, failed *ObservationError) []ledger.Watermark {
	if len(partitions) == 0 {
		return nil
	}
	points := [...]offsetPoint{pointLogStart, pointLastStable, pointLogEnd}
	var answers [len(points)]map[ledger.TopicPartition]listedOffset
	var asking sync.WaitGroup
	for i, point := range points {
		asking.Go(func() { answers[i] = askOffsets(ctx, client, partitions, point) })
	}
	asking.Wait()

	var rows []ledger.Watermark
	for _, topic := range slices.Sorted(maps.Keys(partitions)) {
		slices.Sort(partitions[topic])
		for _, p := range partitions[topic] {
			tp := ledger.TopicPartition{Topic: topic, Partition: p}
			row, err := watermark(tp, answers[0][tp], answers[1][tp], answers[2][tp])
			if err != nil {
				failed.add(topic, []int32{p}, err)
				continue
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// watermark puts a row together. The three answers are of slightly different moments; a log
// end or last stable offset below another answer has since moved at least to that one.
func watermark(tp ledger.TopicPartition, start, stable, end listedOffset) (ledger.Watermark, error) {
	if err := cmp.Or(start.err, stable.err, end.err); err != nil {
		return ledger.Watermark{}, err
	}
	row := ledger.Watermark{Topic: tp.Topic, Partition: tp.Partition, LogStart: start.at}
	row.LastStable = max(stable.at, start.at)
	row.LogEnd = max(end.at, row.LastStable)
	return row, nil
}

// askOffsets asks for one point of all partitions. Every partition is in the answer.
func askOffsets(ctx context.Context, client *kgo.Client, partitions map[string][]int32, point offsetPoint) map[ledger.TopicPartition]listedOffset {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	req.IsolationLevel = point.isolation
	answers := map[ledger.TopicPartition]listedOffset{}
	for topic, numbers := range partitions {
		t := kmsg.NewListOffsetsRequestTopic()
		t.Topic = topic
		for _, p := range numbers {
			asked := kmsg.NewListOffsetsRequestTopicPartition()
			asked.Partition, asked.Timestamp = p, point.timestamp
			t.Partitions = append(t.Partitions, asked)
			answers[ledger.TopicPartition{Topic: topic, Partition: p}] = listedOffset{err: errPartitionOmitted}
		}
		req.Topics = append(req.Topics, t)
	}
	for _, shard := range client.RequestSharded(ctx, req) {
		takeListed(answers, shard)
	}
	return answers
}

// takeListed takes over the part of an answer that one broker gave.
func takeListed(answers map[ledger.TopicPartition]listedOffset, shard kgo.ResponseShard) {
	if shard.Err != nil {
		req, ok := shard.Req.(*kmsg.ListOffsetsRequest)
		if !ok {
			return
		}
		for i := range req.Topics {
			for _, p := range req.Topics[i].Partitions {
				answers[ledger.TopicPartition{Topic: req.Topics[i].Topic, Partition: p.Partition}] = listedOffset{err: shard.Err}
			}
		}
		return
	}
	resp, ok := shard.Resp.(*kmsg.ListOffsetsResponse)
	if !ok {
		return
	}
	for i := range resp.Topics {
		for _, p := range resp.Topics[i].Partitions {
			o := listedOffset{at: p.Offset, timestamp: p.Timestamp, err: kerr.ErrorForCode(p.ErrorCode)}
			if o.err == nil && o.at < 0 {
				o.err = errNoOffset
			}
			answers[ledger.TopicPartition{Topic: resp.Topics[i].Topic, Partition: p.Partition}] = o
		}
	}
}
