package replay

import (
	"errors"
	"fmt"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// job is what is to be done to one group.
type job struct {
	was, now *PlanGroup // by the plan, and by what is true now
	facts    *GroupFacts
	past     *pastRun
	drift    Drift

	set     []ledger.Offset         // to be committed
	drop    []ledger.TopicPartition // to be deleted
	before  []ledger.Offset         // what is committed of both
	settled []ledger.Offset         // done by an earlier run, and not recorded
	cleared []ledger.TopicPartition // deleted by an earlier run, and not recorded
	changed []string                // what an earlier run began and somebody else has changed
	gone    int                     // deletions that an earlier run has done and recorded

	fresh    []int // steps that no earlier run has begun
	refused  map[ledger.TopicPartition]RefusedRow
	accepted []ledger.Offset // rows that the broker has accepted
	deleted  []ledger.TopicPartition
	out      RestoredGroup
}

func newJob(was, now *PlanGroup, facts *GroupFacts, past *pastRun) *job {
	if facts == nil {
		facts = &GroupFacts{Name: was.Group}
	}
	if past == nil {
		past = &pastRun{}
	}
	j := &job{was: was, now: now, facts: facts, past: past, out: RestoredGroup{Group: was.Group}}
	for i := range was.Steps {
		s := &was.Steps[i]
		key := s.Key()
		switch _, begun := past.intended[key]; {
		case past.recorded[key]:
			j.out.Earlier++
			if past.written[key].At < 0 {
				j.gone++
			}
		case begun:
			j.goOn(key, &now.Steps[i])
		default:
			j.fresh = append(j.fresh, i)
			j.take(&now.Steps[i])
		}
	}
	return j
}

// take plans a step that no earlier run has begun.
func (j *job) take(s *Step) {
	switch s.Action {
	case ActionSet:
		j.set = append(j.set, s.Row())
	case ActionDelete:
		j.drop = append(j.drop, s.Key())
	default:
		j.out.Kept++
		return
	}
	if row := j.facts.Row(s.Key()); row != nil {
		j.before = append(j.before, *row)
	}
}

// goOn plans a step that an earlier run has begun: it is done, or it is still to be done. What
// is neither what was there before nor what was to be has been changed by somebody else, and is
// not for us to change again.
func (j *job) goOn(key ledger.TopicPartition, s *Step) {
	want, row := j.past.intended[key], j.facts.Row(key)
	was, had := j.past.before[key]
	gone := want.At < 0
	switch {
	case gone && row == nil:
		j.cleared = append(j.cleared, key)
	case !gone && row != nil && row.At == want.At && row.Metadata == want.Metadata && row.LeaderEpoch == want.LeaderEpoch:
		j.settled = append(j.settled, want)
	case had != (row != nil), had && row.At != was.At:
		now := projection.Value{}
		if row != nil {
			now = projection.Value{At: row.At, Exists: true}
		}
		j.changed = append(j.changed, fmt.Sprintf("%s %s/%d: %s is committed, which is neither what was before nor what was to be, so that "+
			"somebody has moved it since the run that was interrupted", ledger.Spell(j.was.Group), ledger.Spell(key.Topic), key.Partition, told(now)))
		return
	case gone:
		j.drop = append(j.drop, key)
	default:
		want.TopicID = s.TopicID
		j.set = append(j.set, want)
	}
	if had {
		j.before = append(j.before, was)
	}
}

func told(v projection.Value) string {
	if !v.Exists {
		return "nothing"
	}
	return fmt.Sprint(v.At)
}

// pending reports whether something is still to be written.
func (j *job) pending() bool { return len(j.set)+len(j.drop) > 0 }

// holds says what is not any more as the plan has it. Steps that an earlier run has begun are
// not looked at: they were as the plan says then.
func (j *job) holds(id string, strict bool) []string {
	was, now := *j.was, *j.now
	was.Steps, now.Steps = nil, nil
	for _, i := range j.fresh {
		was.Steps, now.Steps = append(was.Steps, j.was.Steps[i]), append(now.Steps, j.now.Steps[i])
	}
	if len(j.fresh) < len(j.was.Steps) {
		now.Refused = nil // a group that was made has not gone
	}
	drift, err := (&Plan{ID: id, Groups: []PlanGroup{was}}).Holds(&Plan{Groups: []PlanGroup{now}})
	j.drift = drift
	changed := j.changed
	if stale := (*StaleError)(nil); errors.As(err, &stale) {
		changed = append(changed, stale.Changed...)
	}
	if strict && len(changed) == 0 && drift != (Drift{}) {
		changed = append(changed, fmt.Sprintf("%s: what is committed has moved in %s", ledger.Spell(j.was.Group), ledger.Count(drift.Moved+drift.Appeared+drift.Absent, "partition")))
	}
	return changed
}

// intents are the rows of an intent: of a partition whose offset is deleted only the key means
// something.
func (j *job) intents() []ledger.Offset {
	rows := append([]ledger.Offset(nil), j.set...)
	for _, tp := range j.drop {
		rows = append(rows, ledger.Offset{Topic: tp.Topic, Partition: tp.Partition, At: noOffset})
	}
	return rows
}

// noOffset stands in rows of which only the key means something.
const noOffset = -1

// answered takes over what the broker said of rows.
func (j *job) answered(rows []ledger.Offset, deleted bool) {
	for i := range rows {
		r := rows[i]
		key := ledger.TopicPartition{Topic: r.Topic, Partition: r.Partition}
		code := r.ErrorCode
		r.ErrorCode = 0
		switch {
		case code != 0:
			j.refuse(RefusedRow{Topic: r.Topic, Partition: r.Partition, Code: code})
		case deleted:
			j.deleted = append(j.deleted, key)
		default:
			j.accepted = append(j.accepted, r)
		}
	}
}

func (j *job) refuse(r RefusedRow) {
	if j.refused == nil {
		j.refused = map[ledger.TopicPartition]RefusedRow{}
	}
	j.refused[ledger.TopicPartition{Topic: r.Topic, Partition: r.Partition}] = r
}

// readBack holds what was done against what is committed after it. A row whose answer did not
// come is done if it is there.
func (j *job) readBack(facts *GroupFacts) {
	done := make(map[ledger.TopicPartition]bool, len(j.accepted)+len(j.deleted))
	for i := range j.accepted {
		done[ledger.TopicPartition{Topic: j.accepted[i].Topic, Partition: j.accepted[i].Partition}] = true
	}
	for _, key := range j.deleted {
		done[key] = true
	}
	for _, want := range j.set {
		key := ledger.TopicPartition{Topic: want.Topic, Partition: want.Partition}
		row := facts.Row(key)
		there := row != nil && row.At == want.At && row.Metadata == want.Metadata && row.LeaderEpoch == want.LeaderEpoch
		if there && !done[key] {
			j.accepted = append(j.accepted, want)
		}
		j.settle(key, there, done[key], row)
	}
	for _, key := range j.drop {
		row := facts.Row(key)
		if row == nil && !done[key] {
			j.deleted = append(j.deleted, key)
		}
		j.settle(key, row == nil, done[key], row)
	}
}

// settle notes whether a partition is as it was to be. What the broker said no to stays so.
func (j *job) settle(key ledger.TopicPartition, right, answered bool, row *ledger.Offset) {
	_, refused := j.refused[key]
	now := projection.Value{}
	if row != nil {
		now = projection.Value{At: row.At, Exists: true}
	}
	switch {
	case right:
		delete(j.refused, key)
	case answered:
		j.refuse(RefusedRow{Topic: key.Topic, Partition: key.Partition, Why: "it was written, and " + told(now) + " was read back"})
	case !refused:
		j.refuse(RefusedRow{Topic: key.Topic, Partition: key.Partition, Why: "no answer came, and " + told(now) + " is committed", Code: noAnswer})
	}
}

// noAnswer is Kafka's code of an error that nothing is known of.
const noAnswer = -1

// result is what was done.
func (j *job) result() RestoredGroup {
	j.out.Written = len(j.accepted) + len(j.settled)
	j.out.Deleted = len(j.deleted) + len(j.cleared)
	for i := range j.was.Steps {
		key := j.was.Steps[i].Key()
		r, ok := j.refused[key]
		if !ok {
			continue
		}
		switch {
		case r.Code != 0: // it was never counted
		case j.was.Steps[i].Action == ActionDelete:
			j.out.Deleted--
		default:
			j.out.Written--
		}
		j.out.Refused = append(j.out.Refused, r)
	}
	return j.out
}
