package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
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

// clockSkew is how far the clocks of those who approve and those who apply can be apart.
const clockSkew = 5 * time.Minute

// stillApproved reports whether an approval of one moment is good at another.
func stillApproved(given, at ledger.Time) bool {
	age, ok := at.Sub(given)
	return ok && -clockSkew <= age && age <= ApprovalLife
}

// samePerson reports whether two names are of one person: they are as they were typed, once so and
// once in capitals.
func samePerson(a, b string) bool {
	return strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b))
}

// Approved fails with [ErrRefused] if nobody but whoever carries a plan out has agreed to it within
// the last [ApprovalLife].
func Approved(ctx context.Context, log Log, p *Plan, by By, at time.Time) error {
	if strings.TrimSpace(by.Actor) == "" {
		return &RefusedError{Reasons: []string{"somebody else has to agree, and it is not said who carries it out"}}
	}
	now := ledger.AtTime(at)
	own := false
	for rec, err := range operations(ctx, logReader{log, p.Cluster}, p.Cluster, OperationApprove) {
		if err != nil {
			return err
		}
		var op Operation
		ev := &rec.Event
		if json.Unmarshal(ev.Operation.Body, &op) != nil || op.Plan != p.ID || op.Digest != p.Digest {
			continue
		}
		if !stillApproved(ev.Time, now) {
			continue
		}
		if !samePerson(ev.Actor, by.Actor) {
			return nil
		}
		own = true
	}
	why := fmt.Sprintf("somebody else has to agree first: offsetledger restore approve %s, and within %s offsetledger restore apply %s", p.ID, ApprovalLife, p.ID)
	if own {
		why = fmt.Sprintf("%s has agreed to it, and carries it out: %s", ledger.Spell(by.Actor), why)
	}
	return &RefusedError{Reasons: []string{why}}
}

// ApprovedLike returns the newest stored plan that does what p does and that somebody other than
// who carries it out has agreed to, as [Approved] wants it; nil if there is none.
func ApprovedLike(ctx context.Context, log Log, p *Plan, by By, at time.Time) (*Plan, error) {
	var like []*Plan
	for sp, err := range Plans(ctx, logReader{log, p.Cluster}, p.Cluster) {
		switch {
		case errors.Is(err, ErrPlanFile): // of another version, for one
		case err != nil:
			return nil, fmt.Errorf("look for an approved plan: %w", err)
		case sp.Plan.does(p):
			like = append(like, sp.Plan)
		}
	}
	for _, old := range slices.Backward(like) {
		err := Approved(ctx, log, old, by, at)
		if err == nil {
			return old, nil
		}
		if !errors.Is(err, ErrRefused) {
			return nil, err
		}
	}
	return nil, nil
}

// does reports whether a plan was asked for as another one was, and does the same.
func (p *Plan) does(other *Plan) bool {
	if p.Command != other.Command || p.Point != other.Point || p.Incident != other.Incident || p.Rules != other.Rules || len(p.Groups) != len(other.Groups) {
		return false
	}
	for i := range p.Groups {
		a, b := &p.Groups[i], &other.Groups[i]
		same := func(a, b Step) bool { return a.Key() == b.Key() }
		if a.Group != b.Group || !slices.EqualFunc(a.Steps, b.Steps, same) {
			return false
		}
	}
	_, err := p.Holds(other)
	return err == nil
}
