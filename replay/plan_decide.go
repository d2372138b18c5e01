package replay

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// ExpiryPatience is how long restored offsets have to live: a plan whose offsets the broker can
// remove sooner, if nobody commits, is refused unless that is accepted.
const ExpiryPatience = 15 * time.Minute

// want is where one partition of a group is to be, before anybody has looked whether it can be.
type want struct {
	tp      ledger.TopicPartition
	target  projection.Value // none: the offset is to be absent
	topicID uuid.UUID        // of the topic that the target belongs to; zero: unknown
	since   ledger.Time      // when the target was committed; unknown: it is no row
	// recorded says that the target is a row that was committed, with its epoch and metadata. Of
	// any other target nobody knows them.
	recorded bool
	epoch    ledger.Epoch
	metadata string
	only     Direction
	note     string // to be known of the target
	refused  string // why there is no target
	kept     string // why nothing is to be done
	sought   bool   // it was named, and the history does not know it: it has to exist
}

// decider decides about the steps of one group.
type decider struct {
	rules Rules
	facts *Facts
	group *GroupFacts
	ever  map[string]bool // topics that the group has committed to; nil: nobody asks
}

// step decides what is done to a partition. The first rule that holds decides, and what cannot
// be done is refused before anything else is said of it.
func (d *decider) step(w want) Step {
	s := Step{
		Topic: w.tp.Topic, Partition: w.tp.Partition, TopicID: w.topicID, Target: w.target,
		Recorded: w.recorded, RecordedEpoch: w.epoch, Metadata: w.metadata, Only: w.only, Reason: w.note,
	}
	if row := d.group.Row(w.tp); row != nil {
		s.Current = projection.Value{At: row.At, Exists: true}
	}
	part, why := d.partition(w.tp, &s)
	if part != nil {
		s.Log = part.Log
	}
	switch {
	case w.kept != "":
		s.Reason = w.kept
		return s
	case w.refused != "":
		return refuse(s, w.refused)
	case why != "" && (s.Target.Exists || s.Current.Exists || w.sought):
		return refuse(s, why)
	case !s.Target.Exists:
		return d.absent(s)
	case d.ever != nil && !d.rules.AllowNewTopic && !d.ever[w.tp.Topic]:
		return refuse(s, "the group has never committed to this topic; rule allow_new_topic if that is meant")
	case s.past():
		return keep(s, d.pastWords(&s))
	}
	if why := d.bound(&s, &w); why != "" {
		return refuse(s, why)
	}
	return d.reach(s, w, part)
}

// past reports whether to reach the target a step would have to go the other way than it may.
func (s Step) past() bool {
	s.Action = ActionSet
	way := s.Way()
	return way != DirectionAny && (s.Only == DirectionForward || s.Only == DirectionBack) && way != s.Only
}

// pastWords is why such a step is kept.
func (d *decider) pastWords(s *Step) string {
	if d.rules.Direction == s.Only {
		return "to be moved " + s.Only.String() + " only"
	}
	return "already past target"
}

func refuse(s Step, why string) Step {
	s.Action, s.Reason = ActionRefuse, why
	return s
}

func keep(s Step, why string) Step {
	s.Action, s.Reason = ActionKeep, why
	return s
}

// partition finds what is known of a partition, or why nothing can be committed to it. It gives
// a step whose topic id is not known that of the topic.
func (d *decider) partition(tp ledger.TopicPartition, s *Step) (*PartitionFacts, string) {
	t := d.facts.Topic(tp.Topic)
	switch {
	case t == nil:
		return nil, "nothing is known of the topic"
	case t.Problem != "":
		return nil, "the topic could not be asked: " + t.Problem
	case !t.Exists:
		return nil, "the topic is gone"
	}
	part := t.Find(tp.Partition)
	switch {
	case s.TopicID != uuid.Nil && t.ID != uuid.Nil && s.TopicID != t.ID:
		return part, fmt.Sprintf("the topic was deleted and made again (%s was %s): its offsets mean other records", t.ID, s.TopicID)
	case part == nil:
		return nil, fmt.Sprintf("the topic has no such partition; it has %d", len(t.Partitions))
	}
	if s.TopicID == uuid.Nil {
		s.TopicID = t.ID
	}
	return part, ""
}

// absent decides about a partition that had no offset.
func (d *decider) absent(s Step) Step {
	switch {
	case !s.Current.Exists:
		return keep(s, "nothing is committed, as then")
	case d.rules.DeleteAbsent:
		s.Action, s.Reason = ActionDelete, "nothing was committed then"
		return s
	}
	return keep(s, "nothing was committed then; rule delete_absent to delete what is now")
}

// bound holds the target against the log, and returns why it cannot be committed. A target that
// is moved to an end of the log is no recorded row any more.
func (d *decider) bound(s *Step, w *want) string {
	at := s.Target.At
	var to int64
	switch {
	case s.Log == nil && d.facts.FromLedger:
		w.note = join(w.note, "the log was never observed, so its bounds are not known")
		return ""
	case s.Log == nil:
		return "the bounds of the log could not be had"
	case at < s.Log.Start:
		to = s.Log.Start
		w.note = join(w.note, ledger.Count(s.Log.Start-at, "record")+" gone")
	case at > s.Log.End:
		to = s.Log.End
		w.note = join(w.note, fmt.Sprintf("%d beyond the end", at-s.Log.End))
	default:
		return ""
	}
	switch {
	case d.rules.Clamp:
		s.Target.At, w.recorded, w.epoch, w.metadata = to, false, ledger.Epoch{}, ""
		s.Recorded, s.RecordedEpoch, s.Metadata = false, w.epoch, w.metadata
		w.note = join(w.note, fmt.Sprintf("%d is not in the log", at))
		return ""
	case at < s.Log.Start:
		return fmt.Sprintf("the log starts at %d, with %s gone; rule clamp to begin there", s.Log.Start, ledger.Count(s.Log.Start-at, "record"))
	}
	return fmt.Sprintf("the log ends at %d, %d before the target; rule clamp to go there", s.Log.End, at-s.Log.End)
}

// reach decides about a target that can be committed.
func (d *decider) reach(s Step, w want, part *PartitionFacts) Step {
	var why string
	s.LeaderEpoch, why = d.epoch(&s, &w, part)
	switch {
	case d.same(&s, &w):
		return keep(s, join("already there", w.note))
	case s.past():
		return keep(s, d.pastWords(&s))
	}
	s.Action, s.Reason = ActionSet, w.note
	if why != "" {
		s.Reason = join(s.Reason, why)
	}
	return d.expire(s)
}

// same reports whether what is committed is what would be.
func (d *decider) same(s *Step, w *want) bool {
	row := d.group.Row(w.tp)
	if row == nil || row.At != s.Target.At {
		return false
	}
	return !w.recorded || row.Metadata == s.Metadata && (row.LeaderEpoch == s.LeaderEpoch || !s.LeaderEpoch.Known())
}

// epoch is the leader epoch that is committed with a target: the recorded one where it can do no
// harm. One that is too high hangs a consumer in silence, one that is too low sends it back.
func (d *decider) epoch(s *Step, w *want, part *PartitionFacts) (ledger.Epoch, string) {
	e := w.epoch
	switch {
	case !w.recorded || !e.Known() || d.facts.FromLedger: // of the last the plan speaks as a whole
		return ledger.Epoch{}, ""
	case w.topicID == uuid.Nil || d.facts.Topic(w.tp.Topic).ID == uuid.Nil:
		return ledger.Epoch{}, "without epoch " + e.String() + ": nobody knows whether it is the same topic"
	case !part.Epoch.Known() || e.Kafka() > part.Epoch.Kafka():
		return ledger.Epoch{}, "without epoch " + e.String() + ": the partition is at epoch " + part.Epoch.String()
	}
	end, ok := part.end(e)
	switch {
	case !ok:
		return ledger.Epoch{}, "without epoch " + e.String() + ": the brokers do not say where it ended"
	case end < s.Target.At:
		return ledger.Epoch{}, "without epoch " + e.String() + ": it ended before the target"
	}
	return e, ""
}

// expire says when the broker can remove the offset again, and refuses one that it would remove
// too soon.
func (d *decider) expire(s Step) Step {
	g := d.group
	if d.facts.Retention <= 0 || len(g.Members) > 0 {
		return s
	}
	from := d.facts.At
	if g.Exists && g.Type == ledger.GroupTypeClassic && !g.Simple {
		from = g.EmptySince
	}
	s.ExpiresAt = from.Add(d.facts.Retention)
	left, ok := s.ExpiresAt.Sub(d.facts.At)
	if !ok || left >= ExpiryPatience {
		return s
	}
	why := fmt.Sprintf("the group is empty since %s, so the broker removes the offset from %s on", g.EmptySince, s.ExpiresAt)
	if d.rules.AcceptExpiry {
		s.Reason = join(s.Reason, why)
		return s
	}
	return refuse(s, why+"; rule accept_expiry if the group starts before")
}

func join(a, b string) string {
	switch {
	case a == "":
		return b
	case b == "":
		return a
	}
	return a + "; " + b
}
