package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/google/uuid"

	"github.com/offsetledger/offsetledger/ledger"
)

// OperationPlan is the action of the operator event that a plan is stored as: its target is the
// plan's id, its body the plan's JSON, compressed with Zstandard if it is long.
const OperationPlan = "plan"

// ErrNoPlan is an id that no plan of the ledger has.
var ErrNoPlan = errors.New("no such plan")

// By says who does something.
type By struct {
	Actor    string
	Verified bool // proved by a token or certificate, not just claimed
	Reason   string
}

// mostPlain is how many bytes of JSON a plan may have to be stored as it is. Steps are much
// alike: of more bytes about the thirtieth part is left, so that plans for hundreds of thousands
// of partitions fit into what can be stored at once.
const mostPlain = 512 << 10

// Event is the operator event that a sealed plan is stored as.
func (p *Plan) Event(by By) (ledger.Event, error) {
	body, err := p.MarshalJSON()
	if err != nil {
		return ledger.Event{}, fmt.Errorf("store plan %s: %w", p.ID, err)
	}
	if len(body) > mostPlain {
		body = packer.EncodeAll(body, nil)
	}
	return ledger.Event{
		Kind: ledger.KindOperator, Cluster: p.Cluster, Time: p.Made, Source: ledger.Source{Kind: ledger.SourceOperator},
		Actor: by.Actor, ActorVerified: by.Verified, Reason: by.Reason, Plan: p.ID,
		Operation: &ledger.Operation{Action: OperationPlan, Target: p.ID, Body: body},
	}, nil
}

// packed is how compressed bytes begin; JSON cannot.
var packed = []byte{0x28, 0xb5, 0x2f, 0xfd}

// StoredPlan is a plan as it lies in the ledger.
type StoredPlan struct {
	Seq  uint64
	By   By
	Plan *Plan
}

// Plans yields the plans of a cluster that are stored, oldest first. One that cannot be read is
// [ErrPlanFile], which does not end the others.
func Plans(ctx context.Context, r Reader, cluster string) iter.Seq2[StoredPlan, error] {
	return PlansOf(ctx, r, cluster, func(string) bool { return true })
}

// PlansOf is [Plans] for the ids that are wanted: no other plan is unpacked.
func PlansOf(ctx context.Context, r Reader, cluster string, wanted func(id string) bool) iter.Seq2[StoredPlan, error] {
	return func(yield func(StoredPlan, error) bool) {
		for rec, err := range operations(ctx, r, cluster, OperationPlan) {
			if err != nil {
				yield(StoredPlan{}, err)
				return
			}
			if !wanted(rec.Event.Operation.Target) {
				continue
			}
			found, err := storedPlan(&rec)
			if !yield(found, err) {
				return
			}
		}
	}
}

func storedPlan(rec *ledger.Record) (StoredPlan, error) {
	ev := &rec.Event
	body := ev.Operation.Body
	if bytes.HasPrefix(body, packed) {
		var err error
		if body, err = unpacker.DecodeAll(body, nil); err != nil {
			return StoredPlan{}, fmt.Errorf("unpack the plan of record %d: %w: %w", rec.Seq, ErrPlanFile, err)
		}
	}
	p, err := ParsePlan(body)
	if err != nil {
		return StoredPlan{}, fmt.Errorf("read the plan of record %d: %w", rec.Seq, err)
	}
	return StoredPlan{Seq: rec.Seq, By: By{ev.Actor, ev.ActorVerified, ev.Reason}, Plan: p}, nil
}

// FindPlan finds a stored plan by its id; of a plan that was stored several times the first
// counts. It fails with [ErrNoPlan] if there is none.
func FindPlan(ctx context.Context, r Reader, cluster, id string) (StoredPlan, error) {
	for sp, err := range PlansOf(ctx, r, cluster, func(of string) bool { return of == id }) {
		if err != nil {
			err = fmt.Errorf("find plan %s: %w", id, err)
		}
		return sp, err
	}
	return StoredPlan{}, fmt.Errorf("find plan %s: %w", id, ErrNoPlan)
}

// PlanAmong finds a plan by its id among events that are about to be stored. It fails with
// [ErrNoPlan] if there is none.
func PlanAmong(events []ledger.Event, id string) (StoredPlan, error) {
	var cut joiner
	for i := range events {
		op := events[i].Operation
		if op == nil || op.Action != OperationPlan || op.Target != id {
			continue
		}
		if ev, whole := cut.join(&events[i]); whole {
			return storedPlan(&ledger.Record{Event: ev})
		}
	}
	return StoredPlan{}, fmt.Errorf("find plan %s: %w", id, ErrNoPlan)
}

// operations yields what operators did of one kind; an event in parts is whole.
func operations(ctx context.Context, r Reader, cluster, action string) iter.Seq2[ledger.Record, error] {
	return func(yield func(ledger.Record, error) bool) {
		last, err := r.Last(ctx)
		if err != nil || last == 0 {
			if err != nil {
				yield(ledger.Record{}, err)
			}
			return
		}
		var cut joiner
		f := ledger.Filter{Subjects: []string{ledger.OperatorSubject(cluster)}}
		for rec, err := range r.Read(ctx, 1, last, f) {
			if err != nil {
				yield(ledger.Record{}, err)
				return
			}
			if rec.Event.Operation == nil || rec.Event.Operation.Action != action {
				continue
			}
			var whole bool
			if rec.Event, whole = cut.join(&rec.Event); whole && !yield(rec, nil) {
				return
			}
		}
	}
}

// joiner makes events that were stored in parts whole.
type joiner struct{ parts []ledger.Event }

// join takes the next event, and returns it once it is whole. Parts that are of no one event were
// never stored by us, and are left out.
func (j *joiner) join(ev *ledger.Event) (ledger.Event, bool) {
	if ev.Parts == 0 {
		return *ev, true
	}
	if j.parts = gather(j.parts, ev); j.parts == nil || int(ev.Parts) != len(j.parts) {
		return ledger.Event{}, false
	}
	whole, err := ledger.Join(j.parts)
	j.parts = nil
	return whole, err == nil
}

// gather adds a part to those before it, if it follows them.
func gather(parts []ledger.Event, ev *ledger.Event) []ledger.Event {
	var of uuid.UUID
	if len(parts) > 0 {
		of = parts[0].ID
	}
	switch {
	case ev.Part == 1:
		parts = nil
	case ev.ID != of || int(ev.Part) != len(parts)+1:
		return nil
	}
	return append(parts, ev.Clone())
}
