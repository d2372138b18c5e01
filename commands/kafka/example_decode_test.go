package kafka_test

import (
	"encoding/hex"
	"fmt"

	"github.com/offsetledger/offsetledger/commands/kafka"
)

// A broker of Kafka 4.1 or later wrote this record: group g1 committed offset 42 of partition
// 3 of orders. The same key without a value takes the offset away.
func ExampleDecode() {
	key, _ := hex.DecodeString("00010002673100066f726465727300000003")
	value, _ := hex.DecodeString("0004000000000000002a000000070368690000019b76daa87b00")

	e := kafka.Decode(key, value)
	fmt.Println(e.Kind, e.Group, e.Offset.Topic, e.Offset.Partition, e.Offset.At, e.Offset.LeaderEpoch, e.Offset.Metadata, e.Offset.CommitTime)

	e = kafka.Decode(key, nil)
	fmt.Println(e.Kind, e.Group, e.Offset.Topic, e.Offset.Partition)

	e = kafka.Decode(key, value[:5])
	fmt.Println(e.Kind, e.Problem)
	// Output:
	// offset g1 orders 3 42 7 hi 2026-01-01T00:00:00.123Z
	// tombstone g1 orders 3
	// opaque offset value of version 4 cut short
}
