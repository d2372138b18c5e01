package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetledger/offsetledger/ledger"
)

// topicAnswer is what the brokers said of one topic.
type topicAnswer struct {
	id         uuid.UUID
	partitions int32
	err        error
}

// errTopicOmitted says that a broker left out a topic that it was asked about.
var errTopicOmitted = errors.New("the broker's answer leaves the topic out")

// describeTopics asks what the named topics are. An error is one of the whole request; each
// topic has its own beside.
func describeTopics(ctx context.Context, client *kgo.Client, topics []string) (map[string]topicAnswer, error) {
	resp, err := newMetadata(ctx, client, topics)
	if err != nil {
		return nil, err
	}
	answers := make(map[string]topicAnswer, len(topics))
	for _, topic := range topics {
		answers[topic] = topicAnswer{err: errTopicOmitted}
	}
	for i := range resp.Topics {
		t := &resp.Topics[i]
		if t.Topic == nil {
			continue
		}
		a := topicAnswer{id: t.TopicID, err: kerr.ErrorForCode(t.ErrorCode)}
		for j := range t.Partitions {
			a.partitions = max(a.partitions, t.Partitions[j].Partition+1)
		}
		if a.err == nil && a.partitions == 0 {
			a.err = fmt.Errorf("%w: no partitions", errTopicOmitted)
		}
		answers[*t.Topic] = a
	}
	return answers, nil
}

// newMetadata asks for the metadata of topics. The client keeps answers for some seconds. This one
// is new, and then serves the requests to leaders that follow.
func newMetadata(ctx context.Context, client *kgo.Client, topics []string) (*kmsg.MetadataResponse, error) {
	req := kmsg.NewPtrMetadataRequest()
	for _, topic := range topics {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(topic)
		req.Topics = append(req.Topics, t)
	}
	return client.RequestCachedMetadata(ctx, req, time.Nanosecond)
}

// topicState is what has been told of a topic.
type topicState struct {
	ledger.TopicInfo
	seen   ledger.Time         // when it was last there
	misses int                 // answers in a row that said it does not exist
	rows   map[int32]logBounds // of each partition, as the last event about it said
}

// missesOfDeleted is the number of answers in a row that have to say that a topic does not
// exist before it is held deleted: a broker that has just started does not know all topics
// yet.
const missesOfDeleted = 2

// topicEvents compares the answers with what has been told and returns what is new.
func (o *Observer) topicEvents(answers map[string]topicAnswer, at ledger.Time) []ledger.Event {
	var events []ledger.Event
	for _, topic := range slices.Sorted(maps.Keys(answers)) {
		s := o.topics[topic]
		if s == nil {
			s = &topicState{}
			o.topics[topic] = s
		}
		before := s.seen
		if s.take(answers[topic], at) {
			info := s.TopicInfo
			events = append(events, ledger.Event{
				Kind: ledger.KindTopic, Cluster: o.cfg.Cluster, Topic: topic, Time: at, NotBefore: notAfter(before, at),
				Source: ledger.Source{Kind: ledger.SourcePoll}, TopicInfo: &info,
			})
		}
	}
	return events
}

// take takes over an answer and reports whether it says anything new. An error other than
// that there is no such topic says nothing.
func (s *topicState) take(a topicAnswer, at ledger.Time) (changed bool) {
	if isMissingTopic(a.err) {
		s.misses++
		if s.Deleted || s.misses < missesOfDeleted {
			return false
		}
		s.TopicInfo, s.rows = ledger.TopicInfo{TopicID: s.TopicID, Deleted: true}, nil
		return true
	}
	if a.err != nil {
		return false
	}
	s.misses, s.seen = 0, at
	var none uuid.UUID // the id of topics of brokers before 2.8
	now := ledger.TopicInfo{TopicID: a.id, Partitions: a.partitions}
	now.Recreated = s.TopicID != none && a.id != none && s.TopicID != a.id
	if !s.Deleted && !now.Recreated && s.TopicID == a.id && s.Partitions == a.partitions {
		return false
	}
	if s.TopicID != now.TopicID {
		s.rows = nil // not the same log
	}
	s.TopicInfo = now
	return true
}

// Gone reports whether a topic is known to have been deleted, as of the last observation.
func (o *Observer) Gone(topic string) bool {
	s := o.topics[topic]
	return s != nil && s.Deleted
}

// keptTopics is how many topics that nothing is asked about are remembered, so that one made
// again is known for what it is. A fold that has met its id knows it anyway.
const keptTopics = 10_000

// forget drops what was told of partitions and topics that are no longer asked about.
func (o *Observer) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.shrunk {
		return
	}
	o.shrunk = false
	for topic, s := range o.topics {
		tracked := o.tracked[topic]
		maps.DeleteFunc(s.rows, func(p int32, _ logBounds) bool { _, ok := tracked[p]; return !ok })
	}
	if len(o.topics)-len(o.tracked) > keptTopics {
		maps.DeleteFunc(o.topics, func(topic string, _ *topicState) bool { return o.tracked[topic] == nil })
	}
}
