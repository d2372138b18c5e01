package replay

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/offsetledger/offsetledger/ledger"
)

// Broker is the Kafka that a plan is carried out in.
type Broker interface {
	// Facts answers an inquiry with what is true now. What a group or topic could not be asked is
	// its Problem.
	Facts(ctx context.Context, q Inquiry) (Facts, error)
	// Commit commits rows of a group as nobody in it, and returns them as they were sent, each
	// with Kafka's error code; 0 is accepted. An error says that no answer came: some rows may
	// be committed.
	Commit(ctx context.Context, group string, rows []ledger.Offset) ([]ledger.Offset, error)
	// Delete deletes committed offsets, and returns a row for each with Kafka's error code; 0 is
	// deleted.
	Delete(ctx context.Context, group string, partitions []ledger.TopicPartition) ([]ledger.Offset, error)
}

// Log is the ledger that is told what a plan does; *stream.Log is one.
type Log interface {
	// Append stores events together and in order, or none of them. It fails with
	// [ledger.ErrConflict] when an expectation does not hold.
	Append(ctx context.Context, events []ledger.Event, expects ...ledger.Expect) (ledger.Receipt, error)
	// Read yields the records from one sequence to another, 0 for the last, that a filter
	// selects. A record is valid until the next step.
	Read(ctx context.Context, from, to uint64, f ledger.Filter) iter.Seq2[ledger.Record, error]
	// LastOf returns the sequence of the last event whose subject the filter matches, 0 for none.
	LastOf(ctx context.Context, filter string) (uint64, error)
}

// Order says how a plan is to be carried out.
type Order struct {
	Plan *Plan
	By   By
	// Strict wants everything that is committed to be what it was when the plan was made.
	Strict bool
	// Patience is how long Kafka can take to say what is true now; 0 is 30 seconds.
	Patience time.Duration
	// WaitEmpty is how long to wait for groups that are in the way; 0 does not wait.
	WaitEmpty time.Duration
	// NeedsApproval wants somebody else to have approved the plan within the last [ApprovalLife].
	NeedsApproval bool
	// Learn adds to facts what only the ledger knows, as [Facts.Learn] does. Nil adds nothing: then
	// it is not seen that offsets would expire at once, nor until when static members are held.
	Learn func(context.Context, *Facts) error
	// Waiting is told who is in the way, whenever that changes; nil is told nothing.
	Waiting func([]PlanGroup)
	Clock   func() time.Time // nil is time.Now
}

// Restored is what has become of a plan.
type Restored struct {
	ID      string // "r" and some digits: what [Undo] is about; empty if nothing was to be done, which is not recorded
	Plan    string // id of the plan
	Resumed bool   // an earlier run was interrupted, or was refused something, and was gone on with
	Drift   Drift  // since the plan was made
	Groups  []RestoredGroup
}

// RestoredGroup is what was done to one group.
type RestoredGroup struct {
	Group   string
	Written int // offsets committed and read back
	Deleted int // offsets deleted
	Earlier int // steps that an earlier run of the same restore had done
	Kept    int // partitions that were not to be touched
	Refused []RefusedRow
}

// RefusedRow is a partition that is not as it was to be.
type RefusedRow struct {
	Topic     string
	Partition int32
	Code      int16  // Kafka's error code; 0 if it accepted the row
	Why       string // what is there instead; empty if Code says it
}

// Sums adds up the groups.
func (r *Restored) Sums() (written, deleted, refused int) {
	for i := range r.Groups {
		g := &r.Groups[i]
		written, deleted, refused = written+g.Written, deleted+g.Deleted, refused+len(g.Refused)
	}
	return written, deleted, refused
}

// Apply carries out a plan: everything is looked at anew first, and nothing is written unless
// every action and direction is as the plan says. Then, some groups at a time, the intent is
// recorded with what is committed before, under the condition that nothing else was recorded of
// the group since it was looked at; the offsets are committed and read back; and what was done
// is recorded. Interrupted anywhere, it is finished by the same call, which repeats nothing. Of
// two calls that begin at once one carries the plan out, and the other fails with [ErrStale]; one
// that begins later takes an unfinished one for interrupted, and goes on with it. A plan that has
// nothing to be done leaves no record.
//
// It fails with [ErrRefused] for a plan that can never be carried out, [ErrBlocked] for one that
// cannot now, [ErrStale] for one that is not true any more, [ErrWaited] if a group did not
// become empty in time, [ledger.ErrConflict] if others keep writing. All these have written
// nothing to the groups that they name. [ErrPartly] says that some partitions are not as they
// were to be: the answer tells which.
func Apply(ctx context.Context, log Log, b Broker, o Order) (*Restored, error) {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Patience == 0 {
		o.Patience = 30 * time.Second
	}
	a := &applying{log: log, broker: b, order: o, plan: o.Plan, done: Restored{Plan: o.Plan.ID}}
	if err := a.allowed(ctx); err != nil {
		return nil, fmt.Errorf("apply plan %s: %w", o.Plan.ID, err)
	}
	if err := a.run(ctx); err != nil {
		return &a.done, fmt.Errorf("apply plan %s: %w", o.Plan.ID, err)
	}
	if _, _, refused := a.done.Sums(); refused > 0 {
		return &a.done, fmt.Errorf("apply plan %s: %w", o.Plan.ID, &PartlyError{Restored: &a.done})
	}
	return &a.done, nil
}

// applying is a plan that is being carried out.
type applying struct {
	log    Log
	broker Broker
	order  Order
	plan   *Plan
	until  time.Time           // how long groups are waited for
	began  uint64              // sequence of the beginning of the restore
	past   map[string]*pastRun // of other runs of the same restore, by group
	before string              // the restore that has carried all of the plan out before; empty for none
	done   Restored
	// earlier is what other runs of the restore have done, which the sums of its end hold too.
	earlier struct{ Written, Deleted int }
}

// allowed looks at all that needs no broker.
func (a *applying) allowed(ctx context.Context) error {
	switch {
	case a.plan.ID == "":
		return errors.New("a plan has to be sealed before it is carried out")
	case a.plan.Impossible():
		return &RefusedError{Reasons: a.plan.refusals()}
	case a.order.NeedsApproval && !a.plan.idle():
		return Approved(ctx, a.log, a.plan, a.order.By, a.order.Clock())
	}
	return nil
}

func (a *applying) run(ctx context.Context) error {
	a.until = a.order.Clock().Add(a.order.WaitEmpty)
	some, err := a.start(ctx)
	if err != nil || !some {
		return err
	}
	for _, names := range a.batches() {
		if err := a.groups(ctx, names); err != nil {
			return err
		}
	}
	return a.finish(ctx)
}

// start looks at all of the plan before any of it is touched, and records that it begins, under
// the condition that no operator did anything meanwhile: of two runs that begin at once one does.
// It reports false, and records nothing, if there is nothing to be done.
func (a *applying) start(ctx context.Context) (bool, error) {
	var conflict error
	for range maxConflicts {
		last, err := logReader{a.log, a.plan.Cluster}.Last(ctx)
		if err != nil {
			return false, fmt.Errorf("ask for the last record of operators: %w", err)
		}
		if err := a.resume(ctx); err != nil {
			return false, err
		}
		if a.done.Resumed && conflict != nil {
			other := a.done.ID
			a.done = Restored{Plan: a.plan.ID}
			return false, &StaleError{ID: a.plan.ID, Running: other}
		}
		jobs, err := a.free(ctx, nil)
		if errors.Is(err, ErrStale) {
			if now, e := (logReader{a.log, a.plan.Cluster}).Last(ctx); e == nil && now != last {
				conflict = err // perhaps it is another run of this plan that has made it so
				continue
			}
		}
		if err != nil {
			return false, err
		}
		a.done.Drift = Drift{}
		for _, j := range jobs {
			a.done.Drift.plus(j.drift)
		}
		switch {
		case a.done.Resumed:
			return true, nil
		case !slices.ContainsFunc(jobs, (*job).pending):
			for _, j := range jobs {
				a.done.Groups = append(a.done.Groups, j.out)
			}
			return false, nil
		}
		err = a.begin(ctx, last)
		if err == nil {
			return true, nil
		}
		if conflict = err; !errors.Is(err, ledger.ErrConflict) {
			return false, err
		}
	}
	return false, conflict
}

// What is carried out at a time: intents of so many groups and rows are one append.
const (
	batchGroups = 100
	batchRows   = 20_000
)

// batches are the groups of the plan that have something to be done, in pieces.
func (a *applying) batches() (out [][]string) {
	var names []string
	rows := 0
	for i := range a.plan.Groups {
		g := &a.plan.Groups[i]
		t := g.Sums()
		if t.Set+t.Deleted == 0 {
			a.done.Groups = append(a.done.Groups, RestoredGroup{Group: g.Group, Kept: t.Kept})
			continue
		}
		if len(names) > 0 && (len(names) == batchGroups || rows+len(g.Steps) > batchRows) {
			out, names, rows = append(out, names), nil, 0
		}
		names, rows = append(names, g.Group), rows+len(g.Steps)
	}
	if len(names) > 0 {
		out = append(out, names)
	}
	return out
}
