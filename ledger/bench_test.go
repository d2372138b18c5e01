package ledger

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// What JetStream keeps of a message beside its payload, roughly: framing and checksum, the
// subject, and the headers of an atomic batch.
const storedBeside = 34 + 30 + 60

// typical is a commit as a tail captures it: sorted partitions of one topic, offsets below
// two million, one commit time, captured 40 ms later.
func typical(rows, group int, r *rand.Rand) Event {
	at := AtMillis(1764547200000 + int64(group))
	e := Event{
		ID: idAt(at.Add(40e6), uint64(group)), Kind: KindCommitted,
		Cluster: "prod", Group: fmt.Sprintf("billing-%d", group), Time: at,
		Source: Source{Kind: SourceTail, Partition: 17, LeaderEpoch: EpochOf(4), Offset: 1_234_567},
	}
	for i := range rows {
		e.Offsets = append(e.Offsets, Offset{
			Topic: "orders", Partition: int32(i), At: r.Int64N(2_000_000), CommitTime: at,
			Effective: at, SourceOffset: e.Source.Offset + int64(i),
		})
	}
	return e
}

// idAt is a UUIDv7 of a moment, the rest of it from n.
func idAt(t Time, n uint64) (id uuid.UUID) {
	ms, _ := t.Millis()
	binary.BigEndian.PutUint64(id[:], uint64(ms)<<16|0x7000)
	binary.BigEndian.PutUint64(id[8:], 1<<63|n)
	return id
}

// A row costs at most 10 bytes on disk at 100 rows per event.
func TestTypicalCommitIsSmall(t *testing.T) {
	r := newRand()
	for _, c := range []struct {
		rows int
		most float64
	}{{1, 200}, {10, 23}, {100, 10}, {1000, 5}} {
		e := typical(c.rows, 7, r)
		b, err := e.AppendBinary(nil)
		require.NoError(t, err)
		perRow := float64(len(b)+storedBeside) / float64(c.rows)
		t.Logf("%4d rows: %5d bytes of payload, %6.1f bytes per row as stored", c.rows, len(b), perRow)
		require.LessOrEqual(t, perRow, c.most)
	}
}

func BenchmarkAppendBinary(b *testing.B) { bench(b, true) }

func BenchmarkDecode(b *testing.B) { bench(b, false) }

func BenchmarkValidate(b *testing.B) {
	e := typical(100, 7, newRand())
	b.ReportAllocs()
	for b.Loop() {
		if err := e.Validate(); err != nil {
			b.Fatal(err)
		}
	}
}

// bench reports the time of one row, and how often the rows could have been copied in it: no
// codec that reads or writes rows gets below 1.
func bench(b *testing.B, encode bool) {
	for _, rows := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			groups := 1000
			if encode {
				groups = 16 // what is encoded was just made, and is still in the cache
			}
			r := newRand()
			events := make([]Event, groups)
			stored := make([][]byte, groups)
			var d Decoder
			var e Event
			for i := range events {
				events[i] = typical(rows, i, r)
				stored[i] = encoded(b, events[i])
				require.NoError(b, d.Decode(stored[i], &e))
			}
			var buf []byte
			var n int
			b.ReportAllocs()
			for b.Loop() {
				if encode {
					buf, _ = events[n%groups].AppendBinary(buf[:0])
				} else if err := d.Decode(stored[n%groups], &e); err != nil {
					b.Fatal(err)
				}
				n++
			}
			perEvent := b.Elapsed() / time.Duration(n)
			b.ReportMetric(float64(perEvent.Nanoseconds())/float64(rows), "ns/row")
			b.ReportMetric(float64(perEvent)/float64(timeOfCopy(e.Offsets)), "x-copy")
		})
	}
}

// timeOfCopy is how long it takes to copy rows, measured.
func timeOfCopy(rows []Offset) time.Duration {
	const times = 20_000
	to := make([]Offset, len(rows))
	start := time.Now()
	for range times {
		copy(to, rows)
	}
	return max(1, time.Since(start)/times)
}

func newRand() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// Watermarks are most of what a quiet cluster writes: 10,000 partitions of 1,000 topics, all of
// which move in every interval of 10 s, without the ids that only a complete event repeats.
func TestWatermarksAreSmall(t *testing.T) {
	r := newRand()
	shards := make([]Event, WatermarkShards)
	for i := range shards {
		shards[i] = Event{ID: idAt(goldenTime, uint64(i)), Kind: KindWatermarks, Cluster: "prod", Time: goldenTime,
			Source: Source{Kind: SourcePoll}, Watermarks: &Watermarks{Shard: int32(i)}}
	}
	for topic := range 1000 {
		name := fmt.Sprintf("orders-%d", topic)
		w := shards[WatermarkShard(name)].Watermarks
		end := r.Int64N(1 << 30)
		for p := range 10 {
			at := end + r.Int64N(1<<14)
			w.Rows = append(w.Rows, Watermark{Topic: name, Partition: int32(p), LastStable: at, LogEnd: at})
		}
	}
	bytes := 0
	for i := range shards {
		require.NoError(t, shards[i].Validate())
		bytes += len(encoded(t, shards[i])) + storedBeside
	}
	perRow := float64(bytes) / 10_000
	t.Logf("%.1f bytes per partition and interval as stored, %.2f GB a day", perRow, float64(bytes)*8640/1e9)
	require.LessOrEqual(t, perRow, 8.0)
}
