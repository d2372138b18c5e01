package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetledger/offsetledger/ledger"
)

// TopicNow is what the brokers say of a topic at this moment.
type TopicNow struct {
	Name       string
	Exists     bool
	ID         uuid.UUID      // the zero UUID is unknown
	Partitions []PartitionNow // by number
	Err        error          // why the topic could not be asked; then nothing else is known
}

// PartitionNow is what the leader of a partition says of it.
type PartitionNow struct {
	Partition int32
	Epoch     ledger.Epoch // of the leader
	// LogStart, LastStable and LogEnd are how far the log reaches; meaningful without Err.
	LogStart, LastStable, LogEnd int64
	Err                          error // why the leader could not be asked
}

// Topics asks what topics are and how far their logs reach, in the order of names, of which no
// two may be the same.
func (a *Admin) Topics(ctx context.Context, names []string) ([]TopicNow, error) {
	if len(names) == 0 {
		return nil, nil
	}
	resp, err := newMetadata(ctx, a.client, names)
	if err != nil {
		return nil, fmt.Errorf("describe topics: %w", err)
	}
	out := make([]TopicNow, len(names))
	places := map[string]int{}
	for i, name := range names {
		out[i] = TopicNow{Name: name, Err: errTopicOmitted}
		places[name] = i
	}
	wanted := map[string][]int32{}
	for i := range resp.Topics {
		t := &resp.Topics[i]
		place, ok := places[orEmpty(t.Topic)]
		if !ok {
			continue
		}
		out[place] = topicNow(orEmpty(t.Topic), t)
		for _, p := range out[place].Partitions {
			wanted[out[place].Name] = append(wanted[out[place].Name], p.Partition)
		}
	}
	a.bound(ctx, out, wanted)
	return out, nil
}

func topicNow(name string, t *kmsg.MetadataResponseTopic) TopicNow {
	out := TopicNow{Name: name, ID: t.TopicID}
	switch err := kerr.ErrorForCode(t.ErrorCode); {
	case isMissingTopic(err):
		return out
	case err != nil && len(t.Partitions) == 0:
		out.Err = err
		return out
	}
	out.Exists = true
	for i := range t.Partitions {
		p := &t.Partitions[i]
		out.Partitions = append(out.Partitions, PartitionNow{Partition: p.Partition, Epoch: ledger.EpochOf(p.LeaderEpoch)})
	}
	// A broker answers in the order that it likes.
	slices.SortFunc(out.Partitions, func(a, b PartitionNow) int { return cmp.Compare(a.Partition, b.Partition) })
	return out
}

// bound asks the leaders how far the logs reach.
func (a *Admin) bound(ctx context.Context, topics []TopicNow, wanted map[string][]int32) {
	failed := &ObservationError{}
	rows := listWatermarks(ctx, a.client, wanted, failed)
	known := make(map[ledger.TopicPartition]*ledger.Watermark, len(rows))
	for i := range rows {
		known[ledger.TopicPartition{Topic: rows[i].Topic, Partition: rows[i].Partition}] = &rows[i]
	}
	for i := range topics {
		for j := range topics[i].Partitions {
			p := &topics[i].Partitions[j]
			w := known[ledger.TopicPartition{Topic: topics[i].Name, Partition: p.Partition}]
			if w == nil {
				p.Err = errNoBounds
				continue
			}
			p.LogStart, p.LastStable, p.LogEnd = w.LogStart, w.LastStable, w.LogEnd
		}
	}
}

var errNoBounds = errors.New("its leader did not say how far the log reaches")

// EpochKey is a leader epoch of a partition.
type EpochKey struct {
	ledger.TopicPartition
	Epoch ledger.Epoch
}

// EpochEnds asks where the logs of partitions end that were written under leader epochs and those
// before them. What is missing from the answer is not known to the leaders.
func (a *Admin) EpochEnds(ctx context.Context, keys []EpochKey) map[EpochKey]int64 {
	out := map[EpochKey]int64{}
	// A request holds one epoch of a partition.
	for len(keys) > 0 {
		var now, later []EpochKey
		seen := map[ledger.TopicPartition]bool{}
		for _, k := range keys {
			if seen[k.TopicPartition] {
				later = append(later, k)
				continue
			}
			seen[k.TopicPartition] = true
			now = append(now, k)
		}
		a.epochEnds(ctx, now, out)
		keys = later
	}
	return out
}

func (a *Admin) epochEnds(ctx context.Context, keys []EpochKey, out map[EpochKey]int64) {
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	req.ReplicaID = -1
	asked := map[ledger.TopicPartition]EpochKey{}
	topics := map[string]int{}
	for _, k := range keys {
		i, ok := topics[k.Topic]
		if !ok {
			t := kmsg.NewOffsetForLeaderEpochRequestTopic()
			t.Topic = k.Topic
			i = len(req.Topics)
			topics[k.Topic] = i
			req.Topics = append(req.Topics, t)
		}
		p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
		p.Partition, p.LeaderEpoch = k.Partition, k.Epoch.Kafka()
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, p)
		asked[k.TopicPartition] = k
	}
	for _, shard := range a.client.RequestSharded(ctx, req) {
		_, resp, err := answerOf[*kmsg.OffsetForLeaderEpochRequest, *kmsg.OffsetForLeaderEpochResponse](shard)
		if err != nil {
			continue
		}
		for i := range resp.Topics {
			for j := range resp.Topics[i].Partitions {
				p := &resp.Topics[i].Partitions[j]
				k, ok := asked[ledger.TopicPartition{Topic: resp.Topics[i].Topic, Partition: p.Partition}]
				if ok && p.ErrorCode == 0 && p.EndOffset >= 0 {
					out[k] = p.EndOffset
				}
			}
		}
	}
}

// RecordNow is the first record at or after a time.
type RecordNow struct {
	Offset int64
	Time   ledger.Time // of the record
}

// RecordsAt asks for the first record at or after a moment, in partitions of topics. A partition
// without one, or whose leader does not answer, is missing from the answer.
func (a *Admin) RecordsAt(ctx context.Context, at ledger.Time, partitions map[string][]int32) map[ledger.TopicPartition]RecordNow {
	millis, known := at.Millis()
	if !known || len(partitions) == 0 {
		return nil
	}
	out := map[ledger.TopicPartition]RecordNow{}
	for tp, o := range askOffsets(ctx, a.client, partitions, offsetPoint{timestamp: millis}) {
		if o.err == nil {
			out[tp] = RecordNow{o.at, ledger.AtMillis(o.timestamp)}
		}
	}
	return out
}
