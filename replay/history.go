package replay

import (
	"context"
	"fmt"
	"iter"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// Step is one record of the history and what folding it did. It is valid until the next one.
type Step struct {
	Record  ledger.Record
	Changes []projection.Change
	State   *projection.State // after the record
}

// History yields the records of a scope from sequence from to sequence to, both included,
// each with its Changes; to 0 is the end of the log as of the call. What came before from is
// folded without being told, since a Change depends on it.
func History(ctx context.Context, r Reader, sc Scope, from, to uint64) iter.Seq2[Step, error] {
	return func(yield func(Step, error) bool) {
		end, err := endOf(ctx, r, Point{Seq: to})
		if err != nil {
			yield(Step{}, fmt.Errorf("history: %w", err))
			return
		}
		if end == 0 {
			return
		}
		s := projection.NewState()
		for rec, err := range r.Read(ctx, 1, end, sc.Filter()) {
			var changes []projection.Change
			if err == nil {
				if sc.ofCluster {
					s.Skip(rec.Seq - 1)
				}
				changes, err = s.Apply(rec)
			}
			if err != nil {
				yield(Step{}, fmt.Errorf("history after record %d: %w", s.Seq(), err))
				return
			}
			if rec.Seq >= from && !yield(Step{Record: rec, Changes: changes, State: s}, nil) {
				return
			}
		}
	}
}
