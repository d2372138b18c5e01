package kafkatest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Cluster is a Kafka cluster, in-process or real, with the few things that every test does to
// one. All of it goes over the wire as any client's requests would, outside of any group.
// It is safe for concurrent use.
type Cluster struct {
	name  string
	addrs []string
	opts  []kgo.Opt // how its owner reaches it: TLS and credentials of a superuser

	mu     sync.Mutex
	client *kgo.Client // made at first use, closed by closeClient
}

// Addrs are the host:port pairs of the brokers' plain listener, or of the only one.
func (c *Cluster) Addrs() []string { return slices.Clone(c.addrs) }

// String names the kind of cluster and where it listens.
func (c *Cluster) String() string { return c.name }

// Options are the client options that reach the cluster with all rights, followed by more.
func (c *Cluster) Options(more ...kgo.Opt) []kgo.Opt {
	opts := append([]kgo.Opt{kgo.SeedBrokers(c.addrs...)}, c.opts...)
	return append(opts, more...)
}

// CreateTopic makes a topic with one replica and returns when each partition has a leader.
func (c *Cluster) CreateTopic(ctx context.Context, topic string, partitions int32) error {
	cl, err := c.admin()
	if err != nil {
		return err
	}
	adm := kadm.NewClient(cl)
	if _, err := adm.CreateTopic(ctx, partitions, 1, nil, topic); err != nil {
		return fmt.Errorf("create topic %s: %w", topic, err)
	}
	for {
		ends, err := adm.ListEndOffsets(ctx, topic)
		if err == nil {
			err = ends.Error()
		}
		if err == nil && len(ends[topic]) == int(partitions) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("create topic %s: not ready: %w", topic, errors.Join(ctx.Err(), err))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// DeleteTopic deletes a topic.
func (c *Cluster) DeleteTopic(ctx context.Context, topic string) error {
	cl, err := c.admin()
	if err != nil {
		return err
	}
	if _, err := kadm.NewClient(cl).DeleteTopic(ctx, topic); err != nil {
		return fmt.Errorf("delete topic %s: %w", topic, err)
	}
	return nil
}

// Produce appends n small records to one partition and returns when they are stored.
func (c *Cluster) Produce(ctx context.Context, topic string, partition int32, n int) error {
	cl, err := c.admin()
	if err != nil {
		return err
	}
	recs := make([]*kgo.Record, n)
	for i := range recs {
		recs[i] = &kgo.Record{Topic: topic, Partition: partition, Value: fmt.Appendf(nil, "record %d", i)}
	}
	if err := cl.ProduceSync(ctx, recs...).FirstErr(); err != nil {
		return fmt.Errorf("produce to %s/%d: %w", topic, partition, err)
	}
	return nil
}

// Commit commits offsets by partition of one topic in one request, as an administrator's tool
// does: without a member, leader epoch -1, no metadata. It fails if any partition is refused.
func (c *Cluster) Commit(ctx context.Context, group, topic string, at map[int32]int64) error {
	var offsets kadm.Offsets
	for p, o := range at {
		offsets.AddOffset(topic, p, o, -1)
	}
	return c.CommitOffsets(ctx, group, offsets)
}

// CommitOffsets commits offsets as Commit does, with the epochs and metadata given. An
// offsets topic that is being made at this moment is waited for.
func (c *Cluster) CommitOffsets(ctx context.Context, group string, offsets kadm.Offsets) error {
	cl, err := c.admin()
	if err != nil {
		return err
	}
	adm := kadm.NewClient(cl)
	err = retry(ctx, func() error { return adm.CommitAllOffsets(ctx, group, offsets) })
	if err != nil {
		return fmt.Errorf("commit to group %q: %w", group, err)
	}
	return nil
}

// DeleteOffsets deletes committed offsets of one topic.
func (c *Cluster) DeleteOffsets(ctx context.Context, group, topic string, partitions ...int32) error {
	cl, err := c.admin()
	if err != nil {
		return err
	}
	var set kadm.TopicsSet
	set.Add(topic, partitions...)
	resp, err := kadm.NewClient(cl).DeleteOffsets(ctx, group, set)
	if err == nil {
		err = resp.Error()
	}
	if err != nil {
		return fmt.Errorf("delete offsets of group %q: %w", group, err)
	}
	return nil
}

// DeleteGroup deletes a group, which must be empty.
func (c *Cluster) DeleteGroup(ctx context.Context, group string) error {
	cl, err := c.admin()
	if err != nil {
		return err
	}
	resp, err := kadm.NewClient(cl).DeleteGroup(ctx, group)
	if err == nil {
		err = resp.Err
	}
	if err != nil {
		return fmt.Errorf("delete group %q: %w", group, err)
	}
	return nil
}

// admin is the client that the methods above share.
func (c *Cluster) admin() (*kgo.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client == nil {
		cl, err := kgo.NewClient(c.Options(
			kgo.ClientID("kafkatest"),
			kgo.RecordPartitioner(kgo.ManualPartitioner()),
			kgo.MetadataMinAge(10*time.Millisecond), // topics of a moment ago are known
		)...)
		if err != nil {
			return nil, fmt.Errorf("open admin client: %w", err)
		}
		c.client = cl
	}
	return c.client, nil
}

func (c *Cluster) closeClient() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client != nil {
		c.client.Close()
		c.client = nil
	}
}

// retry repeats f while the broker says that its coordinator is not there yet, until ctx ends.
func retry(ctx context.Context, f func() error) error {
	for {
		err := f()
		switch {
		case errors.Is(err, kerr.CoordinatorNotAvailable), errors.Is(err, kerr.CoordinatorLoadInProgress),
			errors.Is(err, kerr.NotCoordinator):
		default:
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}
