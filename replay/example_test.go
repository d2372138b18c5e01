package replay_test

import (
	"context"
	"fmt"

	"github.com/offsetledger/offsetledger/replay"
)

// Where was the group at 14:05, and just before record 3?
func Example() {
	var log memory // any log will do; *stream.Log is one
	log.add(0,
		commit("billing", fourteen, row(0, 1200, 0, fourteen)),
		commit("billing", fourteen+4*60_000, row(0, 1215, 1, fourteen+4*60_000)),
		commit("billing", fourteen+6*60_000, row(0, 0, 2, fourteen+6*60_000)),
	)
	for _, p := range []replay.Point{{Time: millis(fourteen + 5*60_000)}, {Seq: 2}, {}} {
		s, err := replay.StateAt(context.Background(), log, p, replay.OfGroup("c", "billing"))
		if err != nil {
			fmt.Println(err)
			return
		}
		orders, _ := s.Partition("c", "billing", "t", 0)
		fmt.Println(p, orders.Committed.At)
	}
	// Output:
	// 2026-11-30T14:05:00.000Z 1215
	// seq:2 1215
	// now 0
}
