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
	reader  Reader
	cluster string
	through uint64 // what is stored up to here has been read
	given   map[string][]approval
}

type approval struct {
	seq   uint64
	actor string
}

// NewApprovals returns the approvals that r holds of a cluster.
func NewApprovals(r Reader, cluster string) *Approvals {
	return &Approvals{reader: r, cluster: cluster, given: map[string][]approval{}}
}

// Before returns who other than actor was the last to agree to a plan before the event at a
// sequence; false if nobody had.
func (a *Approvals) Before(ctx context.Context, plan, actor string, seq uint64) (string, bool, error) {
	if err := a.read(ctx, seq); err != nil {
		return "", false, fmt.Errorf("read who agreed to plan %s: %w", plan, err)
	}
	by, ok := "", false
	for _, g := range a.given[plan] {
		if g.seq < seq && g.actor != actor {
			by, ok = g.actor, true
		}
	}
	return by, ok, nil
}

// read takes in what is stored, if it has not come as far as a sequence.
func (a *Approvals) read(ctx context.Context, seq uint64) error {
	if seq <= a.through {
		return nil
	}
	last, err := a.reader.Last(ctx)
	if err != nil {
		return err
	}
	last = max(last, seq)
	f := ledger.Filter{Subjects: []string{ledger.OperatorSubject(a.cluster)}}
	for rec, err := range a.reader.Read(ctx, a.through+1, last, f) {
		if err != nil {
			return err
		}
		done := rec.Event.Operation
		if done == nil || done.Action != OperationApprove {
			continue
		}
		var op Operation
		if json.Unmarshal(done.Body, &op) == nil {
			a.given[op.Plan] = append(a.given[op.Plan], approval{rec.Seq, rec.Event.Actor})
		}
	}
	a.through = last
	return nil
}
