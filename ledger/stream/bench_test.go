package stream_test

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/embedded"
	"github.com/offsetledger/offsetledger/ledger/stream"
)

// Every benchmark prints a ratio to a limit that was measured in the same run, in turns, and
// the disk's fsync time beside it.

// commits returns n commits of rows partitions each, of a hundred groups in turn, as the tail
// captures them: offsets grow by up to 2,000 and lie next to each other in the source.
func commits(n, rows int) []ledger.Event {
	rng := rand.New(rand.NewPCG(1, 2))
	at := make([]int64, 100*rows)
	for i := range at {
		at[i] = rng.Int64N(1 << 32)
	}
	events := make([]ledger.Event, n)
	source := int64(1 << 24)
	topic := uuid.New()
	for i := range events {
		when := ledger.AtMillis(1_764_500_000_000 + int64(i))
		e := &events[i]
		*e = ledger.Event{
			ID: uuid.Must(uuid.NewV7()), Kind: ledger.KindCommitted, Cluster: "prod", Group: fmt.Sprintf("billing-%02d", i%100), Time: when,
			Source: ledger.Source{Kind: ledger.SourceTail, Partition: int32(i % 50), LeaderEpoch: ledger.EpochOf(7), Offset: source},
		}
		for p := range rows {
			k := i%100*rows + p
			at[k] += rng.Int64N(2000)
			e.Offsets = append(e.Offsets, ledger.Offset{
				Topic: "orders", TopicID: topic, Partition: int32(p), LeaderEpoch: ledger.EpochOf(3), At: at[k],
				CommitTime: when, Effective: when, SourceOffset: source,
			})
			source++
		}
	}
	return events
}

func benchLog(b *testing.B) (*stream.Log, *nats.Conn) {
	b.Helper()
	srv, err := embedded.Start(context.Background(), embedded.Config{Dir: b.TempDir()})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, srv.Close()) })
	log, err := stream.Create(context.Background(), srv.Conn(), stream.Config{})
	require.NoError(b, err)
	return log, srv.Conn()
}

// fill appends events so many times over and returns how long it took: eight callers, 250
// events at a time.
func fill(b *testing.B, log *stream.Log, events []ledger.Event, times int) time.Duration {
	b.Helper()
	began := time.Now()
	chunks := make(chan []ledger.Event, times*len(events))
	for range times {
		for c := range slices.Chunk(events, 250) {
			chunks <- c
		}
	}
	close(chunks)
	var g errgroup.Group
	for range 8 {
		g.Go(func() error {
			for c := range chunks {
				if _, err := log.Append(context.Background(), c); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(b, g.Wait())
	return time.Since(began)
}

// publishRaw publishes the same, encoded beforehand, in atomic batches of a thousand.
func publishRaw(b *testing.B, nc *nats.Conn, events []ledger.Event, times int) (took, cpu time.Duration) {
	b.Helper()
	encoded := make([][]byte, len(events))
	subjects := make([]string, len(events))
	for i := range events {
		var err error
		encoded[i], err = events[i].AppendBinary(nil)
		require.NoError(b, err)
		subjects[i] = events[i].Subject()
	}
	began, cpuBegan := time.Now(), cpuTime(b)
	for batch := range times * len(events) / 1000 {
		for n := range 1000 {
			i := (batch*1000 + n) % len(events)
			m := &nats.Msg{Subject: subjects[i], Data: encoded[i], Header: nats.Header{
				"Nats-Batch-Id":       {fmt.Sprintf("rawb%d", batch%10)},
				"Nats-Batch-Sequence": {strconv.Itoa(n + 1)},
			}}
			if n < 999 {
				require.NoError(b, nc.PublishMsg(m))
				continue
			}
			m.Header["Nats-Batch-Commit"] = []string{"1"}
			answer, err := nc.RequestMsg(m, 10*time.Second)
			require.NoError(b, err)
			require.NotContains(b, string(answer.Data), "error")
		}
	}
	return time.Since(began), cpuTime(b) - cpuBegan
}

func BenchmarkAppend(b *testing.B) {
	for _, rows := range []int{100, 1} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			const times = 6
			events := commits(4000, rows)
			log, _ := benchLog(b)
			_, rawConn := benchLog(b)
			var ours, raw, oursCPU, rawCPU time.Duration
			n := 0
			for b.Loop() {
				took, cpu := publishRaw(b, rawConn, events, times)
				raw, rawCPU = raw+took, rawCPU+cpu
				began := cpuTime(b)
				ours += fill(b, log, events, times)
				oursCPU += cpuTime(b) - began
				n += times * len(events)
			}
			b.ReportMetric(float64(oursCPU.Microseconds())/float64(n), "cpu-µs/event")
			b.ReportMetric(float64(rawCPU.Microseconds())/float64(n), "raw-cpu-µs/event")
			b.ReportMetric(float64(n*rows)/ours.Seconds(), "offsets/s")
			b.ReportMetric(float64(n*rows)/raw.Seconds(), "raw-offsets/s")
			b.ReportMetric(raw.Seconds()/ours.Seconds(), "of-raw")
			reportFsync(b)
		})
	}
}

// BenchmarkCommit is one commit alone on an idle ledger, against one raw durable publish.
func BenchmarkCommit(b *testing.B) {
	events := commits(500, 10)
	log, _ := benchLog(b)
	_, rawConn := benchLog(b)
	js, err := jetstream.New(rawConn)
	require.NoError(b, err)
	var ours, raw []time.Duration
	for b.Loop() {
		for i := range events {
			data, err := events[i].AppendBinary(nil)
			require.NoError(b, err)
			began := time.Now()
			_, err = js.Publish(context.Background(), events[i].Subject(), data)
			raw = append(raw, time.Since(began))
			require.NoError(b, err)
			began = time.Now()
			_, err = log.Append(context.Background(), events[i:i+1])
			ours = append(ours, time.Since(began))
			require.NoError(b, err)
		}
	}
	reportLatency(b, "ours", ours)
	reportLatency(b, "raw", raw)
	b.ReportMetric(percentile(ours, 99).Seconds()/percentile(raw, 99).Seconds(), "p99-of-raw")
	reportFsync(b)
}

// BenchmarkReplay reads and decodes a log, against an ordered consumer that only receives it.
func BenchmarkReplay(b *testing.B) {
	for _, rows := range []int{100, 10} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			const n = 20_000
			log, nc := benchLog(b)
			fill(b, log, commits(n/4, rows), 4)
			js, err := jetstream.New(nc)
			require.NoError(b, err)
			var ours, bare, oursCPU, bareCPU time.Duration
			rounds := 0
			for b.Loop() {
				cpu := cpuTime(b)
				bare += receive(b, js, n)
				between := cpuTime(b)
				bareCPU += between - cpu
				began := time.Now()
				read := 0
				for rec, err := range log.Read(context.Background(), 1, 0, ledger.Filter{}) {
					require.NoError(b, err)
					read += len(rec.Event.Offsets)
				}
				ours += time.Since(began)
				oursCPU += cpuTime(b) - between
				require.Equal(b, n*rows, read)
				rounds++
			}
			b.ReportMetric(float64(rounds*n*rows)/ours.Seconds(), "offsets/s")
			b.ReportMetric(float64(rounds*n*rows)/bare.Seconds(), "bare-offsets/s")
			b.ReportMetric(bare.Seconds()/ours.Seconds(), "of-bare")
			b.ReportMetric(float64(oursCPU.Microseconds())/float64(rounds*n), "cpu-µs/event")
			b.ReportMetric(float64(bareCPU.Microseconds())/float64(rounds*n), "bare-cpu-µs/event")
		})
	}
}

func receive(b *testing.B, js jetstream.JetStream, n int) time.Duration {
	b.Helper()
	began := time.Now()
	c, err := js.OrderedConsumer(context.Background(), stream.DefaultName, jetstream.OrderedConsumerConfig{})
	require.NoError(b, err)
	done := make(chan struct{})
	got, bytes := 0, 0
	running, err := c.Consume(func(m jetstream.Msg) {
		bytes += len(m.Data())
		if got++; got == n {
			close(done)
		}
	})
	require.NoError(b, err)
	<-done
	took := time.Since(began)
	running.Stop()
	<-running.Closed()
	return took
}

// BenchmarkFollow is the time from the start of an append to its event at a follower.
func BenchmarkFollow(b *testing.B) {
	events := commits(500, 10)
	log, _ := benchLog(b)
	ctx, cancel := context.WithCancel(context.Background())
	arrived := make(chan time.Time, 1)
	var g errgroup.Group
	g.Go(func() error {
		for _, err := range log.Follow(ctx, 1, ledger.Filter{}) {
			if err != nil {
				return nil // ctx ended
			}
			arrived <- time.Now()
		}
		return nil
	})
	var took []time.Duration
	for b.Loop() {
		for i := range events {
			began := time.Now()
			_, err := log.Append(context.Background(), events[i:i+1])
			require.NoError(b, err)
			took = append(took, (<-arrived).Sub(began))
		}
	}
	cancel()
	require.NoError(b, g.Wait())
	reportLatency(b, "follow", took)
	reportFsync(b)
}

// BenchmarkDisk shows what an offset costs on disk, all framing included, appended in batches:
// before the server compresses full blocks, and what is really there afterwards.
func BenchmarkDisk(b *testing.B) {
	for _, rows := range []int{100, 10, 1} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			const n = 100_000
			for b.Loop() {
				dir := b.TempDir()
				srv, err := embedded.Start(context.Background(), embedded.Config{Dir: dir})
				require.NoError(b, err)
				log, err := stream.Create(context.Background(), srv.Conn(), stream.Config{})
				require.NoError(b, err)
				events := commits(n, rows)
				fill(b, log, events, 1)
				size, err := log.Size(context.Background())
				require.NoError(b, err)
				require.NoError(b, srv.Close())
				payload := 0
				for i := range events {
					data, err := events[i].AppendBinary(nil)
					require.NoError(b, err)
					payload += len(data)
				}
				b.ReportMetric(float64(filesIn(b, dir))/n/float64(rows), "B/offset")
				b.ReportMetric(float64(size.Bytes)/n/float64(rows), "uncompressed-B/offset")
				b.ReportMetric(float64(payload)/n, "payload-B/event")
				b.ReportMetric((float64(size.Bytes)-float64(payload))/n, "framing-B/event")
			}
		})
	}
}

// filesIn is how many bytes the files below dir hold.
func filesIn(b *testing.B, dir string) (bytes int64) {
	require.NoError(b, filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		bytes += info.Size()
		return err
	}))
	return bytes
}

func percentile(d []time.Duration, p int) time.Duration {
	s := slices.Sorted(slices.Values(d))
	return s[(len(s)-1)*p/100]
}

func reportLatency(b *testing.B, name string, d []time.Duration) {
	b.ReportMetric(float64(percentile(d, 50).Microseconds()), name+"-p50-µs")
	b.ReportMetric(float64(percentile(d, 99).Microseconds()), name+"-p99-µs")
}

// reportFsync adds the median time that the disk takes to sync four kilobytes.
func reportFsync(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "fsync"))
	require.NoError(b, err)
	defer f.Close()
	var took []time.Duration
	for range 100 {
		began := time.Now()
		_, err := f.Write(make([]byte, 4096))
		require.NoError(b, err)
		require.NoError(b, f.Sync())
		took = append(took, time.Since(began))
	}
	b.ReportMetric(float64(percentile(took, 50).Microseconds()), "fsync-µs")
}
