package replay

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// Undo is a restore that is to be taken back: [Undo.Plan] makes the plan of it, which is carried
// out as any other.
type Undo struct {
	plan    Plan
	written map[string]map[ledger.TopicPartition]projection.Value
}

// undoPoint is how the plan of an undo says where it goes; the id of the restore follows.
const undoPoint = "before "

// undoes is the id of the restore that a plan takes back; empty if it takes back none.
func (p *Plan) undoes() string {
	if id, ok := strings.CutPrefix(p.Point, undoPoint+"r"); ok && p.Incident == "" {
		return "r" + id
	}
	return ""
}

// NewUndo reads what a restore has done. It fails with [ErrNoUndo] if there is none of that id,
// if it was interrupted and is not finished, or if it has changed nothing.
func NewUndo(ctx context.Context, log Log, cluster, id string) (*Undo, error) {
	r := logReader{log, cluster}
	all, err := Restores(ctx, r, cluster)
	if err != nil {
		return nil, err
	}
	var found *RestoreRecord
	for i := range all {
		if all[i].Restore == id {
			found = &all[i]
		}
	}
	switch {
	case found == nil:
		return nil, fmt.Errorf("undo %s: %w: cluster %s has no such restore", id, ErrNoUndo, ledger.Spell(cluster))
	case found.Until == 0:
		return nil, fmt.Errorf("undo %s: %w: it was interrupted; finish it first: offsetledger restore apply %s", id, ErrNoUndo, found.Plan)
	}
	stored, err := FindPlan(ctx, r, cluster, found.Plan)
	if err != nil {
		return nil, fmt.Errorf("undo %s: %w", id, err)
	}
	u := &Undo{
		plan: Plan{
			Command: CommandRestore, Cluster: cluster, KafkaClusterID: stored.Plan.KafkaClusterID, Point: undoPoint + id,
			Clock: ClockSequence, Seq: found.Until, Rules: Rules{Direction: DirectionBoth, DeleteAbsent: true},
		},
		written: map[string]map[ledger.TopicPartition]projection.Value{},
	}
	for i := range stored.Plan.Groups {
		g := &stored.Plan.Groups[i]
		past, err := readPast(ctx, r, cluster, g.Group, found.Plan, found.Seq, found.Until)
		if err != nil {
			return nil, fmt.Errorf("undo %s: %w", id, err)
		}
		u.add(g, past)
	}
	if len(u.plan.Groups) == 0 {
		return nil, fmt.Errorf("undo %s: %w: it has changed nothing", id, ErrNoUndo)
	}
	return u, nil
}

// add takes over what was done to a group: each partition goes to what it was before.
func (u *Undo) add(g *PlanGroup, past *pastRun) {
	out := PlanGroup{Group: g.Group, State: g.State, Type: g.Type}
	values := map[ledger.TopicPartition]projection.Value{}
	for i := range g.Steps {
		was := &g.Steps[i]
		key := was.Key()
		row, done := past.written[key]
		if !done {
			continue
		}
		if values[key] = (projection.Value{}); row.At >= 0 {
			values[key] = projection.Value{At: row.At, Exists: true}
		}
		s := Step{Topic: was.Topic, TopicID: was.TopicID, Partition: was.Partition, Action: ActionDelete}
		if before, had := past.before[key]; had {
			s.Action, s.Target = ActionSet, projection.Value{At: before.At, Exists: true}
			s.Recorded, s.RecordedEpoch, s.Metadata = true, before.LeaderEpoch, before.Metadata
		}
		out.Steps = append(out.Steps, s)
	}
	if len(out.Steps) > 0 {
		u.plan.Groups = append(u.plan.Groups, out)
		u.written[g.Group] = values
	}
}

// Inquiry is what has to be known of the present.
func (u *Undo) Inquiry() Inquiry { return u.plan.Inquiry() }

// Plan makes the plan. Partitions that have been committed since are refused, unless that they
// are moved all the same is meant.
func (u *Undo) Plan(f Facts, rules UndoRules) (*Plan, error) {
	if u.plan.KafkaClusterID != "" && f.KafkaClusterID != "" && u.plan.KafkaClusterID != f.KafkaClusterID {
		return nil, &RefusedError{Reasons: []string{fmt.Sprintf("these brokers are Kafka cluster %s, and the restore was in %s", f.KafkaClusterID, u.plan.KafkaClusterID)}}
	}
	if f.FromLedger {
		return nil, errors.New("an undo needs a Kafka that can be asked")
	}
	u.plan.Made, u.plan.Rules.AcceptExpiry = f.At, rules.AcceptExpiry
	p := u.plan.Renew(f)
	p.FactsAt = f.At
	for i := range p.Groups {
		g := &p.Groups[i]
		for j := range g.Steps {
			s := &g.Steps[j]
			if wrote := u.written[g.Group][s.Key()]; s.Current == wrote || rules.AfterProgress || s.Action == ActionKeep {
				continue
			}
			*s = refuse(*s, fmt.Sprintf("%s was written and %s is committed since; rule after_progress to move it all the same",
				told(u.written[g.Group][s.Key()]), told(s.Current)))
		}
	}
	return p, nil
}

// UndoRules are what an undo is allowed.
type UndoRules struct {
	AfterProgress bool // also partitions that have been committed since
	AcceptExpiry  bool // also offsets that the broker can remove within [ExpiryPatience]
}
