package kafkatest_test

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
)

// An administrator moves a group back, and the record of it is where a real cluster has it.
func Example() {
	ctx := context.Background()
	kafka, err := kafkatest.StartFake(kafkatest.FakeConfig{Topics: map[string]int32{"orders": 1}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer kafka.Close()

	for _, at := range []int64{1215, 0} {
		if err := kafka.Commit(ctx, "billing", "orders", map[int32]int64{0: at}); err != nil {
			fmt.Println(err)
			return
		}
	}
	recs, err := kafka.ReadOffsets(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range recs {
		var k kmsg.OffsetCommitKey
		var v kmsg.OffsetCommitValue
		if k.ReadFrom(r.Key) == nil && v.ReadFrom(r.Value) == nil {
			fmt.Println(k.Group, k.Topic, k.Partition, v.Offset)
		}
	}
	// Output:
	// billing orders 0 1215
	// billing orders 0 0
}
