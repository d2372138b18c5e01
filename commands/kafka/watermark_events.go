package kafka

import (
	"fmt"
	"maps"
	"slices"

	"github.com/offsetledger/offsetledger/ledger"
)

// shardTold is what the events of one shard of topics have said, beside the rows.
type shardTold struct {
	unanswered []ledger.TopicPartitions // of the last event
	left       int                      // events before a complete one
}

// logBounds is how far the log of one partition reaches.
type logBounds struct{ start, stable, end int64 }

// watermarkEvents makes one event of each shard that has something to tell. rows come sorted
// by topic.
func (o *Observer) watermarkEvents(rows []ledger.Watermark, unanswered map[string][]int32, at ledger.Time) []ledger.Event {
	var shards [ledger.WatermarkShards][]ledger.Watermark
	for topic, rest := "", rows; len(rest) > 0; {
		topic = rest[0].Topic
		n := slices.IndexFunc(rest, func(row ledger.Watermark) bool { return row.Topic != topic })
		if n < 0 {
			n = len(rest)
		}
		shard := ledger.WatermarkShard(topic)
		shards[shard] = append(shards[shard], rest[:n]...)
		rest = rest[n:]
	}
	var missing [ledger.WatermarkShards][]ledger.TopicPartitions
	for _, topic := range slices.Sorted(maps.Keys(unanswered)) {
		shard := ledger.WatermarkShard(topic)
		missing[shard] = append(missing[shard], ledger.TopicPartitions{Topic: topic, Partitions: slices.Sorted(slices.Values(unanswered[topic]))})
	}
	var events []ledger.Event
	for shard := range shards {
		if w := o.shardEvent(int32(shard), shards[shard], missing[shard]); w != nil {
			events = append(events, ledger.Event{
				Kind: ledger.KindWatermarks, Cluster: o.cfg.Cluster, Time: at,
				Source: ledger.Source{Kind: ledger.SourcePoll}, Watermarks: w,
			})
		}
	}
	return events
}

// shardEvent is what there is to tell of a shard, nil if nothing is, and takes it as told.
func (o *Observer) shardEvent(shard int32, rows []ledger.Watermark, unanswered []ledger.TopicPartitions) *ledger.Watermarks {
	told := &o.shards[shard]
	w := &ledger.Watermarks{Shard: shard, Rows: o.changed(rows), Unanswered: unanswered}
	if len(w.Rows) == 0 && slices.EqualFunc(told.unanswered, unanswered, equalPartitions) {
		return nil
	}
	if told.left == 0 && len(unanswered) == 0 {
		w.Complete, w.Rows = true, rows
		for i := range rows {
			rows[i].TopicID = o.topics[rows[i].Topic].TopicID
		}
		told.left = o.cfg.CompleteEvery
	}
	told.left = max(told.left-1, 0)
	told.unanswered = unanswered
	return w
}

func equalPartitions(a, b ledger.TopicPartitions) bool {
	return a.Topic == b.Topic && slices.Equal(a.Partitions, b.Partitions)
}

// changed returns the rows that differ from what was told of their partitions, and takes them
// as told. The first row of each partition has the topic's id.
func (o *Observer) changed(rows []ledger.Watermark) []ledger.Watermark {
	var changed []ledger.Watermark
	for _, row := range rows {
		s := o.topics[row.Topic]
		if s.rows == nil {
			s.rows = map[int32]logBounds{}
		}
		now := logBounds{row.LogStart, row.LastStable, row.LogEnd}
		before, ok := s.rows[row.Partition]
		if ok && before == now {
			continue
		}
		if !ok {
			row.TopicID = s.TopicID
		}
		s.rows[row.Partition] = now
		changed = append(changed, row)
	}
	return changed
}

// ObservationError says that some partitions could not be observed.
type ObservationError struct {
	Failed int                   // partitions
	First  ledger.TopicPartition // one of them
	Err    error                 // why that one failed

	partitions map[string][]int32 // all of them
}

func (e *ObservationError) Error() string {
	return fmt.Sprintf("observe watermarks: %s failed, among them %s/%d: %v",
		ledger.Count(e.Failed, "partition"), e.First.Topic, e.First.Partition, e.Err)
}

// Unwrap returns the error of the partition that is named.
func (e *ObservationError) Unwrap() error { return e.Err }

func (e *ObservationError) add(topic string, partitions []int32, err error) {
	if len(partitions) == 0 {
		return
	}
	if e.Failed == 0 {
		e.First, e.Err = ledger.TopicPartition{Topic: topic, Partition: slices.Min(partitions)}, err
		e.partitions = map[string][]int32{}
	}
	e.Failed += len(partitions)
	e.partitions[topic] = append(e.partitions[topic], partitions...)
}
