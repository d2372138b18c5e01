package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// waitBetween is the time between two looks at groups that are waited for.
const waitBetween = 250 * time.Millisecond

// free looks what is to be done to groups, to all of the plan if names is nil, and waits for
// those that are in the way.
func (a *applying) free(ctx context.Context, names []string) ([]*job, error) {
	told := ""
	for {
		jobs, err := a.look(ctx, names)
		var blocked *BlockedError
		switch {
		case !errors.As(err, &blocked), a.order.WaitEmpty == 0:
			return jobs, err
		case !a.order.Clock().Before(a.until):
			return nil, fmt.Errorf("%w after %s: %w", ErrWaited, a.order.WaitEmpty, err)
		}
		if who := blocked.who(); who != told && a.order.Waiting != nil {
			told = who
			a.order.Waiting(blocked.Groups)
		}
		if err := pause(ctx, waitBetween); err != nil {
			return nil, err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// look asks for the facts of groups, of all of the plan if names is nil, and works out what is
// to be done to each.
func (a *applying) look(ctx context.Context, names []string) ([]*job, error) {
	some := a.plan.of(names)
	wait, cancel := context.WithTimeout(ctx, a.order.Patience)
	defer cancel()
	facts, err := a.broker.Facts(wait, some.Inquiry())
	if err != nil && wait.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("no answer within %s: %w", a.order.Patience, err)
	}
	if err != nil {
		return nil, fmt.Errorf("ask what is true now: %w", err)
	}
	facts.Sort()
	if a.order.Learn != nil {
		if err := a.order.Learn(ctx, &facts); err != nil {
			return nil, fmt.Errorf("ask what the ledger knows: %w", err)
		}
	}
	if have, want := facts.KafkaClusterID, a.plan.KafkaClusterID; have != "" && want != "" && have != want && !a.plan.Rules.AnyCluster {
		return nil, &RefusedError{Reasons: []string{fmt.Sprintf("these brokers are Kafka cluster %s, and the plan is for %s", have, want)}}
	}
	later := some.Renew(facts)
	jobs := make([]*job, len(some.Groups))
	var stale StaleError
	var blocked BlockedError
	for i := range some.Groups {
		g := &some.Groups[i]
		j := newJob(g, &later.Groups[i], facts.Group(g.Group), a.past[g.Group])
		jobs[i] = j
		stale.Changed = append(stale.Changed, j.holds(a.plan.ID, a.order.Strict)...)
		if len(j.now.Blocked) > 0 && j.pending() {
			blocked.Groups = append(blocked.Groups, *j.now)
		}
	}
	switch {
	case len(stale.Changed) > 0:
		stale.ID, stale.Done = a.plan.ID, a.before
		return nil, &stale
	case len(blocked.Groups) > 0:
		return jobs, &blocked
	}
	return jobs, nil
}

// of is the part of a plan about some groups; nil is all of it.
func (p *Plan) of(names []string) *Plan {
	if names == nil {
		return p
	}
	out := *p
	out.Groups = nil
	for i := range p.Groups {
		if slices.Contains(names, p.Groups[i].Group) {
			out.Groups = append(out.Groups, p.Groups[i])
		}
	}
	return &out
}

func (d *Drift) plus(e Drift) {
	d.Moved += e.Moved
	d.Forward, d.Back = plus(d.Forward, e.Forward), plus(d.Back, e.Back)
	d.Appeared += e.Appeared
	d.Absent += e.Absent
}
