package objstore_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/embedded"
	"github.com/offsetledger/offsetledger/ledger/stream"
	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/replay"
	"github.com/offsetledger/offsetledger/replay/objstore"
)

// A snapshot is taken of the state after the first of two events; the state after the second
// comes from it.
func Example() {
	ctx := context.Background()
	dir, _ := os.MkdirTemp("", "ledger")
	defer os.RemoveAll(dir)
	srv, _ := embedded.Start(ctx, embedded.Config{Dir: dir})
	defer srv.Close()
	log, _ := stream.Create(ctx, srv.Conn(), stream.Config{})
	now := ledger.AtTime(time.Now())
	for _, offset := range []int64{100, 250} {
		_, err := log.Append(ctx, []ledger.Event{{Kind: ledger.KindCommitted, Cluster: "prod", Group: "billing", Time: now,
			Source:  ledger.Source{Kind: ledger.SourceManager, Instance: "app-1"},
			Offsets: []ledger.Offset{{Topic: "orders", At: offset, Effective: now}}}})
		if err != nil {
			fmt.Println(err)
			return
		}
	}

	bucket, _ := objstore.New(srv.Conn(), objstore.Config{})
	snapshots, _ := replay.OpenSnapshots(ctx, replay.SnapshotConfig{Store: bucket, Incarnation: log.Incarnation()})
	first, _ := replay.StateAt(ctx, log, replay.Point{Seq: 1}, replay.Scope{})
	taken, _ := snapshots.Take(ctx, replay.Taking{Read: func(read func(*projection.State, *projection.Incidents)) { read(first, nil) }, Now: time.Now()})
	fmt.Println(taken.ID(), taken.Groups, taken.Partitions)

	last, _ := snapshots.StateAt(ctx, log, replay.Point{}, replay.OfGroup("prod", "billing"))
	p, _ := last.Partition("prod", "billing", "orders", 0)
	fmt.Println(p.Committed.At)
	// Output:
	// s1 1 1
	// 250
}
