package commands_test

import (
	"context"
	"fmt"
	"os"

	"github.com/offsetledger/offsetledger/commands"
	"github.com/offsetledger/offsetledger/ledger/embedded"
	"github.com/offsetledger/offsetledger/ledger/stream"
)

// A consumer reports what it has processed and commits, and the process after it goes on from
// there.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "ledger")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	srv, err := embedded.Start(ctx, embedded.Config{Dir: dir}) // or nats.Connect, to a ledger elsewhere
	if err != nil {
		panic(err)
	}
	defer srv.Close()
	log, err := stream.Create(ctx, srv.Conn(), stream.Config{})
	if err != nil {
		panic(err)
	}
	cfg := commands.Config{Cluster: "prod", Group: "billing", Strategy: commands.Manual()}

	first, err := commands.NewManager(ctx, log, cfg)
	if err != nil {
		panic(err)
	}
	for record := int64(1200); record < 1215; record++ {
		// … process the record, and then:
		if err := first.UpdateOffset("orders", 0, record+1); err != nil {
			panic(err)
		}
	}
	n, err := first.Commit(ctx)
	fmt.Println("committed", n, err)

	second, err := commands.NewManager(ctx, log, cfg) // takes the group over
	if err != nil {
		panic(err)
	}
	n, err = second.Restore(ctx)
	fmt.Println("restored", n, err)
	fmt.Println(second.Offset("orders", 0))

	first.UpdateOffset("orders", 0, 1216)
	_, err = first.Commit(ctx)
	fmt.Println(err != nil)
	// Output:
	// committed 1 <nil>
	// restored 1 <nil>
	// 1215 true
	// true
}
