package commands_test

import (
	"context"
	"fmt"
	"time"

	"github.com/offsetledger/offsetledger/commands"
)

// A job that works in windows of time commits when a window is complete: what lies before the
// watermark, and no more.
func ExampleManager_NotifyWatermark() {
	ctx := context.Background()
	log, closeLog := openLog(ctx)
	defer closeLog()
	m, err := commands.NewManager(ctx, log, commands.Config{Cluster: "prod", Group: "billing", Strategy: commands.OnWatermark()})
	if err != nil {
		panic(err)
	}
	noon := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for i := range 4 {
		u := commands.Update{Topic: "orders", Offset: int64(i) + 1, EventTime: noon.Add(time.Duration(i) * time.Minute)}
		if err := m.Update(u); err != nil {
			panic(err)
		}
	}
	fmt.Println(m.NotifyWatermark(ctx, noon.Add(2*time.Minute)))
	fmt.Println(m.Offset("orders", 0))
	fmt.Println(m.NotifyWatermark(ctx, noon.Add(time.Minute))) // not later: nothing
	// Output:
	// true <nil>
	// 3 true
	// false <nil>
}

// Going back is done on purpose, and never to a guess.
func ExampleManager_ResetOffset() {
	ctx := context.Background()
	log, closeLog := openLog(ctx)
	defer closeLog()
	m, err := commands.NewManager(ctx, log, commands.Config{Cluster: "prod", Group: "billing", Strategy: commands.Manual()})
	if err != nil {
		panic(err)
	}
	if err := m.UpdateOffsetWithWatermark("orders", 0, 1215, 1300); err != nil {
		panic(err)
	}
	if _, err := m.Commit(ctx); err != nil {
		panic(err)
	}
	fmt.Println(m.Lag("orders", 0, 1300))
	fmt.Println(m.ResetOffset(ctx, "orders", 0, commands.Specific(1200)))
	fmt.Println(m.ResetOffset(ctx, "orders", 0, commands.Latest())) // the watermark that was told
	_, err = m.ResetOffset(ctx, "orders", 0, commands.Earliest())   // nobody told where the log begins
	fmt.Println(err)
	// Output:
	// 85 true
	// 1200 <nil>
	// 1300 <nil>
	// reset orders/0 to earliest: not known without Kafka: name the offset with Specific
}
