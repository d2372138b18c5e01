package kafka

import (
	"fmt"
	"testing"

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

// One iteration is one record. The kmsg rows are the limit that decoding without copies has.
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
		})
		b.Run(c.name+"-kmsg-unsafe", func(b *testing.B) {
			var k kmsg.OffsetCommitKey
			var v kmsg.OffsetCommitValue
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				n := i % len(keys)
				if k.UnsafeReadFrom(keys[n]) != nil || v.UnsafeReadFrom(values[n]) != nil {
					b.Fatal("damaged")
				}
			}
		})
	}
}
