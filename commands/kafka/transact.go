package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetledger/offsetledger/commands"
	"github.com/offsetledger/offsetledger/ledger"
)

// The errors of transactions and resets.
var (
	// ErrInTransaction: offsets of a transactional client are committed with its transactions, by
	// [EndTransaction], and never by themselves.
	ErrInTransaction = errors.New("offsets are committed by transactions")
	// ErrNotBound: the client was not made with the options of [Opts].
	ErrNotBound = errors.New("client is bound to no offset manager")
)

// bound is the bond of a client.
func bound(client *kgo.Client) (*consumer, error) {
	hooks, _ := client.OptValue(kgo.WithHooks).([]kgo.Hook)
	for _, h := range hooks {
		if c, ok := h.(*consumer); ok {
			return c, nil
		}
	}
	return nil, ErrNotBound
}

// EndTransaction ends the transaction of a session whose client is bound to a manager, in the
// place of [kgo.GroupTransactSession.End]. The offsets of what was polled are committed inside
// the transaction; when that has been committed, and only then, they are the manager's committed
// offsets and recorded. Done has not to be called of the records. The manager's strategy is best
// Manual: there is nothing that it could commit by itself. Offsets that had been sent when the
// transaction failed are recorded as failed; one that the application aborts has sent none.
//
// The error can be that of the ledger, with committed true: Kafka has them.
func EndTransaction(ctx context.Context, session *kgo.GroupTransactSession, end kgo.TransactionEndTry) (committed bool, err error) {
	c, err := bound(session.Client())
	if err != nil {
		return false, fmt.Errorf("end transaction: %w", err)
	}
	sent := map[ledger.TopicPartition]ledger.Offset{}
	sending := kgo.PreTxnCommitFnContext(ctx, func(req *kmsg.TxnOffsetCommitRequest) error {
		for _, t := range req.Topics {
			for _, p := range t.Partitions {
				row := ledger.Offset{Topic: t.Topic, Partition: p.Partition, At: p.Offset, LeaderEpoch: ledger.EpochOf(p.LeaderEpoch)}
				if p.Metadata != nil {
					row.Metadata = *p.Metadata
				}
				sent[ledger.TopicPartition{Topic: t.Topic, Partition: p.Partition}] = row
			}
		}
		return nil
	})
	committed, err = session.End(sending, end)
	if err != nil || !committed {
		c.forget()
		c.recordAborted(ctx, sent, err)
		return committed, err
	}
	if err := c.recordTransaction(ctx, sent); err != nil {
		return true, fmt.Errorf("record transaction: %w", err)
	}
	return true, nil
}

// forget lets go of what was reported of a transaction that came to nothing: its records come
// again.
func (c *consumer) forget() {
	if err := c.m.Own(slices.Collect(maps.Keys(c.m.Pending()))...); err != nil {
		c.warn("forget an aborted transaction", err)
	}
}

// recordAborted records offsets that were sent in a transaction which was then aborted, or of
// which no more is known since ending it has failed.
func (c *consumer) recordAborted(ctx context.Context, sent map[ledger.TopicPartition]ledger.Offset, failed error) {
	cause := ledger.CauseAborted
	if failed != nil {
		cause = ledger.CauseTimedOut
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.bind.CommitTimeout)
	defer cancel()
	if err := c.m.RecordFailed(ctx, cause, slices.Collect(maps.Values(sent))); err != nil {
		c.warn("record an aborted transaction", err)
	}
}

// recordTransaction makes what a transaction has committed the manager's committed offsets.
func (c *consumer) recordTransaction(ctx context.Context, sent map[ledger.TopicPartition]ledger.Offset) error {
	if len(sent) == 0 {
		return nil
	}
	c.broker.decide(sent)
	defer c.broker.decide(nil)
	var faults []error
	for _, r := range sent {
		err := c.m.Update(commands.Update{Topic: r.Topic, Partition: r.Partition, Offset: r.At, LeaderEpoch: r.LeaderEpoch, Metadata: r.Metadata})
		if err != nil && !errors.Is(err, commands.ErrNotRunning) {
			faults = append(faults, err)
		}
	}
	_, err := c.m.CommitPartitions(ctx, slices.Collect(maps.Keys(sent))...)
	return errors.Join(append(faults, err)...)
}

func (b *groupBroker) decide(rows map[ledger.TopicPartition]ledger.Offset) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.decided = rows
}

// inTransaction answers for rows that a transaction has committed already.
func (b *groupBroker) inTransaction(rows []ledger.Offset) ([]ledger.Offset, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]ledger.Offset, len(rows))
	for i := range rows {
		r := &rows[i]
		sent, ok := b.decided[ledger.TopicPartition{Topic: r.Topic, Partition: r.Partition}]
		if !ok || sent.At != r.At {
			return nil, fmt.Errorf("%s/%d: %w", r.Topic, r.Partition, ErrInTransaction)
		}
		out[i] = sent
	}
	return out, nil
}

// Reset sets the committed offset of a partition on purpose, as [commands.Manager.ResetOffset]
// does, and has the bound client read on from there if the partition is assigned to it. It
// returns the offset. Like [kgo.Client.SetOffsets] it is for the goroutine that polls. A member
// that has the partition assigned and is not asked goes on where it was and commits over the
// reset: call it there, or while nobody consumes.
func Reset(ctx context.Context, client *kgo.Client, topic string, partition int32, r commands.Reset) (int64, error) {
	c, err := bound(client)
	if err != nil {
		return 0, fmt.Errorf("reset %s/%d: %w", topic, partition, err)
	}
	at, err := c.m.ResetOffset(ctx, topic, partition, r)
	if err != nil {
		return at, err
	}
	client.SetOffsets(map[string]map[int32]kgo.EpochOffset{topic: {partition: {Epoch: -1, Offset: at}}})
	return at, nil
}
