package kafka

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetledger/offsetledger/commands"
	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/ledgertest"
)

// What a record costs that is polled and done, beside the client's own marks and a map under a
// lock. The manager records every one of them and waits for gaps; the others keep a number.
func BenchmarkDone(b *testing.B) {
	const partitions = 12
	record := func(i int) *kgo.Record {
		return &kgo.Record{Topic: "orders", Partition: int32(i % partitions), Offset: int64(i / partitions), LeaderEpoch: 3}
	}
	records := make([]*kgo.Record, 1<<14)
	for i := range records {
		records[i] = record(i)
	}
	run := func(b *testing.B, done func(*kgo.Record) error) float64 {
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			r := records[n%len(records)]
			r.Partition, r.Offset = int32(n%partitions), int64(n/partitions)
			if err := done(r); err != nil {
				b.Fatal(err)
			}
			n++
		}
		return float64(b.Elapsed().Nanoseconds()) / float64(n)
	}
	var marks float64
	b.Run("marks of kgo", func(b *testing.B) {
		fake := startFake(b, kafkatest.FakeConfig{Topics: map[string]int32{"orders": partitions}})
		client, err := kgo.NewClient(fake.Options(kgo.ConsumerGroup("billing"), kgo.ConsumeTopics("orders"), kgo.AutoCommitMarks())...)
		require.NoError(b, err)
		defer client.Close()
		marks = run(b, func(r *kgo.Record) error { client.MarkCommitRecords(r); return nil })
	})
	b.Run("map under a lock", func(b *testing.B) {
		var mu sync.Mutex
		m := map[ledger.TopicPartition]int64{}
		run(b, func(r *kgo.Record) error {
			mu.Lock()
			defer mu.Unlock()
			m[ledger.TopicPartition{Topic: r.Topic, Partition: r.Partition}] = r.Offset + 1
			return nil
		})
	})
	b.Run("bound manager", func(b *testing.B) {
		m, err := commands.NewManager(b.Context(), ledgertest.New(b), commands.Config{Cluster: "c", Group: "billing", Strategy: commands.Manual()})
		require.NoError(b, err)
		stop := make(chan error, 1)
		go func() { stop <- m.Run(b.Context()) }()
		c := &consumer{m: m, cfg: m.Config()}
		each := run(b, func(r *kgo.Record) error {
			c.OnFetchRecordUnbuffered(r, true)
			return Done(m, r)
		})
		require.NoError(b, m.Close(b.Context()))
		require.NoError(b, <-stop)
		if marks > 0 {
			b.ReportMetric(each/marks, "x-marks")
		}
	})
}
