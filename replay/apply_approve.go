package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/offsetledger/offsetledger/ledger"
)

// ApprovalLife is how long an approval of a plan is good for.
const ApprovalLife = 24 * time.Hour

// Approve records that somebody agrees to a plan, as it is now: its digest is what is approved.
func Approve(ctx context.Context, log Log, p *Plan, by By, now time.Time) error {
	ev, err := operatorEvent(p, OperationApprove, Operation{Plan: p.ID, Digest: p.Digest}, by, ledger.AtTime(now))
	if err == nil {
		_, err = log.Append(ctx, []ledger.Event{ev})
	}
	if err != nil {
		return fmt.Errorf("approve plan %s: %w", p.ID, err)
	}
	return nil
}

// approved refuses a plan to which nobody but whoever carries it out has agreed lately.
func (a *applying) approved(ctx context.Context) error {
	now := ledger.AtTime(a.order.Clock())
	own := false
	for rec, err := range operations(ctx, logReader{a.log, a.plan.Cluster}, a.plan.Cluster, OperationApprove) {
		if err != nil {
			return err
		}
		var op Operation
		ev := &rec.Event
		if json.Unmarshal(ev.Operation.Body, &op) != nil || op.Plan != a.plan.ID || op.Digest != a.plan.Digest {
			continue
		}
		if age, ok := now.Sub(ev.Time); !ok || age > ApprovalLife {
			continue
		}
		if ev.Actor != a.order.By.Actor {
			return nil
		}
		own = true
	}
	why := fmt.Sprintf("somebody else has to agree first: offsetledger restore approve %s, within %s", a.plan.ID, ApprovalLife)
	if own {
		why = fmt.Sprintf("%s has agreed to it, and carries it out: %s", ledger.Spell(a.order.By.Actor), why)
	}
	return &RefusedError{Reasons: []string{why}}
}
