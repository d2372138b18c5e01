package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
)

// demoShop is the little world of the demo: producers and consumers of a shop, on a Kafka in
// this process. Anybody's client can join in.
type demoShop struct {
	kafka *kafkatest.Fake
}

// demoTopics are the shop's topics with their partition counts.
var demoTopics = map[string]int32{"orders": 3, "payments": 2, "mails": 1}

// demoBacklog is how many orders per partition there are before anybody reads: enough that
// reading them again is seen to hurt.
const demoBacklog = 400

// fill makes the orders that were there before the demo began.
func (s *demoShop) fill(ctx context.Context) error {
	for p := range demoTopics["orders"] {
		if err := s.kafka.Produce(ctx, "orders", p, demoBacklog+int(p)); err != nil {
			return err
		}
	}
	return nil
}

// produce adds a record to every topic several times a second, until ctx ends.
func (s *demoShop) produce(ctx context.Context) error {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for n := int32(0); ; n++ {
		for topic, partitions := range demoTopics {
			if err := s.kafka.Produce(ctx, topic, n%partitions, 1); err != nil {
				return ignoreEnd(ctx, err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// consume reads a topic as a member of a group and commits as it goes. It ends, having left
// the group, when ctx ends or when it has read limit records; 0 is no limit. It returns how
// many it read.
func (s *demoShop) consume(ctx context.Context, group, topic string, limit int) (int, error) {
	client, err := kgo.NewClient(s.kafka.Options(
		kgo.ClientID(group+"-1"),
		kgo.ConsumerGroup(group),
		kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
		kgo.FetchMaxWait(100*time.Millisecond),
	)...)
	if err != nil {
		return 0, fmt.Errorf("consumer of group %s: %w", group, err)
	}
	defer client.Close()
	read := 0
	for limit == 0 || read < limit {
		most := 200
		if limit > 0 {
			most = min(most, limit-read)
		}
		fetches := client.PollRecords(ctx, most)
		if ctx.Err() != nil {
			return read, nil
		}
		if err := fetches.Err(); err != nil {
			return read, fmt.Errorf("consumer of group %s: %w", group, err)
		}
		read += fetches.NumRecords()
		if err := client.CommitUncommittedOffsets(ctx); err != nil {
			return read, ignoreEnd(ctx, fmt.Errorf("consumer of group %s: %w", group, err))
		}
	}
	return read, nil
}

// rewindFromOutside sets the offsets of a group to 0, as a tool of an administrator would.
func (s *demoShop) rewindFromOutside(ctx context.Context, group, topic string) error {
	to := map[int32]int64{}
	for p := range demoTopics[topic] {
		to[p] = 0
	}
	return s.kafka.Commit(ctx, group, topic, to)
}

// ignoreEnd is err, unless it comes of ctx having ended.
func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
