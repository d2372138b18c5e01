package kafka

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetledger/offsetledger/commands"
	"github.com/offsetledger/offsetledger/ledger"
)

// ErrCommitStart says that the client's options do not go with [Bind.CommitStart].
var ErrCommitStart = errors.New("commit of the start positions")

// commitStart commits where partitions without a committed offset begin, and has the client begin
// there. A failure is one of the assignment: the client tries again.
func (c *consumer) commitStart(ctx context.Context, offsets map[string]map[int32]kgo.Offset, fresh []ledger.TopicPartition) error {
	if len(fresh) == 0 {
		return nil
	}
	if c.broker.inTransactions {
		return fmt.Errorf("%w: %w", ErrCommitStart, ErrInTransaction)
	}
	starts, err := c.listStarts(ctx, fresh)
	if err != nil {
		return err
	}
	for _, tp := range fresh {
		at, err := listed(starts, tp)
		if err != nil {
			return err
		}
		if err := c.m.UpdateOffset(tp.Topic, tp.Partition, at); err != nil && !errors.Is(err, commands.ErrNotRunning) {
			return err
		}
		offsets[tp.Topic][tp.Partition] = kgo.NewOffset().At(at)
	}
	_, err = c.m.CommitPartitions(ctx, fresh...)
	if refused := (*commands.RefusedError)(nil); errors.As(err, &refused) {
		// The client knows by the code that another rebalance is no failure.
		err = fmt.Errorf("%w: %w", err, kerr.ErrorForCode(refused.Rows[0].ErrorCode))
	}
	return err
}

// listStarts asks the brokers where the client begins in partitions without a committed offset.
func (c *consumer) listStarts(ctx context.Context, fresh []ledger.TopicPartition) (kadm.ListedOffsets, error) {
	var topics []string
	seen := map[string]bool{}
	for _, tp := range fresh {
		if !seen[tp.Topic] {
			seen[tp.Topic] = true
			topics = append(topics, tp.Topic)
		}
	}
	admin := kadm.NewClient(c.client)
	list := admin.ListStartOffsets
	switch c.begins() {
	case kgo.NewOffset().AtStart():
	case kgo.NewOffset().AtEnd():
		list = admin.ListEndOffsets
		if level, _ := c.client.OptValue(kgo.FetchIsolationLevel).(int8); level != 0 {
			list = admin.ListCommittedOffsets // the client begins before open transactions
		}
	default:
		return nil, fmt.Errorf("%w: it needs a kgo.ConsumeStartOffset of kgo.NewOffset().AtStart() or AtEnd(), and this is %s",
			ErrCommitStart, c.begins())
	}
	starts, err := list(ctx, topics...)
	if err != nil {
		return nil, fmt.Errorf("list start positions: %w", err)
	}
	return starts, nil
}

// begins is where the client begins in partitions without a committed offset.
func (c *consumer) begins() kgo.Offset {
	o, _ := c.client.OptValue(kgo.ConsumeStartOffset).(kgo.Offset)
	return o
}
