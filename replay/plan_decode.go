package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// ErrPlanFile is a file that is no plan, or not the plan that it was: see [PlanError].
var ErrPlanFile = errors.New("not a plan that can be trusted")

// PlanError says where a plan is not what it has to be. It matches [ErrPlanFile].
type PlanError struct {
	Line   int    // from 1; 0 if the field says it
	Field  string // as in groups[0].steps[3].target; empty if the line says it
	Reason string
}

func (e *PlanError) Error() string {
	var where []string
	if e.Line > 0 {
		where = append(where, fmt.Sprintf("line %d", e.Line))
	}
	if e.Field != "" {
		where = append(where, e.Field)
	}
	return strings.Join(where, ", ") + ": " + e.Reason
}

// Is makes the error match [ErrPlanFile].
func (e *PlanError) Is(target error) bool { return target == ErrPlanFile }

func planFault(field, format string, args ...any) *PlanError {
	return &PlanError{Field: field, Reason: fmt.Sprintf(format, args...)}
}

// ParsePlan reads a plan as [Plan.MarshalJSON] wrote it; spaces do not matter. What was edited,
// cut off or belongs to a newer version is refused with a [PlanError].
func ParsePlan(b []byte) (*Plan, error) {
	var head struct {
		Kind    string `json:"kind"`
		Version int    `json:"version"`
	}
	var w planJSON
	if json.Unmarshal(b, &head) != nil { // whoever reads it strictly says where
		return nil, faultOf(ledger.UnmarshalStrict(b, &w))
	}
	switch {
	case head.Kind != "plan":
		return nil, planFault("kind", "%q is not a plan", head.Kind)
	case head.Version != planVersion:
		return nil, planFault("version", "%d is not a version that this program knows; it knows %d", head.Version, planVersion)
	}
	if err := ledger.UnmarshalStrict(b, &w); err != nil {
		return nil, faultOf(err)
	}
	p, err := w.plan()
	if err != nil {
		return nil, err
	}
	return p, p.verify(&w)
}

// UnmarshalJSON is [ParsePlan].
func (p *Plan) UnmarshalJSON(b []byte) error {
	read, err := ParsePlan(b)
	if read != nil {
		*p = *read
	}
	return err
}

// faultOf says in which line or field JSON goes wrong.
func faultOf(err error) error {
	var fault *ledger.JSONError
	if !errors.As(err, &fault) {
		return planFault("plan", "%v", err)
	}
	return &PlanError{Line: fault.Line, Field: fault.Field, Reason: fault.Reason}
}

// verify looks whether a plan is what was written: first whatever follows from the rest, since
// that names the field, then the digest over everything.
func (p *Plan) verify(w *planJSON) error {
	again := p.written()
	for i := range w.Groups {
		if err := sameGroup(fmt.Sprintf("groups[%d]", i), &w.Groups[i], &again.Groups[i]); err != nil {
			return err
		}
	}
	switch {
	case w.Executable != again.Executable:
		return planFault("executable", "%t does not follow from the groups of the plan: it was edited", w.Executable)
	case strings.Join(w.Blocked, "\n") != strings.Join(again.Blocked, "\n"):
		return planFault("blocked", "it does not follow from the groups of the plan: it was edited")
	case p.Digest != p.digest():
		return planFault("digest", "it is not that of the plan: something in it was edited")
	case len(p.ID) < 6 || p.ID[0] != 'p' || !strings.HasPrefix(p.Digest, p.ID[1:]):
		return planFault("id", "%q does not follow from the digest: it was edited", p.ID)
	}
	return nil
}

func sameGroup(field string, w, again *groupJSON) error {
	for i := range w.Steps {
		a, b := &w.Steps[i], &again.Steps[i]
		for _, n := range []struct {
			name  string
			is, b *int64
		}{{"skips", a.Skips, b.Skips}, {"replays", a.Replays, b.Replays}} {
			if (n.is == nil) != (n.b == nil) || n.is != nil && *n.is != *n.b {
				return planFault(fmt.Sprintf("%s.steps[%d].%s", field, i, n.name), "it does not follow from current, target and action: the step was edited")
			}
		}
	}
	for _, n := range []struct {
		name  string
		is, b int64
	}{
		{"set", int64(w.Set), int64(again.Set)}, {"kept", int64(w.Kept), int64(again.Kept)},
		{"deleted", int64(w.Deleted), int64(again.Deleted)}, {"refused", int64(w.Refused), int64(again.Refused)},
		{"skips", w.Skips, again.Skips}, {"replays", w.Replays, again.Replays}, {"uncounted", int64(w.Uncounted), int64(again.Uncounted)},
		{"commits", int64(w.Commits), int64(again.Commits)},
	} {
		if n.is != n.b {
			return planFault(field+"."+n.name, "%d, but the steps come to %d: the plan was edited", n.is, n.b)
		}
	}
	return nil
}

// plan is what was read. Words are checked here, numbers by verify.
func (w *planJSON) plan() (*Plan, error) {
	p := &Plan{
		ID: w.ID, Digest: w.Digest, Command: w.Command, Cluster: string(w.Cluster), KafkaClusterID: string(w.KafkaClusterID),
		Incident: w.Incident, IncidentTime: w.IncidentTime, Point: string(w.Point), Made: w.Made, Seq: w.Seq, FactsAt: w.FactsAt,
		FactsProblem: w.FactsProblem,
		FromLedger:   w.Facts == "ledger", Refused: some(w.RefusedFor),
		Rules: Rules{
			Clamp: w.Rules.Clamp, AcceptExpiry: w.Rules.AcceptExpiry, AllowNewGroup: w.Rules.AllowNewGroup,
			AllowNewTopic: w.Rules.AllowNewTopic, DeleteAbsent: w.Rules.DeleteAbsent, AnyCluster: w.Rules.AnyCluster,
			ForceStreams: w.Rules.ForceStreams,
		},
	}
	if w.Facts != "kafka" && w.Facts != "ledger" {
		return nil, planFault("facts", "%q is neither kafka nor ledger", w.Facts)
	}
	if p.Command != CommandRestore && p.Command != CommandReset {
		return nil, planFault("command", "%q is neither restore nor reset", p.Command)
	}
	var ok bool
	if p.Clock, ok = wordOf[Clock](clockNames[:], w.Clock); !ok {
		return nil, planFault("clock", "%q is no clock", w.Clock)
	}
	if p.Rules.Direction, ok = ParseDirection(w.Rules.Direction); !ok {
		return nil, planFault("rules.direction", "%q is no direction", w.Rules.Direction)
	}
	for i := range w.Groups {
		g, err := w.Groups[i].group(fmt.Sprintf("groups[%d]", i))
		if err != nil {
			return nil, err
		}
		p.Groups = append(p.Groups, g)
	}
	return p, nil
}

func (w *groupJSON) group(field string) (PlanGroup, error) {
	g := PlanGroup{Group: string(w.Group), State: w.State, New: w.New, Blocked: some(w.Blocked), Refused: some(w.RefusedFor)}
	var ok bool
	if g.Type, ok = typeOf(w.Type); !ok {
		return g, planFault(field+".type", "%q is no type of a group", w.Type)
	}
	for _, m := range w.Members {
		g.Members = append(g.Members, PlanMember{
			ID: string(m.ID), InstanceID: string(m.InstanceID), ClientID: string(m.ClientID), Host: string(m.Host), HeldUntil: m.HeldUntil,
		})
	}
	for i := range w.Steps {
		s, err := w.Steps[i].step(fmt.Sprintf("%s.steps[%d]", field, i))
		if err != nil {
			return g, err
		}
		g.Steps = append(g.Steps, s)
	}
	for _, tp := range w.Untouched {
		g.Untouched = append(g.Untouched, ledger.TopicPartition{Topic: string(tp.Topic), Partition: tp.Partition})
	}
	for _, tp := range w.LeftOut {
		g.LeftOut = append(g.LeftOut, ledger.TopicPartition{Topic: string(tp.Topic), Partition: tp.Partition})
	}
	return g, nil
}

func (w *stepJSON) step(field string) (Step, error) {
	s := Step{
		Topic: string(w.Topic), Partition: w.Partition, Current: value(w.Current), Target: value(w.Target),
		LeaderEpoch: w.Epoch, Recorded: w.Recorded, RecordedEpoch: w.RecordedEpoch, Metadata: string(w.Metadata), ExpiresAt: w.ExpiresAt, Reason: w.Reason,
	}
	if w.TopicID != nil {
		s.TopicID = *w.TopicID
		if s.TopicID == uuid.Nil {
			return s, planFault(field+".topic_id", "an unknown id is null")
		}
	}
	switch n := (w.LogStart != nil) == (w.LogEnd != nil) && (w.LogStart != nil) == (w.LastStable != nil); {
	case !n:
		return s, planFault(field+".log_start_offset", "the bounds of a log are known together or not at all")
	case w.LogStart != nil:
		s.Log = &Bounds{Start: *w.LogStart, LastStable: *w.LastStable, End: *w.LogEnd}
	}
	var ok bool
	if s.Action, ok = wordOf[Action](actionNames[:], w.Action); !ok {
		return s, planFault(field+".action", "%q is no action; they are %s", w.Action, strings.Join(actionNames[:], ", "))
	}
	if s.Only, ok = ParseDirection(w.Only); !ok {
		return s, planFault(field+".only", "%q is no direction", w.Only)
	}
	if (s.Action == ActionSet) && (!s.Target.Exists || s.Target.At < 0) {
		return s, planFault(field+".target", "a step that sets an offset needs one, from 0 on")
	}
	return s, nil
}

func value(n *int64) projection.Value {
	if n == nil {
		return projection.Value{}
	}
	return projection.Value{At: *n, Exists: true}
}

// some is nil if there is nothing.
func some(words []string) []string {
	if len(words) == 0 {
		return nil
	}
	return words
}

func typeOf(word string) (ledger.GroupType, bool) {
	for t := ledger.GroupTypeUnknown; t <= ledger.GroupTypeStreams; t++ {
		if t.String() == word {
			return t, true
		}
	}
	return 0, false
}
