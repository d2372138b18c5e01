package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/offsetledger/offsetledger/ledger/embedded"
)

// A server that nobody reaches but this process, and a directory that nobody else can take
// while it runs.
func Example() {
	dir, err := os.MkdirTemp("", "ledger")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	srv, err := embedded.Start(ctx, embedded.Config{Dir: dir})
	if err != nil {
		panic(err)
	}
	fmt.Println("connected:", srv.Conn().IsConnected(), "health:", srv.Health())

	_, err = embedded.Start(ctx, embedded.Config{Dir: dir})
	fmt.Println("second is refused:", errors.Is(err, embedded.ErrLocked))
	fmt.Println("closed:", srv.Close())
	// Output:
	// connected: true health: <nil>
	// second is refused: true
	// closed: <nil>
}
