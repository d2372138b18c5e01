package commands_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetledger/offsetledger/commands"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/embedded"
	"github.com/offsetledger/offsetledger/ledger/stream"
)

// Every benchmark measures its limit, or what people use otherwise, in the same run.

func benchLog(b *testing.B) (*stream.Log, jetstream.JetStream) {
	b.Helper()
	srv, err := embedded.Start(context.Background(), embedded.Config{Dir: b.TempDir()})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, srv.Close()) })
	log, err := stream.Create(context.Background(), srv.Conn(), stream.Config{})
	require.NoError(b, err)
	js, err := jetstream.New(srv.Conn())
	require.NoError(b, err)
	return log, js
}

// benchManager is a manager with Run running until the benchmark ends.
func benchManager(b *testing.B, log commands.Log, group string) *commands.Manager {
	b.Helper()
	return benchManagerOf(b, log, commands.Config{Cluster: "prod", Group: group, Strategy: commands.Manual()})
}

func benchManagerOf(b *testing.B, log commands.Log, cfg commands.Config) *commands.Manager {
	b.Helper()
	m, err := commands.NewManager(context.Background(), log, cfg)
	require.NoError(b, err)
	var run sync.WaitGroup
	run.Go(func() { _ = m.Run(context.Background()) })
	b.Cleanup(func() {
		require.NoError(b, m.Close(context.Background()))
		run.Wait()
	})
	return m
}

// marked is what an offset manager does that records nothing: a map under a lock.
type marked struct {
	mu      sync.Mutex
	offsets map[ledger.TopicPartition]int64
}

func (m *marked) update(topic string, partition int32, offset int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.offsets[ledger.TopicPartition{Topic: topic, Partition: partition}] = offset
}

// BenchmarkUpdate is one update by one goroutine, each recorded. What is recorded goes into the
// log between the measurements, so that the time is that of the update; what it takes to get
// them there is BenchmarkRecorded.
func BenchmarkUpdate(b *testing.B) {
	b.Run("manager", func(b *testing.B) {
		log, _ := benchLog(b)
		m := benchManager(b, log, "billing")
		require.NoError(b, m.UpdateOffset("orders", 3, 0))
		b.ReportAllocs()
		b.ResetTimer()
		for i := range b.N {
			if i%16_000 == 0 {
				b.StopTimer()
				_, err := m.Commit(context.Background())
				require.NoError(b, err)
				b.StartTimer()
			}
			if err := m.UpdateOffset("orders", 3, int64(i)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("mutex-and-map", func(b *testing.B) {
		m := marked{offsets: map[ledger.TopicPartition]int64{}}
		b.ReportAllocs()
		for i := int64(0); b.Loop(); i++ {
			m.update("orders", 3, i)
		}
	})
	b.Run("kgo-mark", func(b *testing.B) {
		cl, err := kgo.NewClient(kgo.SeedBrokers("127.0.0.1:1"), kgo.ConsumerGroup("billing"), kgo.ConsumeTopics("orders"), kgo.AutoCommitMarks())
		require.NoError(b, err)
		defer cl.CloseAllowingRebalance()
		r := &kgo.Record{Topic: "orders", Partition: 3}
		b.ReportAllocs()
		for i := int64(0); b.Loop(); i++ {
			r.Offset = i
			cl.MarkCommitRecords(r)
		}
	})
}

// burst is how many updates each goroutine makes before what they made is recorded, with the
// clock stopped.
const burst = 16_000

// parallel lets n goroutines update a partition each and adds to took and cpu what one round
// takes.
func parallel(b *testing.B, n int, took, cpu *time.Duration, update func(partition int32, offset int64)) {
	b.Helper()
	var all sync.WaitGroup
	start := make(chan struct{})
	for p := range n {
		all.Go(func() {
			<-start
			for at := range int64(burst) {
				update(int32(p), at)
			}
		})
	}
	used, began := cpuTime(b), time.Now()
	close(start)
	all.Wait()
	*took += time.Since(began)
	*cpu += cpuTime(b) - used
}

// BenchmarkUpdateParallel is how much more two goroutines get done than one, each with a
// partition of its own. On a machine that others use too the time of the processors says more:
// if the two get into each other's way, an update takes more of it.
func BenchmarkUpdateParallel(b *testing.B) {
	cfg := commands.Config{Cluster: "prod", Group: "billing", Strategy: commands.Manual(), AllowRewind: true}
	log, _ := benchLog(b)
	m := benchManagerOf(b, log, cfg)
	plain := marked{offsets: map[ledger.TopicPartition]int64{}}
	var took, cpu, plainTook, plainCPU [3]time.Duration
	for b.Loop() {
		for _, n := range []int{1, 2} {
			parallel(b, n, &took[n], &cpu[n], func(p int32, at int64) {
				if err := m.UpdateOffset("orders", p, at); err != nil {
					b.Error(err)
				}
			})
			_, err := m.Commit(context.Background())
			require.NoError(b, err)
			parallel(b, n, &plainTook[n], &plainCPU[n], func(p int32, at int64) { plain.update("orders", p, at) })
		}
	}
	each := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / float64(b.N) / burst }
	b.ReportMetric(each(cpu[1]), "cpu-ns/update")
	b.ReportMetric(each(cpu[2])/2, "cpu-ns/update-by-two")
	b.ReportMetric(2*took[1].Seconds()/took[2].Seconds(), "scaling")
	b.ReportMetric(each(plainCPU[2])/2, "mutex-and-map-cpu-ns-by-two")
	b.ReportMetric(2*plainTook[1].Seconds()/plainTook[2].Seconds(), "mutex-and-map-scaling")
}

// BenchmarkRecorded is updates as fast as the log takes them, all of them in it at the end,
// beside the same events published raw, one after the other.
func BenchmarkRecorded(b *testing.B) {
	const updates = 10_000_000
	for _, partitions := range []int32{12, 1000} {
		b.Run(fmt.Sprintf("partitions=%d", partitions), func(b *testing.B) {
			var ours, raw time.Duration
			n, bytes := 0, 0
			for b.Loop() {
				log, _ := benchLog(b)
				m := benchManager(b, log, "billing")
				began := time.Now()
				at := int64(1 << 24)
				for range updates / partitions {
					at++
					for p := range partitions {
						if err := m.UpdateOffset("orders", p, at); err != nil {
							b.Fatal(err)
						}
					}
				}
				_, err := m.Commit(context.Background())
				require.NoError(b, err)
				ours += time.Since(began)
				n += updates

				took, size := publishAgain(b, log)
				raw += took
				bytes += size
			}
			b.ReportMetric(float64(n)/ours.Seconds(), "updates/s")
			b.ReportMetric(float64(n)/raw.Seconds(), "raw-updates/s")
			b.ReportMetric(raw.Seconds()/ours.Seconds(), "of-raw")
			b.ReportMetric(float64(bytes)/float64(n), "bytes/update")
			reportFsync(b)
		})
	}
}

// publishAgain publishes what is in a log once more, raw, into another one.
func publishAgain(b *testing.B, log *stream.Log) (time.Duration, int) {
	b.Helper()
	var subjects []string
	var payloads [][]byte
	size := 0
	for rec, err := range log.Read(context.Background(), 1, 0, ledger.Filter{}) {
		require.NoError(b, err)
		data, err := rec.Event.AppendBinary(nil)
		require.NoError(b, err)
		subjects, payloads = append(subjects, rec.Event.Subject()), append(payloads, data)
		size += len(data)
	}
	_, js := benchLog(b)
	began := time.Now()
	for i := range subjects {
		_, err := js.Publish(context.Background(), subjects[i], payloads[i])
		require.NoError(b, err)
	}
	return time.Since(began), size
}

// BenchmarkCommit is a commit of 100 partitions, with the updates since the one before, against
// a raw durable publish of the same size.
func BenchmarkCommit(b *testing.B) {
	log, _ := benchLog(b)
	_, js := benchLog(b)
	m := benchManager(b, log, "billing")
	var ours, raw []time.Duration
	payload := make([]byte, 700)
	at := int64(1 << 24)
	for b.Loop() {
		for range 500 {
			at++
			for p := range int32(100) {
				require.NoError(b, m.UpdateOffset("orders", p, at+int64(p)))
			}
			began := time.Now()
			n, err := m.Commit(context.Background())
			ours = append(ours, time.Since(began))
			require.NoError(b, err)
			require.Equal(b, 100, n)
			began = time.Now()
			_, err = js.Publish(context.Background(), "ol.prod.g.billing.committed", payload)
			raw = append(raw, time.Since(began))
			require.NoError(b, err)
		}
	}
	reportLatency(b, "ours", ours)
	reportLatency(b, "raw", raw)
	b.ReportMetric(percentile(ours, 99).Seconds()/percentile(raw, 99).Seconds(), "p99-of-raw")
	reportFsync(b)
}

func percentile(all []time.Duration, p int) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)*p/100, len(sorted)-1)]
}

func reportLatency(b *testing.B, name string, all []time.Duration) {
	b.ReportMetric(float64(percentile(all, 50).Microseconds()), name+"-p50-µs")
	b.ReportMetric(float64(percentile(all, 99).Microseconds()), name+"-p99-µs")
}

// reportFsync prints how long the disk takes to make 4 KiB durable.
func reportFsync(b *testing.B) {
	b.Helper()
	f, err := os.Create(filepath.Join(b.TempDir(), "fsync"))
	require.NoError(b, err)
	defer f.Close()
	var all []time.Duration
	block := make([]byte, 4096)
	for range 50 {
		began := time.Now()
		_, err := f.Write(block)
		require.NoError(b, err)
		require.NoError(b, f.Sync())
		all = append(all, time.Since(began))
	}
	b.ReportMetric(float64(percentile(all, 50).Microseconds()), "fsync-p50-µs")
}
