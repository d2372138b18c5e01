package commands_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/offsetledger/offsetledger/commands"
	"github.com/offsetledger/offsetledger/ledger"
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

// A consumer beside the daemon: it connects over NATS, opens the daemon's ledger and commits to it.
func ExampleNewManager() {
	ctx := context.Background()
	url, stop := daemon(ctx) // offsetledger serve --nats-listen …
	defer stop()

	nc, err := nats.Connect(url) // with nats.NkeyOptionFromSeed("writer.nk")
	if err != nil {
		panic(err)
	}
	defer nc.Close()
	log, err := stream.Open(ctx, nc, stream.Config{})
	if err != nil {
		panic(err)
	}
	m, err := commands.NewManager(ctx, log, commands.Config{
		Cluster: "prod", Group: "billing", Strategy: commands.Periodic(time.Second),
	})
	if err != nil {
		panic(err)
	}
	running := make(chan error, 1)
	go func() { running <- m.Run(ctx) }()

	if err := m.UpdateOffset("orders", 3, 1215); err != nil {
		panic(err)
	}
	fmt.Println(m.Close(ctx)) // commits what is pending
	fmt.Println(<-running)
	fmt.Println(m.Offset("orders", 3))
	// Output:
	// <nil>
	// <nil>
	// 1215 true
}

// daemon is a server with a ledger on a port of loopback.
func daemon(ctx context.Context) (url string, stop func()) {
	dir, err := os.MkdirTemp("", "ledger")
	if err != nil {
		panic(err)
	}
	srv, err := embedded.Start(ctx, embedded.Config{Dir: dir, Listen: "127.0.0.1:0"})
	if err != nil {
		panic(err)
	}
	if _, err := stream.Create(ctx, srv.Conn(), stream.Config{}); err != nil {
		panic(err)
	}
	return srv.URL(), func() {
		srv.Close()
		os.RemoveAll(dir)
	}
}

// An application marks a moment, goes on, and goes back to it on purpose. The history keeps all
// of it.
func ExampleManager_Checkpoint() {
	ctx := context.Background()
	log, closeLog := openLog(ctx)
	defer closeLog()
	m, err := commands.NewManager(ctx, log, commands.Config{Cluster: "prod", Group: "billing", Strategy: commands.Manual()})
	if err != nil {
		panic(err)
	}
	commit := func(at int64) {
		if err := m.UpdateOffset("orders", 0, at); err != nil {
			panic(err)
		}
		if _, err := m.Commit(ctx); err != nil {
			panic(err)
		}
	}
	commit(100)
	if _, err := m.Checkpoint(ctx, "before the migration"); err != nil {
		panic(err)
	}
	commit(250)
	fmt.Println(m.UpdateOffset("orders", 0, 100))
	n, err := m.RestoreCheckpoint(ctx, "before the migration")
	fmt.Println("set back", n, err)
	fmt.Println(m.Offset("orders", 0))
	// Output:
	// update orders/0 to 100: 250 is committed; use ResetOffset to go back on purpose
	// set back 1 <nil>
	// 100 true
}

// Workers finish records in any order. What is committed is what is done without a gap, over
// the records that there are: offsets 12 to 14 were compacted away.
func ExampleManager_DoneOffset() {
	ctx := context.Background()
	log, closeLog := openLog(ctx)
	defer closeLog()
	m, err := commands.NewManager(ctx, log, commands.Config{Cluster: "prod", Group: "billing", Strategy: commands.Manual()})
	if err != nil {
		panic(err)
	}
	for _, record := range []int64{10, 11, 15} {
		if err := m.Delivered("orders", 0, record, ledger.EpochOf(3)); err != nil {
			panic(err)
		}
	}
	for _, record := range []int64{15, 10, 11} {
		if err := m.DoneOffset("orders", 0, record); err != nil {
			panic(err)
		}
		info, ok := m.Pending()[ledger.TopicPartition{Topic: "orders"}]
		fmt.Println("done", record, "next", info.Offset, ok)
	}
	// Output:
	// done 15 next 0 false
	// done 10 next 11 true
	// done 11 next 16 true
}

// openLog makes a ledger in a temporary directory.
func openLog(ctx context.Context) (*stream.Log, func()) {
	dir, err := os.MkdirTemp("", "ledger")
	if err != nil {
		panic(err)
	}
	srv, err := embedded.Start(ctx, embedded.Config{Dir: dir})
	if err != nil {
		panic(err)
	}
	log, err := stream.Create(ctx, srv.Conn(), stream.Config{})
	if err != nil {
		panic(err)
	}
	return log, func() {
		srv.Close()
		os.RemoveAll(dir)
	}
}
