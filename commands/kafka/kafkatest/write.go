package kafkatest

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Write appends records of one group to OffsetsTopic as a coordinator would, in one batch
// where they fit, and returns when they are stored. Record timestamps stay as given.
func (f *Fake) Write(ctx context.Context, group string, recs ...*kgo.Record) error {
	return f.WriteTo(ctx, PartitionFor(group, f.partitions), recs...)
}

// WriteTo is Write for records of any key, or of none, to a partition.
func (f *Fake) WriteTo(ctx context.Context, partition int32, recs ...*kgo.Record) error {
	if err := produce(ctx, f.writer, partition, recs); err != nil {
		return fmt.Errorf("write %s/%d: %w", OffsetsTopic, partition, err)
	}
	return nil
}

func produce(ctx context.Context, cl *kgo.Client, partition int32, recs []*kgo.Record) error {
	for _, r := range recs {
		r.Topic, r.Partition = OffsetsTopic, partition
	}
	return cl.ProduceSync(ctx, recs...).FirstErr()
}

// Txn is an open transaction that writes to OffsetsTopic, as TxnOffsetCommit makes the
// coordinator do. Commit or Abort ends it and writes the markers.
type Txn struct {
	client     *kgo.Client
	partitions int32
}

// Begin opens a transaction. Two with one id fence each other.
func (f *Fake) Begin(ctx context.Context, id string) (*Txn, error) {
	cl, err := kgo.NewClient(f.Options(
		kgo.TransactionalID(id),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerLinger(0),
	)...)
	if err != nil {
		return nil, fmt.Errorf("begin transaction %q: %w", id, err)
	}
	if _, _, err := cl.ProducerID(ctx); err != nil {
		cl.Close()
		return nil, fmt.Errorf("begin transaction %q: %w", id, err)
	}
	if err := cl.BeginTransaction(); err != nil {
		cl.Close()
		return nil, fmt.Errorf("begin transaction %q: %w", id, err)
	}
	return &Txn{client: cl, partitions: f.partitions}, nil
}

// Write appends records of one group inside the transaction.
func (t *Txn) Write(ctx context.Context, group string, recs ...*kgo.Record) error {
	partition := PartitionFor(group, t.partitions)
	if err := produce(ctx, t.client, partition, recs); err != nil {
		return fmt.Errorf("write %s/%d in a transaction: %w", OffsetsTopic, partition, err)
	}
	return nil
}

// Commit ends the transaction with COMMIT markers.
func (t *Txn) Commit(ctx context.Context) error { return t.end(ctx, kgo.TryCommit) }

// Abort ends the transaction with ABORT markers.
func (t *Txn) Abort(ctx context.Context) error { return t.end(ctx, kgo.TryAbort) }

// Leave abandons the transaction open, as a producer that died does.
func (t *Txn) Leave() { t.client.Close() }

func (t *Txn) end(ctx context.Context, try kgo.TransactionEndTry) error {
	defer t.client.Close()
	if err := t.client.EndTransaction(ctx, try); err != nil {
		return fmt.Errorf("end transaction: %w", err)
	}
	return nil
}
