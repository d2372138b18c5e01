package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/offsetledger/offsetledger/commands/kafka"
	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
	"github.com/offsetledger/offsetledger/ledger"
)

// measureDrain captures a backlog of __consumer_offsets, commits of a hundred partitions each,
// into a durable ledger; the limit is a client that only counts the records. Kafka runs in
// this process, so both share the processor with it.
func measureDrain(ctx context.Context, dir string, offsets int) (row Row, err error) {
	fake, err := kafkatest.StartFake(kafkatest.FakeConfig{})
	if err != nil {
		return Row{}, err
	}
	defer func() { err = errors.Join(err, fake.Close()) }()
	if err := writeBacklog(ctx, fake, offsets); err != nil {
		return Row{}, err
	}
	limit, err := countRecords(ctx, fake, offsets)
	if err != nil {
		return Row{}, err
	}
	srv, log, err := openLedger(ctx, dir)
	if err != nil {
		return Row{}, err
	}
	defer func() { err = errors.Join(err, srv.Close()) }()
	began := time.Now()
	if err := capture(ctx, fake, log); err != nil {
		return Row{}, err
	}
	took := time.Since(began)
	return rate("drain", offsets, took, limit, "value >= 500000 and ratio >= 0.5"), nil
}

// writeBacklog writes what a coordinator would have: one batch per commit.
func writeBacklog(ctx context.Context, fake *kafkatest.Fake, offsets int) error {
	client, err := kgo.NewClient(fake.Options(
		kgo.ClientID("__admin_client"),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.DefaultProduceTopic(kafkatest.OffsetsTopic),
		kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.MaxBufferedRecords(100_000),
	)...)
	if err != nil {
		return err
	}
	defer client.Close()
	at := time.Now().Add(-time.Hour)
	var failed error
	for n := range offsets / rowsPerEvent {
		group := fmt.Sprintf("group-%d", n%groups)
		at = at.Add(time.Millisecond)
		for p := range rowsPerEvent {
			rec := kafkatest.Commit{
				Group: group, Topic: "orders", Partition: int32(p), At: int64(n) * 10, LeaderEpoch: 0, Time: at, Version: 4,
			}.Record()
			rec.Partition = kafkatest.PartitionFor(group, 4)
			client.Produce(ctx, rec, func(_ *kgo.Record, err error) {
				if err != nil && failed == nil {
					failed = err
				}
			})
		}
	}
	return errors.Join(client.Flush(ctx), failed)
}

// countRecords reads the backlog once and only counts.
func countRecords(ctx context.Context, fake *kafkatest.Fake, records int) (time.Duration, error) {
	client, err := kgo.NewClient(fake.Options(
		kgo.ConsumeTopics(kafkatest.OffsetsTopic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	)...)
	if err != nil {
		return 0, err
	}
	defer client.Close()
	began := time.Now()
	for seen := 0; seen < records; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return 0, err
		}
		seen += fetches.NumRecords()
	}
	return time.Since(began), nil
}

// capture runs a tail until what was there at its start is stored.
func capture(ctx context.Context, fake *kafkatest.Fake, log kafka.Appender) error {
	tail, err := kafka.NewTail(kafka.TailConfig{
		Options: fake.Options(), Cluster: clusterName, Log: log,
		Resume: kafka.Resume{Cursor: ledger.Cursor{Shard: ledger.CursorShardAll}},
	})
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	var g errgroup.Group
	g.Go(func() error { defer stop(); return tail.Run(running) })
	select {
	case <-tail.Ready():
	case <-running.Done():
	}
	stop()
	if err := g.Wait(); !errors.Is(err, context.Canceled) {
		return err
	}
	return ctx.Err()
}
