package projection_test

import (
	"fmt"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// A group commits, and somebody sets it back. The fold says what every row did.
func Example() {
	s := projection.NewState()
	for seq, at := range []int64{1200, 1215, 0} {
		changes, err := s.Apply(ledger.Record{
			Seq: uint64(seq + 1),
			Event: ledger.Event{
				Kind: ledger.KindCommitted, Cluster: "prod", Group: "billing", Time: ledger.AtMillis(int64(seq+1) * 1000),
				Source:  ledger.Source{Kind: ledger.SourceTail},
				Offsets: []ledger.Offset{{Topic: "orders", Partition: 0, At: at, SourceOffset: int64(seq)}},
			},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, c := range changes {
			fmt.Println(c.Seq, c.Movement, c.From.At, c.To.At)
		}
	}
	p, _ := s.Partition("prod", "billing", "orders", 0)
	fmt.Println("committed", p.Committed.At)
	// Output:
	// 1 advance 0 1200
	// 2 advance 1200 1215
	// 3 rewind 1215 0
	// committed 0
}
