package kafka

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// benchRecords are commits of 40 partitions by 200 groups, as a broker of 4.1 or later, or
// before, writes them.
func benchRecords(version int16, metadata bool) (keys, values [][]byte) {
	for group := range 200 {
		for partition := range int32(40) {
			keys = append(keys, offsetKey(fmt.Sprintf("service-%03d-consumer", group), "commerce.orders.v1", partition))
			v := kmsg.OffsetCommitValue{Version: version, Offset: 1 << 20, CommitTimestamp: 1767225600123}
			if version >= 4 {
				v.TopicID = [16]byte{1, 2, 3}
			}
			if metadata {
				v.Metadata = fmt.Sprintf("kgo-%033d", group)
			}
			values = append(values, v.AppendTo(nil))
		}
	}
	return keys, values
}

// One iteration is one record. The limit is kmsg without copies, which keeps neither names nor
// metadata: the metric is its time per record, divided by ours.
func BenchmarkDecode(b *testing.B) {
	for _, c := range []struct {
		name     string
		version  int16
		metadata bool
	}{{"v3", 3, false}, {"v3-metadata", 3, true}, {"v4", 4, false}, {"v4-metadata", 4, true}} {
		keys, values := benchRecords(c.version, c.metadata)
		b.Run(c.name, func(b *testing.B) {
			var d Decoder
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				n := i % len(keys)
				if e := d.Decode(keys[n], values[n]); e.Kind != EntryOffset {
					b.Fatal(e.Problem)
				}
			}
			own := b.Elapsed()
			b.ReportMetric(float64(kmsgTime(b, keys, values, b.N))/float64(own), "of-kmsg")
		})
	}
}

// kmsgTime is the time that kmsg takes for n records.
func kmsgTime(b *testing.B, keys, values [][]byte, n int) time.Duration {
	var k kmsg.OffsetCommitKey
	var v kmsg.OffsetCommitValue
	started := time.Now()
	for i := range n {
		at := i % len(keys)
		if k.UnsafeReadFrom(keys[at]) != nil || v.UnsafeReadFrom(values[at]) != nil {
			b.Fatal("damaged")
		}
	}
	return time.Since(started)
}

// A decoder that has seen the names decodes offsets without allocating. What is counted is all
// of the process, where clients of tests before may still be ending: the least counts.
func TestDecodeAllocatesNothing(t *testing.T) {
	for _, version := range []int16{3, 4} {
		keys, values := benchRecords(version, true)
		var d Decoder
		decode := func() {
			for i := range keys {
				d.Decode(keys[i], values[i])
			}
		}
		decode()
		least := testing.AllocsPerRun(1, decode)
		for range 50 {
			least = min(least, testing.AllocsPerRun(1, decode))
		}
		require.Zero(t, least, "version %d", version)
	}
}
