package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetledger/offsetledger/ledger"
)

// ObserverConfig is what an [Observer] needs to know. Client and Cluster have no default.
type ObserverConfig struct {
	Client  *kgo.Client
	Cluster string // name of the cluster in the ledger
	// Topics is what the ledger knows of the cluster's topics, so that what became of them
	// while nobody looked is noticed.
	Topics map[string]ledger.TopicInfo
	// CompleteEvery says that one event in so many of a shard of topics holds all of its
	// partitions, not only those that changed; 0 is 30.
	CompleteEvery int
	// Timeout is the longest that one observation may take; 0 is 10 s. What has not answered
	// by then counts as not observed.
	Timeout time.Duration
}

func (c *ObserverConfig) validate() error {
	var faults []error
	if c.Client == nil {
		faults = append(faults, errors.New("there is no Kafka client"))
	}
	if c.Cluster == "" {
		faults = append(faults, errors.New("the cluster has no name"))
	}
	if c.CompleteEvery < 0 {
		faults = append(faults, fmt.Errorf("one event in %d complete is none", c.CompleteEvery))
	}
	if c.Timeout < 0 {
		faults = append(faults, fmt.Errorf("the timeout is negative: %s", c.Timeout))
	}
	return errors.Join(faults...)
}

// Observer asks the brokers how far the logs reach of the partitions that groups have
// committed to, and what has become of their topics. It tells each thing once: what has not
// changed makes no event.
//
// Track may be called at any time; the other methods by one goroutine.
type Observer struct {
	cfg ObserverConfig

	mu      sync.Mutex
	tracked map[string]map[int32]struct{} // partitions by topic, guarded by mu

	topics map[string]*topicState
	told   map[ledger.TopicPartition]ledger.Watermark // as the last event about each said
	left   [ledger.WatermarkShards]int                // events of the shard before a complete one
}

// NewObserver returns an Observer that has observed nothing yet: the first event of every
// shard will be complete.
func NewObserver(cfg ObserverConfig) (*Observer, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("observe watermarks: %w", err)
	}
	if cfg.CompleteEvery == 0 {
		cfg.CompleteEvery = 30
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 10 * time.Second
	}
	o := &Observer{cfg: cfg, tracked: map[string]map[int32]struct{}{}}
	o.Reset()
	return o, nil
}

// Reset forgets what has been told, and goes back to the topics of the configuration. It is
// for events that could not be stored: whatever they said will be said again.
func (o *Observer) Reset() {
	o.topics = map[string]*topicState{}
	for name, info := range o.cfg.Topics {
		o.topics[name] = &topicState{TopicInfo: info}
	}
	o.told = map[ledger.TopicPartition]ledger.Watermark{}
	o.left = [ledger.WatermarkShards]int{}
}

// Track makes the partitions of rows ones that a group has committed to. Only topic and
// partition of the rows count.
func (o *Observer) Track(rows []ledger.Offset) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var topic string
	var partitions map[int32]struct{}
	for i := range rows {
		if row := &rows[i]; partitions == nil || row.Topic != topic {
			topic, partitions = row.Topic, o.tracked[row.Topic]
			if partitions == nil {
				partitions = map[int32]struct{}{}
				o.tracked[topic] = partitions
			}
		}
		if _, ok := partitions[rows[i].Partition]; !ok {
			partitions[rows[i].Partition] = struct{}{}
		}
	}
}

// Observe asks once. It returns topic events and watermarks events to be appended together;
// their effective time is now, their IDs are the appender's to make.
//
// What could not be observed is in no event, and the error, a [*ObservationError] unless
// nothing could be asked at all, says so beside the events of what could.
func (o *Observer) Observe(ctx context.Context, now time.Time) ([]ledger.Event, error) {
	ctx, cancel := context.WithTimeout(ctx, o.cfg.Timeout)
	defer cancel()
	wanted := o.wanted()
	if len(wanted) == 0 {
		return nil, nil
	}
	described, err := describeTopics(ctx, o.cfg.Client, slices.Sorted(maps.Keys(wanted)))
	if err != nil {
		return nil, fmt.Errorf("observe topics: %w", err)
	}
	failed := &ObservationError{}
	at := ledger.AtTime(now)
	events := o.topicEvents(described, at)
	asked := o.present(wanted, described, failed)
	rows := listWatermarks(ctx, o.cfg.Client, asked, failed)
	for i := range rows {
		rows[i].TopicID = described[rows[i].Topic].id
	}
	events = append(events, o.watermarkEvents(rows, at)...)
	if failed.Failed > 0 {
		return events, failed
	}
	return events, nil
}

// wanted returns a copy of what is tracked.
func (o *Observer) wanted() map[string][]int32 {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := make(map[string][]int32, len(o.tracked))
	for topic, partitions := range o.tracked {
		all[topic] = slices.Collect(maps.Keys(partitions))
	}
	return all
}

// present returns the partitions of wanted that exist. Those that no longer do are not
// failures: there is nothing of theirs to observe.
func (o *Observer) present(wanted map[string][]int32, described map[string]topicAnswer, failed *ObservationError) map[string][]int32 {
	all := map[string][]int32{}
	for topic, partitions := range wanted {
		answer := described[topic]
		if answer.err != nil {
			if !o.Gone(topic) {
				failed.add(topic, partitions, answer.err)
			}
			continue
		}
		partitions = slices.DeleteFunc(partitions, func(p int32) bool { return p < 0 || p >= answer.partitions })
		if len(partitions) > 0 {
			all[topic] = partitions
		}
	}
	return all
}

// watermarkEvents makes one event of each shard that has something to tell.
func (o *Observer) watermarkEvents(rows []ledger.Watermark, at ledger.Time) []ledger.Event {
	var shards [ledger.WatermarkShards][]ledger.Watermark
	for _, row := range rows {
		shard := ledger.WatermarkShard(row.Topic)
		shards[shard] = append(shards[shard], row)
	}
	var events []ledger.Event
	for shard, rows := range shards {
		changed := o.changed(rows)
		if len(changed) == 0 {
			continue
		}
		w := &ledger.Watermarks{Shard: int32(shard), Rows: changed}
		if o.left[shard] == 0 {
			w.Complete, w.Rows = true, rows
			o.left[shard] = o.cfg.CompleteEvery
		}
		o.left[shard]--
		events = append(events, ledger.Event{
			Kind: ledger.KindWatermarks, Cluster: o.cfg.Cluster, Time: at,
			Source: ledger.Source{Kind: ledger.SourcePoll}, Watermarks: w,
		})
	}
	return events
}

// changed returns the rows that differ from what was told of their partitions, and takes them
// as told.
func (o *Observer) changed(rows []ledger.Watermark) []ledger.Watermark {
	var changed []ledger.Watermark
	for _, row := range rows {
		tp := ledger.TopicPartition{Topic: row.Topic, Partition: row.Partition}
		if told, ok := o.told[tp]; !ok || told != row {
			o.told[tp] = row
			changed = append(changed, row)
		}
	}
	return changed
}

// ObservationError says that some partitions could not be observed.
type ObservationError struct {
	Failed int                   // partitions
	First  ledger.TopicPartition // one of them
	Err    error                 // why that one failed
}

func (e *ObservationError) Error() string {
	return fmt.Sprintf("observe watermarks: %d partitions failed, among them %s/%d: %v",
		e.Failed, e.First.Topic, e.First.Partition, e.Err)
}

// Unwrap returns the error of the partition that is named.
func (e *ObservationError) Unwrap() error { return e.Err }

func (e *ObservationError) add(topic string, partitions []int32, err error) {
	if e.Failed == 0 && len(partitions) > 0 {
		e.First, e.Err = ledger.TopicPartition{Topic: topic, Partition: slices.Min(partitions)}, err
	}
	e.Failed += len(partitions)
}
