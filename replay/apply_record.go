package replay

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/offsetledger/offsetledger/ledger"
)

// The actions of operator events around a plan. The target of apply and applied is the id of the
// restore, that of approve the id of the plan; their bodies are [Operation] as JSON.
const (
	OperationApply   = "apply"   // it begins to be carried out
	OperationApplied = "applied" // it was carried out, as far as it could be
	OperationApprove = "approve" // somebody agrees to it
)

// Operation is the body of an operator event about a plan.
type Operation struct {
	Restore string `json:"restore,omitempty"`
	Plan    string `json:"plan"`
	Digest  string `json:"digest"`
	Undoes  string `json:"undoes,omitempty"` // id of the restore that the plan takes back
	// Of applied: whether every partition is as it was to be, and the sums.
	Whole   bool `json:"whole,omitempty"`
	Written int  `json:"written,omitempty"`
	Deleted int  `json:"deleted,omitempty"`
	Refused int  `json:"refused,omitempty"`
}

// RestoreRecord is a restore as the ledger has it.
type RestoreRecord struct {
	Operation
	Seq   uint64      // of its beginning
	Until uint64      // of its end; 0 while it has none
	Time  ledger.Time // of its beginning
	By    By
}

// logReader is a [Log] as a [Reader] of what operators did.
type logReader struct {
	Log
	cluster string
}

// Last is the last that an operator did.
func (r logReader) Last(ctx context.Context) (uint64, error) {
	return r.LastOf(ctx, ledger.OperatorSubject(r.cluster))
}

// Restores returns the restores of a cluster, oldest first.
func Restores(ctx context.Context, r Reader, cluster string) ([]RestoreRecord, error) {
	var out []RestoreRecord
	begun := map[string]int{}
	for rec, err := range operations(ctx, r, cluster, OperationApply) {
		if err != nil {
			return nil, fmt.Errorf("read the restores of cluster %s: %w", ledger.Spell(cluster), err)
		}
		one := RestoreRecord{Seq: rec.Seq, Time: rec.Event.Time, By: By{rec.Event.Actor, rec.Event.ActorVerified, rec.Event.Reason}}
		if json.Unmarshal(rec.Event.Operation.Body, &one.Operation) != nil || one.Restore == "" || one.Plan == "" {
			continue // not of this version
		}
		begun[one.Restore] = len(out)
		out = append(out, one)
	}
	for rec, err := range operations(ctx, r, cluster, OperationApplied) {
		if err != nil {
			return nil, fmt.Errorf("read the restores of cluster %s: %w", ledger.Spell(cluster), err)
		}
		var end Operation
		if json.Unmarshal(rec.Event.Operation.Body, &end) != nil {
			continue
		}
		if i, ok := begun[end.Restore]; ok {
			out[i].Until, out[i].Operation = rec.Seq, end
		}
	}
	return out, nil
}

// UndoneBy says of restores, as [Restores] returns them, which other one took each back. One that was
// itself taken back took nothing back.
func UndoneBy(restores []RestoreRecord) map[string]string {
	by := map[string]string{}
	for i := range slices.Backward(restores) { // what undoes comes behind what it undoes
		r := &restores[i]
		if r.Undoes == "" || r.Until == 0 || by[r.Restore] != "" || by[r.Undoes] != "" {
			continue
		}
		by[r.Undoes] = r.Restore
	}
	return by
}

// begin records that the plan is about to be carried out, if the last that an operator did is what
// lies at a sequence.
func (a *applying) begin(ctx context.Context, last uint64) error {
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	sum := sha256.Sum256(append([]byte(a.plan.Digest), id[:]...))
	a.done.ID = "r" + hex.EncodeToString(sum[:])[:6]
	var events []ledger.Event
	switch _, err := FindPlan(ctx, logReader{a.log, a.plan.Cluster}, a.plan.Cluster, a.plan.ID); {
	case errors.Is(err, ErrNoPlan): // it comes from a file: without it nothing could be taken back
		ev, err := a.plan.Event(a.order.By)
		if err != nil {
			return err
		}
		events = append(events, ev)
	case err != nil:
		return err
	}
	ev, err := a.operation(OperationApply, Operation{Restore: a.done.ID})
	if err == nil {
		var at ledger.Receipt
		at, err = a.log.Append(ctx, append(events, ev), ledger.Expect{Filter: ledger.OperatorSubject(a.plan.Cluster), Seq: last})
		a.began = at.Last
	}
	if err != nil {
		return fmt.Errorf("record that plan %s begins: %w", a.plan.ID, err)
	}
	return nil
}

// finish records what has become of it.
func (a *applying) finish(ctx context.Context) error {
	op := Operation{Restore: a.done.ID}
	op.Written, op.Deleted, op.Refused = a.done.Sums()
	op.Written, op.Deleted = op.Written+a.earlier.Written, op.Deleted+a.earlier.Deleted
	op.Whole = op.Refused == 0
	ev, err := a.operation(OperationApplied, op)
	if err == nil {
		_, err = a.log.Append(ctx, []ledger.Event{ev})
	}
	if err != nil {
		return fmt.Errorf("record what has become of plan %s: %w", a.plan.ID, err)
	}
	return nil
}

// operation is the event of something that is done with the plan.
func (a *applying) operation(action string, op Operation) (ledger.Event, error) {
	op.Plan, op.Digest, op.Undoes = a.plan.ID, a.plan.Digest, a.plan.undoes()
	return operatorEvent(a.plan, action, op, a.order.By, ledger.AtTime(a.order.Clock()))
}

func operatorEvent(p *Plan, action string, op Operation, by By, at ledger.Time) (ledger.Event, error) {
	body, err := json.Marshal(op)
	if err != nil {
		return ledger.Event{}, err
	}
	target := op.Restore
	if target == "" {
		target = op.Plan
	}
	return ledger.Event{
		Kind: ledger.KindOperator, Cluster: p.Cluster, Time: at, Source: ledger.Source{Kind: ledger.SourceOperator},
		Actor: by.Actor, ActorVerified: by.Verified, Reason: by.Reason, Plan: p.ID,
		Operation: &ledger.Operation{Action: action, Target: target, Body: body},
	}, nil
}

// pastRun is what an earlier run of a restore has recorded of a group.
type pastRun struct {
	intended, before map[ledger.TopicPartition]ledger.Offset // of intents; at -1: to be deleted
	recorded         map[ledger.TopicPartition]bool          // what is done, and recorded
	written          map[ledger.TopicPartition]ledger.Offset // of recorded: as it was written
	failed           map[ledger.TopicPartition]int16         // what the broker refused, with its error code
}

// resume looks for an earlier run that was interrupted, or was refused something, and for what it
// has done.
func (a *applying) resume(ctx context.Context) error {
	all, err := Restores(ctx, logReader{a.log, a.plan.Cluster}, a.plan.Cluster)
	if err != nil {
		return err
	}
	a.before = ""
	var last *RestoreRecord
	for i := range all {
		if all[i].Plan == a.plan.ID && all[i].Digest == a.plan.Digest {
			last = &all[i]
		}
	}
	switch {
	case last == nil:
		return nil
	case last.Until != 0 && last.Whole:
		a.before = last.Restore
		return nil
	}
	a.done.ID, a.done.Resumed, a.began = last.Restore, true, last.Seq
	for i := range a.plan.Groups {
		if err := a.remember(ctx, a.plan.Groups[i].Group); err != nil {
			return err
		}
	}
	return nil
}

// remember reads what other runs of this restore have recorded of groups.
func (a *applying) remember(ctx context.Context, names ...string) (err error) {
	if a.past == nil {
		a.past = map[string]*pastRun{}
	}
	for _, name := range names {
		if a.past[name], err = readPast(ctx, logReader{a.log, a.plan.Cluster}, a.plan.Cluster, name, a.plan.ID, a.began, 0); err != nil {
			return err
		}
	}
	return nil
}

// readPast reads what was recorded of a group for a plan between two sequences; 0 is the end.
func readPast(ctx context.Context, log Reader, cluster, group, plan string, from, to uint64) (*pastRun, error) {
	p := &pastRun{
		intended: map[ledger.TopicPartition]ledger.Offset{}, before: map[ledger.TopicPartition]ledger.Offset{},
		recorded: map[ledger.TopicPartition]bool{}, written: map[ledger.TopicPartition]ledger.Offset{}, failed: map[ledger.TopicPartition]int16{},
	}
	f := ledger.Filter{}
	for _, kind := range []ledger.Kind{ledger.KindIntent, ledger.KindReset, ledger.KindDeleted, ledger.KindFailed} {
		f.Subjects = append(f.Subjects, ledger.GroupSubject(cluster, group, kind))
	}
	for rec, err := range log.Read(ctx, from, to, f) {
		if err != nil {
			return nil, fmt.Errorf("read what was done to group %s: %w", ledger.Spell(group), err)
		}
		if ev := &rec.Event; ev.Plan == plan && ev.Source.Kind == ledger.SourceOperator {
			p.take(ev)
		}
	}
	return p, nil
}

func (p *pastRun) take(ev *ledger.Event) {
	if ev.Kind == ledger.KindFailed {
		p.fail(ev)
		return
	}
	for _, r := range ev.Offsets {
		key := ledger.TopicPartition{Topic: r.Topic, Partition: r.Partition}
		if ev.Kind == ledger.KindIntent {
			p.intended[key] = r
			continue
		}
		p.recorded[key], p.written[key] = true, r
	}
	if ev.Kind != ledger.KindIntent {
		return
	}
	for _, r := range ev.Before {
		key := ledger.TopicPartition{Topic: r.Topic, Partition: r.Partition}
		if _, known := p.before[key]; !known {
			p.before[key] = r
		}
	}
}
