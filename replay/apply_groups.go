package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/offsetledger/offsetledger/ledger"
)

// maxConflicts is how often the intents of some groups try to get past what others record of
// them: capture tells of the last member's leaving a moment after the broker does.
const maxConflicts = 20

// abreast is how many groups are asked about or written to at the same time.
const abreast = 8

// groups carries out the part of the plan about some groups. A crash leaves behind: nothing,
// until the intents are stored; after that intents without a reset, whose rows are committed or
// not, which the next run finds out by reading them.
func (a *applying) groups(ctx context.Context, names []string) error {
	jobs, err := a.intend(ctx, names)
	if err != nil {
		return err
	}
	if err := a.write(ctx, jobs); err != nil {
		return err
	}
	facts, err := a.broker.Facts(ctx, Inquiry{Groups: names})
	if err != nil {
		return fmt.Errorf("read back what was written: %w", err)
	}
	facts.Sort()
	for _, j := range jobs {
		g := facts.Group(j.was.Group)
		if g == nil || g.Problem != "" {
			return fmt.Errorf("read back what was written to group %s: it could not be asked", ledger.Spell(j.was.Group))
		}
		j.readBack(g)
	}
	if err := a.tell(ctx, jobs); err != nil {
		return fmt.Errorf("record what was done: %w", err)
	}
	for _, j := range jobs {
		a.done.Groups = append(a.done.Groups, j.result())
		a.earlier.Written += j.out.Earlier - j.gone
		a.earlier.Deleted += j.gone
	}
	return nil
}

// intend records what is about to be done, in one append for all groups, and returns it.
func (a *applying) intend(ctx context.Context, names []string) ([]*job, error) {
	var conflict error
	for range maxConflicts {
		if conflict != nil {
			if err := pause(ctx, waitBetween/5); err != nil {
				return nil, err
			}
		}
		expects, err := a.lasts(ctx, names)
		if err != nil {
			return nil, err
		}
		if a.done.Resumed || conflict != nil { // another run of this restore may still be at work
			if err := a.remember(ctx, names...); err != nil {
				return nil, err
			}
		}
		jobs, err := a.free(ctx, names)
		if errors.Is(err, ErrStale) {
			if now, e := a.lasts(ctx, names); e == nil && !slices.Equal(now, expects) {
				conflict = err
				continue
			}
		}
		if err != nil {
			return nil, err
		}
		var events []ledger.Event
		var held []ledger.Expect
		for i, j := range jobs {
			if !j.pending() {
				continue
			}
			ev := a.event(ledger.KindIntent, j.was.Group)
			ev.Offsets, ev.Before = j.intents(), j.before
			events, held = append(events, ev), append(held, expects[i])
		}
		if len(events) == 0 {
			return jobs, nil
		}
		_, err = a.log.Append(ctx, events, held...)
		if err == nil {
			return jobs, nil
		}
		if conflict = err; !errors.Is(err, ledger.ErrConflict) {
			return nil, fmt.Errorf("record what is intended: %w", err)
		}
	}
	return nil, fmt.Errorf("record what is intended, after %d tries: %w", maxConflicts, conflict)
}

// lasts are the conditions that nothing is recorded of groups meanwhile.
func (a *applying) lasts(ctx context.Context, names []string) ([]ledger.Expect, error) {
	out := make([]ledger.Expect, len(names))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(abreast)
	for i, name := range names {
		g.Go(func() error {
			filter := ledger.GroupSubjects(a.plan.Cluster, name)
			last, err := a.log.LastOf(ctx, filter)
			out[i] = ledger.Expect{Filter: filter, Seq: last}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, fmt.Errorf("ask for the last record of a group: %w", err)
	}
	return out, nil
}

// write commits and deletes. That no answer came is no error here: what became of such rows is
// read back.
func (a *applying) write(ctx context.Context, jobs []*job) error {
	g, writing := errgroup.WithContext(ctx)
	g.SetLimit(abreast)
	for _, j := range jobs {
		g.Go(func() error {
			if len(j.set) > 0 {
				rows, _ := a.broker.Commit(writing, j.was.Group, j.set)
				j.answered(rows, false)
			}
			if len(j.drop) > 0 {
				rows, _ := a.broker.Delete(writing, j.was.Group, j.drop)
				j.answered(rows, true)
			}
			return ctx.Err()
		})
	}
	return g.Wait()
}

// tell records what was done: what was set, what was deleted, what was refused.
func (a *applying) tell(ctx context.Context, jobs []*job) error {
	var events []ledger.Event
	for _, j := range jobs {
		if rows := append(append([]ledger.Offset(nil), j.settled...), j.accepted...); len(rows) > 0 {
			ev := a.event(ledger.KindReset, j.was.Group)
			ev.Offsets, ev.Before = dated(rows, ev.Time), j.before
			events = append(events, ev)
		}
		if keys := append(append([]ledger.TopicPartition(nil), j.cleared...), j.deleted...); len(keys) > 0 {
			ev := a.event(ledger.KindDeleted, j.was.Group)
			ev.Cause = ledger.CauseDeleted
			for _, tp := range keys {
				ev.Offsets = append(ev.Offsets, ledger.Offset{Topic: tp.Topic, Partition: tp.Partition, At: noOffset})
			}
			ev.Offsets = dated(ev.Offsets, ev.Time)
			events = append(events, ev)
		}
		if ev := a.failure(j); len(ev.Offsets) > 0 {
			events = append(events, ev)
		}
	}
	if len(events) == 0 {
		return nil
	}
	_, err := a.log.Append(ctx, events)
	return err
}

// failure is the event of the rows that the broker refused.
func (a *applying) failure(j *job) ledger.Event {
	ev := a.event(ledger.KindFailed, j.was.Group)
	ev.Cause = ledger.CauseRefused
	for _, r := range j.set {
		if why, ok := j.refused[ledger.TopicPartition{Topic: r.Topic, Partition: r.Partition}]; ok && why.Code != 0 {
			r.ErrorCode = why.Code
			ev.Offsets = append(ev.Offsets, r)
		}
	}
	ev.Offsets = dated(ev.Offsets, ev.Time)
	return ev
}

// dated gives rows the time of what was done.
func dated(rows []ledger.Offset, at ledger.Time) []ledger.Offset {
	for i := range rows {
		rows[i].CommitTime, rows[i].Effective = at, at
	}
	return rows
}

// event is an event of a group by whoever carries the plan out.
func (a *applying) event(kind ledger.Kind, group string) ledger.Event {
	return ledger.Event{
		Kind: kind, Cluster: a.plan.Cluster, Group: group, Time: ledger.AtTime(a.order.Clock()),
		Source: ledger.Source{Kind: ledger.SourceOperator},
		Actor:  a.order.By.Actor, ActorVerified: a.order.By.Verified, Reason: a.order.By.Reason, Plan: a.plan.ID,
	}
}
