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
// Track and Retain may be called at any time; the other methods by one goroutine.
type Observer struct {
	cfg ObserverConfig

	mu sync.Mutex
	// tracked are the partitions to ask about, by topic: true for those that were tracked
	// since the last Retain. It is guarded by mu.
	tracked map[string]map[int32]bool
	shrunk  bool // tracked has lost some since forget last looked

	topics map[string]*topicState
	shards [ledger.WatermarkShards]shardTold
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
	o := &Observer{cfg: cfg, tracked: map[string]map[int32]bool{}}
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
	o.shards = [ledger.WatermarkShards]shardTold{}
}

// Track makes the partitions of rows ones that a group has committed to. Only topic and
// partition of the rows count.
func (o *Observer) Track(rows []ledger.Offset) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range rows {
		o.track(rows[i].Topic, rows[i].Partition, true)
	}
}

func (o *Observer) track(topic string, partition int32, lately bool) {
	partitions := o.tracked[topic]
	if partitions == nil {
		partitions = map[int32]bool{}
		o.tracked[topic] = partitions
	}
	if lately || !partitions[partition] {
		partitions[partition] = lately
	}
}

// Retain takes over which partitions groups have offsets in, as a fold knows it: what is not
// among them is no longer asked about, unless it was tracked since the Retain before, since
// the fold may be behind.
func (o *Observer) Retain(committed []ledger.TopicPartition) {
	o.mu.Lock()
	defer o.mu.Unlock()
	before := o.tracked
	o.shrunk = true
	o.tracked = make(map[string]map[int32]bool, len(before))
	for topic, partitions := range before {
		for p, lately := range partitions {
			if lately {
				o.track(topic, p, false)
			}
		}
	}
	for _, tp := range committed {
		o.track(tp.Topic, tp.Partition, false)
	}
}

// Observe asks once. It returns topic events and watermarks events to be appended together;
// their effective time is now, their IDs are the appender's to make.
//
// What could not be observed is named in the events of what could, as unanswered, and the
// error says so beside them: an [*ObservationError], unless nothing could be asked at all.
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
	events = append(events, o.watermarkEvents(rows, failed.partitions, at)...)
	o.forget()
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
// failures: there is nothing of theirs to observe. Of a topic that is gone nothing is asked
// any more, until a group commits to it or a fold says that one has an offset there.
func (o *Observer) present(wanted map[string][]int32, described map[string]topicAnswer, failed *ObservationError) map[string][]int32 {
	all := map[string][]int32{}
	for topic, partitions := range wanted {
		answer := described[topic]
		if answer.err != nil {
			if !o.Gone(topic) {
				failed.add(topic, partitions, answer.err)
				continue
			}
			o.mu.Lock()
			delete(o.tracked, topic)
			o.shrunk = true
			o.mu.Unlock()
			continue
		}
		partitions = slices.DeleteFunc(partitions, func(p int32) bool { return p < 0 || p >= answer.partitions })
		if len(partitions) > 0 {
			all[topic] = partitions
		}
	}
	return all
}
