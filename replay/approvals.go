package replay

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/offsetledger/offsetledger/ledger"
)

// Approvals are who agreed to the plans of a cluster. They are read when they are asked for, and
// each only once. Not safe for use by several goroutines.
type Approvals struct {
	operators
	given map[string][]approval
}

type approval struct {
	seq   uint64
	actor string
	at    ledger.Time
}

// NewApprovals returns the approvals that r holds of a cluster.
func NewApprovals(r Reader, cluster string) *Approvals {
	return &Approvals{operators: operators{reader: r, cluster: cluster}, given: map[string][]approval{}}
}

// Through returns who other than actor was the last to agree to a plan up to the event at a
// sequence and a time, no longer before than [ApprovalLife]; false if nobody had.
func (a *Approvals) Through(ctx context.Context, plan, actor string, seq uint64, at ledger.Time) (string, bool, error) {
	if err := a.read(ctx, seq, OperationApprove, a.take); err != nil {
		return "", false, fmt.Errorf("read who agreed to plan %s: %w", plan, err)
	}
	by, ok := "", false
	for _, g := range a.given[plan] {
		if g.seq <= seq && !samePerson(g.actor, actor) && stillApproved(g.at, at) {
			by, ok = g.actor, true
		}
	}
	return by, ok, nil
}

func (a *Approvals) take(rec *ledger.Record) {
	var op Operation
	if json.Unmarshal(rec.Event.Operation.Body, &op) == nil {
		a.given[op.Plan] = append(a.given[op.Plan], approval{rec.Seq, rec.Event.Actor, rec.Event.Time})
	}
}
