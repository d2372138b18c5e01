package stream_test

import (
	"context"
	"fmt"
	"os"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/embedded"
	"github.com/offsetledger/offsetledger/ledger/stream"
)

// A ledger in a directory: two commits, the second under the condition that nobody else has
// written of the group since the first, and then the history of the group.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "ledger")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	srv, err := embedded.Start(ctx, embedded.Config{Dir: dir})
	if err != nil {
		panic(err)
	}
	defer srv.Close()
	log, err := stream.Create(ctx, srv.Conn(), stream.Config{})
	if err != nil {
		panic(err)
	}

	commit := func(at int64, expects ...ledger.Expect) (ledger.Receipt, error) {
		when := ledger.AtMillis(1_764_500_000_000 + at)
		return log.Append(ctx, []ledger.Event{{
			Kind: ledger.KindCommitted, Cluster: "prod", Group: "billing", Time: when,
			Source:  ledger.Source{Kind: ledger.SourceManager, Instance: "billing-1"},
			Offsets: []ledger.Offset{{Topic: "orders", Partition: 3, At: at, CommitTime: when, Effective: when}},
		}}, expects...)
	}
	group := ledger.GroupSubjects("prod", "billing")
	first, err := commit(1200)
	fmt.Println("stored at", first.First, err)
	_, err = commit(1215, ledger.Expect{Filter: group, Seq: first.Last})
	fmt.Println(err)
	_, err = commit(1230, ledger.Expect{Filter: group, Seq: first.Last})
	fmt.Println(err)

	for rec, err := range log.Read(ctx, 1, 0, ledger.Filter{Subjects: []string{group}}) {
		if err != nil {
			panic(err)
		}
		row := rec.Event.Offsets[0]
		fmt.Println(rec.Seq, rec.Event.Kind, row.Topic, row.Partition, row.At)
	}
	// Output:
	// stored at 1 <nil>
	// <nil>
	// append: conflict on ol.prod.g.billing.>: expected last sequence 1, found 2
	// 1 committed orders 3 1200
	// 2 committed orders 3 1215
}
