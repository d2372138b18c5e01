package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/ledgertest"
)

// BenchmarkDrain reads a backlog of __consumer_offsets into a durable ledger, beside a client
// that only counts the same records (of-counting), and beside publishing the very messages that
// came of it in atomic batches of a thousand (of-raw): that is the limit of commits of one row.
//
//	go test ./commands/kafka -run '^$' -bench Drain -count 6
func BenchmarkDrain(b *testing.B) {
	for _, shape := range []struct{ rows, total int }{{100, 1_000_000}, {1, 100_000}} {
		b.Run(fmt.Sprintf("rows=%d", shape.rows), func(b *testing.B) { benchmarkDrain(b, shape.rows, shape.total) })
	}
}

func benchmarkDrain(b *testing.B, rows, total int) {
	const partitions = 10
	fake := startFake(b, kafkatest.FakeConfig{Partitions: partitions})
	writeBacklog(b, fake, partitions, rows, total)
	for b.Loop() {
		b.StopTimer()
		counting := countRecords(b, fake, total)
		log := ledgertest.New(b)
		b.StartTimer()
		start := time.Now()
		r := capture(b, fake, log, nil)
		r.ready()
		took := time.Since(start)
		b.StopTimer()
		require.Equal(b, uint64(total), r.Status().Counts.Rows)
		require.True(b, errors.Is(r.kill(), context.Canceled))
		raw := publishRaw(b, log)
		b.ReportMetric(float64(total)/took.Seconds(), "rows/s")
		b.ReportMetric(counting.Seconds()/took.Seconds(), "of-counting")
		b.ReportMetric(raw.Seconds()/took.Seconds(), "of-raw")
		b.ReportMetric(float64(r.Status().Counts.Appends)/took.Seconds(), "appends/s")
		b.StartTimer()
	}
}

// writeBacklog writes total rows, so many to a commit, of a thousand groups.
func writeBacklog(b *testing.B, fake *kafkatest.Fake, partitions int32, rows, total int) {
	at := time.Now().Add(-time.Hour)
	waiting := make([][]*kgo.Record, partitions)
	flush := func(p int32) {
		require.NoError(b, fake.WriteTo(b.Context(), p, waiting[p]...))
		waiting[p] = nil
	}
	for n := 0; n < total; n += rows {
		group := fmt.Sprintf("group-%d", n/rows%1000)
		p := kafkatest.PartitionFor(group, partitions)
		at = at.Add(time.Millisecond)
		for i := range rows {
			r := kafkatest.Commit{Group: group, Topic: "payments.authorised", Partition: int32(i), At: int64(n), LeaderEpoch: -1, Time: at, Version: 3}.Record()
			waiting[p] = append(waiting[p], r)
		}
		if len(waiting[p]) >= 5000 {
			flush(p)
		}
	}
	for p := range partitions {
		flush(p)
	}
}

// publishRaw is how long it takes to store the messages of a ledger in another, encoded before
// and with the headers of a batch alone.
func publishRaw(b *testing.B, log *ledgertest.Ledger) time.Duration {
	var msgs []*nats.Msg
	for rec, err := range log.Read(b.Context(), 1, 0, ledger.Filter{}) {
		require.NoError(b, err)
		body, err := rec.Event.AppendBinary(nil)
		require.NoError(b, err)
		n := len(msgs)
		msgs = append(msgs, &nats.Msg{Subject: rec.Event.Subject(), Data: body, Header: nats.Header{
			"Nats-Batch-Id": {strconv.Itoa(n / 1000)}, "Nats-Batch-Sequence": {strconv.Itoa(n%1000 + 1)},
		}})
	}
	nc := ledgertest.New(b).Conn()
	start := time.Now()
	for batch := range slices.Chunk(msgs, 1000) {
		last := batch[len(batch)-1]
		for _, m := range batch[:len(batch)-1] {
			require.NoError(b, nc.PublishMsg(m))
		}
		last.Header["Nats-Batch-Commit"] = []string{"1"}
		answer, err := nc.RequestMsg(last, time.Minute)
		require.NoError(b, err)
		require.NotContains(b, string(answer.Data), "error")
	}
	return time.Since(start)
}

// countRecords is how long a client takes that reads the same records in the same way and
// does nothing with them.
func countRecords(b *testing.B, fake *kafkatest.Fake, total int) time.Duration {
	start := time.Now()
	from := map[int32]kgo.Offset{}
	for p := range int32(10) {
		from[p] = kgo.NewOffset().At(0)
	}
	cl, err := kgo.NewClient(fake.Options(fetchOptions(map[string]map[int32]kgo.Offset{offsetsTopic: from})...)...)
	require.NoError(b, err)
	defer cl.Close()
	for n := 0; n < total; {
		n += cl.PollFetches(b.Context()).NumRecords()
	}
	return time.Since(start)
}

// BenchmarkLine makes events of commits of a hundred rows, per row.
func BenchmarkLine(b *testing.B) {
	lt, s := newLineTest(b), &source{at: 1000}
	var records []sourceRecord
	for n := range 100 {
		s.at++
		for p := range int32(100) {
			records = append(records, s.plain(fmt.Sprintf("group-%d", n), "payments.authorised", p, int64(n)))
		}
	}
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		r := &records[n%len(records)]
		r.offset = int64(n)
		if err := lt.line.feed(r, lt.now); err != nil {
			b.Fatal(err)
		}
		if lt.line.out.full() {
			lt.line.out.reset()
		}
	}
}
