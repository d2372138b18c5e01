package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// OperationAnnotate is the action of the operator event that says afterwards why an incident was:
// its target is the id of the incident, its body {"incident": id, "group": name}, its reason the
// reason. The events of the incident stay as they are.
const OperationAnnotate = "annotate"

// ErrHasReason is an incident whose own events say why it was.
var ErrHasReason = errors.New("the incident has a reason of its own")

// Annotation is a reason that somebody gave for an incident afterwards.
type Annotation struct {
	Seq  uint64
	Time ledger.Time
	By   By
}

// AnnotationEvent is the event that says why an incident was. It fails with [ErrHasReason] where
// whoever did it has said so then.
func AnnotationEvent(in *projection.Incident, by By, at ledger.Time) (ledger.Event, error) {
	if in.Reason != "" {
		return ledger.Event{}, fmt.Errorf("annotate %s: %w, which is not edited: %s", in.ID(), ErrHasReason, ledger.Spell(in.Reason))
	}
	body, err := json.Marshal(struct {
		Incident string `json:"incident"`
		Group    string `json:"group"`
	}{in.ID(), ledger.Spell(in.Group)})
	if err != nil {
		return ledger.Event{}, fmt.Errorf("annotate %s: %w", in.ID(), err)
	}
	return ledger.Event{
		Kind: ledger.KindOperator, Cluster: in.Cluster, Time: at, Source: ledger.Source{Kind: ledger.SourceOperator},
		Actor: by.Actor, ActorVerified: by.Verified, Reason: by.Reason,
		Operation: &ledger.Operation{Action: OperationAnnotate, Target: in.ID(), Body: body},
	}, nil
}

// Annotations are the reasons that were given afterwards for the incidents of a cluster. They are
// read when they are asked for, and each only once. Safe for use by several goroutines.
type Annotations struct {
	mu    sync.Mutex // guards all below
	from  operators
	given map[string][]Annotation
}

// NewAnnotations returns the annotations that r holds of a cluster.
func NewAnnotations(r Reader, cluster string) *Annotations {
	return &Annotations{from: operators{reader: r, cluster: cluster}, given: map[string][]Annotation{}}
}

// Through returns the annotations up to a sequence at least, by the ids of their incidents, of
// each the oldest first. They are not to be written to.
func (a *Annotations) Through(ctx context.Context, seq uint64) (map[string][]Annotation, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	err := a.from.read(ctx, seq, OperationAnnotate, func(rec *ledger.Record) {
		ev := &rec.Event
		if ev.Reason != "" {
			id := ev.Operation.Target
			a.given[id] = append(a.given[id], Annotation{rec.Seq, ev.Time, By{ev.Actor, ev.ActorVerified, ev.Reason}})
		}
	})
	if err != nil {
		return nil, fmt.Errorf("read why incidents were: %w", err)
	}
	return maps.Clone(a.given), nil
}
