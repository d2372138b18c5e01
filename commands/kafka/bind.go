package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetledger/offsetledger/commands"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// Bind says how a consumer of franz-go is bound to an offset manager. The zero Bind is the
// default.
type Bind struct {
	Start   Start   // where partitions are read from when they are assigned
	Outside Outside // what to do if a start from the ledger lies outside of the log

	// CommitStart commits the start position of partitions that have no committed offset, as soon as
	// they are assigned, whatever the strategy. Otherwise a consumer that begins at the end of
	// the log, and is stopped before it has done anything, begins at a later end when it comes
	// back, and what was produced in between is never read. It goes with a
	// [kgo.ConsumeStartOffset] at the start or the end of the log, and not with transactions.
	CommitStart bool

	// OnAssigned, OnRevoked and OnLost take the place of the options of the same names, which are
	// the manager's. OnRevoked is called before what is done is committed: what it finishes
	// still counts.
	OnAssigned, OnRevoked, OnLost func(context.Context, *kgo.Client, map[string][]int32)

	// CommitTimeout bounds the commit when partitions are revoked; 0 is 10 s. It has to be well
	// below the group's rebalance timeout.
	CommitTimeout time.Duration
}

const defaultCommitTimeout = 10 * time.Second

// validate returns everything that is wrong with b, which has its defaults. A client says so when it
// is polled, since options cannot fail.
func (b Bind) validate() error {
	var faults []error
	if b.Start > StartFromLedger {
		faults = append(faults, fmt.Errorf("Start: %d is none of StartFromBroker and StartFromLedger", b.Start))
	}
	if b.Outside > OutsideClamps {
		faults = append(faults, fmt.Errorf("Outside: %d is none of OutsideFails and OutsideClamps", b.Outside))
	}
	if b.CommitTimeout < time.Millisecond {
		faults = append(faults, fmt.Errorf("CommitTimeout: %s is below 1ms", b.CommitTimeout))
	}
	if len(faults) == 0 {
		return nil
	}
	return fmt.Errorf("%w kafka.Bind: %w", commands.ErrInvalid, errors.Join(faults...))
}

// Opts are the options that make a consumer commit through a manager. They go last, so that
// nothing replaces them:
//
//	client, err := kgo.NewClient(append(opts, kafka.Opts(m, kafka.Bind{})...)...)
//
// From then on [Done] is all that the consumer says of a record. What it polls is known to be
// delivered, so that records may be finished in any order; what is done without a gap is
// committed as the manager's strategy says, and when partitions are revoked. Lost partitions are
// dropped without a commit, since others own them already. Automatic commits are off, and the
// application commits nothing by the client itself: what did not go through the manager is
// neither recorded nor known to it.
//
// It holds for groups that are classic, eager or cooperative, for those of KIP-848, and in a
// [kgo.GroupTransactSession], whose transactions are ended by [EndTransaction]. One client
// is bound to one manager; the manager has the client's group, and commits to Kafka
// ([commands.Config.KafkaCommits]) or, for a group that nobody else consumes in, to the ledger alone.
func Opts(m *commands.Manager, b Bind) []kgo.Opt {
	if b.CommitTimeout == 0 {
		b.CommitTimeout = defaultCommitTimeout
	}
	c := &consumer{m: m, bind: b, cfg: m.Config()}
	return []kgo.Opt{
		kgo.DisableAutoCommit(),
		kgo.OnPartitionsAssigned(c.assigned),
		kgo.OnPartitionsRevoked(c.revoked),
		kgo.OnPartitionsLost(c.lost),
		kgo.AdjustFetchOffsetsFn(c.start),
		kgo.WithHooks(c),
	}
}

// Done notes that the application is done with a record, whose timestamp is its event time.
// Commits never cover it before all that were polled before it are done too.
//
// It is a function beside the manager and not a method of it, since package commands knows no
// Kafka client. A record of a partition that has been taken away meanwhile is
// [commands.ErrNotOwned]: whoever owns it now gets the record again, and there is nothing to do.
func Done(m *commands.Manager, r *kgo.Record) error {
	return m.DoneAt(r.Topic, r.Partition, r.Offset, r.Timestamp)
}

// consumer is the bond between one client and its manager.
type consumer struct {
	m      *commands.Manager
	cfg    commands.Config
	bind   Bind
	client *kgo.Client
	broker *groupBroker
}

// OnNewClient implements [kgo.HookNewClient].
func (c *consumer) OnNewClient(client *kgo.Client) {
	c.client = client
	group, _ := client.OptValue(kgo.ConsumerGroup).(string)
	transaction, _ := client.OptValue(kgo.TransactionalID).(string)
	c.broker = &groupBroker{client: client, group: group, inTransactions: transaction != ""}
	c.m.Bind(c.broker)
}

// OnFetchRecordUnbuffered implements [kgo.HookFetchRecordUnbuffered]: a polled record is
// delivered. A partition that was taken away is not waited for, and a manager that was closed
// says so of each record that is done.
func (c *consumer) OnFetchRecordUnbuffered(r *kgo.Record, polled bool) {
	if !polled || r.Attrs.IsControl() {
		return
	}
	err := c.m.Delivered(r.Topic, r.Partition, r.Offset, ledger.EpochOf(r.LeaderEpoch))
	if err != nil && !errors.Is(err, commands.ErrNotOwned) && !errors.Is(err, commands.ErrClosed) {
		c.warn("take note of a record", err)
	}
}

func (c *consumer) assigned(ctx context.Context, client *kgo.Client, partitions map[string][]int32) {
	if err := c.m.Own(list(partitions)...); err != nil { // a closed one: the start fails by it
		c.warn("take partitions over", err)
	}
	if c.bind.OnAssigned != nil {
		c.bind.OnAssigned(ctx, client, partitions)
	}
}

func (c *consumer) revoked(ctx context.Context, client *kgo.Client, partitions map[string][]int32) {
	if c.bind.OnRevoked != nil {
		c.bind.OnRevoked(ctx, client, partitions)
	}
	given := list(partitions)
	if len(given) == 0 {
		return
	}
	if c.cfg.Strategy.CommitsByItself() && !c.broker.inTransactions {
		ctx, cancel := context.WithTimeout(ctx, c.bind.CommitTimeout)
		defer cancel()
		if _, err := c.m.CommitPartitions(ctx, given...); err != nil && !errors.Is(err, commands.ErrClosed) {
			c.warn("commit partitions that are revoked", err)
		}
	}
	c.m.Drop(given...)
}

func (c *consumer) lost(ctx context.Context, client *kgo.Client, partitions map[string][]int32) {
	if c.bind.OnLost != nil {
		c.bind.OnLost(ctx, client, partitions)
	}
	c.m.Drop(list(partitions)...)
}

func (c *consumer) warn(what string, err error) {
	c.cfg.Logger.Warn("a bound consumer failed", "to", what, "cluster", c.cfg.Cluster, "group", c.cfg.Group, "error", err)
}

func list(partitions map[string][]int32) []ledger.TopicPartition {
	var out []ledger.TopicPartition
	for topic, ps := range partitions {
		for _, p := range ps {
			out = append(out, ledger.TopicPartition{Topic: topic, Partition: p})
		}
	}
	return out
}

// start decides where assigned partitions are read from, and tells the manager. offsets are the
// broker's; where it has none, where the consumer begins then.
func (c *consumer) start(ctx context.Context, offsets map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	if err := c.bind.validate(); err != nil {
		return nil, err
	}
	if c.broker.group != c.cfg.Group {
		return nil, fmt.Errorf("consumer of group %q is bound to the offset manager of %q: give both the same group", c.broker.group, c.cfg.Group)
	}
	if c.bind.Start == StartFromLedger || !c.cfg.KafkaCommits {
		var err error
		if offsets, err = c.startFromLedger(ctx, offsets); err != nil {
			return nil, fmt.Errorf("start group %q from the ledger: %w", c.cfg.Group, err)
		}
	}
	var fresh []ledger.TopicPartition
	begins := c.begins()
	for topic, ps := range offsets {
		for p, o := range ps {
			tp := ledger.TopicPartition{Topic: topic, Partition: p}
			at := o.EpochOffset()
			var err error
			if o == begins || at.Offset < 0 { // it may be a number: an offset, or even a time
				fresh = append(fresh, tp)
				err = c.m.SetUncommitted(tp)
			} else {
				err = c.m.SetCommitted(tp, projection.OffsetInfo{Offset: at.Offset, LeaderEpoch: ledger.EpochOf(at.Epoch)})
			}
			if err != nil {
				return nil, err
			}
		}
	}
	if c.bind.CommitStart {
		if err := c.commitStart(ctx, offsets, fresh); err != nil {
			return nil, fmt.Errorf("start group %q: %w", c.cfg.Group, err)
		}
	}
	return offsets, nil
}
