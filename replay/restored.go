package replay

import (
	"context"
	"fmt"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// RestoredStep is what a restore has done to one partition, by what was recorded.
type RestoredStep struct {
	Group     string
	Topic     string
	Partition int32
	Before    projection.Value // what was committed when it was begun; of a step that was not, when the plan was made
	Target    projection.Value // what was to be committed; none: nothing was
	Result    StepResult
	Code      int16 // of refused: Kafka's error code
}

// StepResult is what has become of a step.
type StepResult string

// The results of steps.
const (
	StepWritten  StepResult = "written"   // committed, and read back
	StepDeleted  StepResult = "deleted"   // deleted, and read back
	StepRefused  StepResult = "refused"   // the broker did not accept it
	StepOpen     StepResult = "open"      // begun, and nothing was recorded of it since
	StepNotBegun StepResult = "not begun" // the restore was interrupted before it
	StepKept     StepResult = "kept"      // the plan leaves it alone
)

// RestoredSteps returns what a restore of a plan has done to every partition of it.
func RestoredSteps(ctx context.Context, log Reader, rec *RestoreRecord, p *Plan) ([]RestoredStep, error) {
	var out []RestoredStep
	for i := range p.Groups {
		g := &p.Groups[i]
		past, err := readPast(ctx, log, p.Cluster, g.Group, p.ID, rec.Seq, rec.Until)
		if err != nil {
			return nil, fmt.Errorf("read restore %s: %w", rec.Restore, err)
		}
		for j := range g.Steps {
			out = append(out, past.step(g.Group, &g.Steps[j]))
		}
	}
	return out, nil
}

// step is what has become of a step of the plan.
func (p *pastRun) step(group string, s *Step) RestoredStep {
	key := s.Key()
	out := RestoredStep{Group: group, Topic: s.Topic, Partition: s.Partition, Before: s.Current, Target: s.Target, Result: StepNotBegun}
	if _, begun := p.intended[key]; begun {
		out.Result, out.Before = StepOpen, projection.Value{}
		if row, had := p.before[key]; had {
			out.Before = projection.Value{At: row.At, Exists: true}
		}
	}
	code, failed := p.failed[key]
	switch {
	case s.Action == ActionKeep:
		out.Result = StepKept
	case p.recorded[key] && s.Action == ActionDelete:
		out.Result = StepDeleted
	case p.recorded[key]:
		out.Result = StepWritten
	case failed:
		out.Result, out.Code = StepRefused, code
	}
	return out
}

// fail takes in the error codes of an event that says what a broker refused.
func (p *pastRun) fail(ev *ledger.Event) {
	for i := range ev.Offsets {
		r := &ev.Offsets[i]
		p.failed[ledger.TopicPartition{Topic: r.Topic, Partition: r.Partition}] = r.ErrorCode
	}
}
