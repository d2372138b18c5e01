package ledger_test

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/offsetledger/offsetledger/ledger"
)

// An event is made, checked, encoded and read back.
func Example() {
	at := ledger.AtTime(time.Date(2026, 11, 30, 14, 5, 0, 0, time.UTC))
	e := ledger.Event{
		ID:      uuid.Must(uuid.NewV7()),
		Kind:    ledger.KindCommitted,
		Cluster: "prod",
		Group:   "billing.v2",
		Time:    at,
		Source:  ledger.Source{Kind: ledger.SourceTail, Partition: 17, Offset: 4711},
		Offsets: []ledger.Offset{
			{Topic: "orders", Partition: 0, At: 701204, CommitTime: at, Effective: at, SourceOffset: 4711},
			{Topic: "orders", Partition: 1, At: 698113, CommitTime: at, Effective: at, SourceOffset: 4712},
		},
	}
	if err := e.Validate(); err != nil {
		fmt.Println(err)
		return
	}
	stored, err := e.AppendBinary(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	back, err := ledger.Decode(stored)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(back.Subject())
	for _, row := range back.Offsets {
		fmt.Printf("%s %s/%d at %d, epoch %s\n", row.Effective, row.Topic, row.Partition, row.At, row.LeaderEpoch)
	}
	// Output:
	// ol.prod.g.billing/v2.committed
	// 2026-11-30T14:05:00.000Z orders/0 at 701204, epoch -
	// 2026-11-30T14:05:00.000Z orders/1 at 698113, epoch -
}

// A name becomes one token of a subject, and back.
func ExampleToken() {
	fmt.Println(ledger.Token("commerce.orders.v1"))
	fmt.Println(ledger.Token("we ird.*>"))
	fmt.Println(ledger.Token(""))
	name, err := ledger.ParseToken("=C3=BCber")
	fmt.Println(name, err)
	// Output:
	// commerce/orders/v1
	// we=20ird/=2A=3E
	// =0
	// über <nil>
}
