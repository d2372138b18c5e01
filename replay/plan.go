package replay

import (
	"strings"

	"github.com/google/uuid"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// Plan is what a restore or a reset would do to every partition, worked out before anything is
// touched. [NewDraft] begins one, [Draft.Inquiry] says what has to be known of Kafka, and
// [Draft.Plan] makes it of that; [PlanRestore] and [PlanReset] do so at once where it is known
// already. They are pure: of the same history and the same [Facts] they make the same plan, digest
// and all. A plan is data; [Apply] carries it out.
//
// A plan pins targets, topic ids, log starts and metadata, and not what is committed now:
// [Plan.Renew] works it out anew from later Facts.
type Plan struct {
	// ID is "p" and the first digits of Digest; Digest is the SHA-256, in hexadecimal, of the
	// plan's JSON without the two. Both are empty until [Plan.Seal].
	ID, Digest string
	Command    string // CommandRestore or CommandReset
	Cluster    string // as the ledger knows it
	// KafkaClusterID is the cluster's own id, as brokers report it; empty if that is unknown.
	KafkaClusterID string
	Incident       string // id of the incident that it repairs; empty if it was asked for otherwise
	// IncidentTime is when the incident happened; unknown of plans that were stored without.
	IncidentTime ledger.Time
	Point        string // where to, as it is spelled: a Point of the history, or a target of reset
	Clock        Clock
	Made         ledger.Time // the moment that was now, for all partitions
	Seq          uint64      // last sequence of the ledger that it takes into account
	// FromLedger says that no Kafka has answered: what is said of log bounds and of the present is
	// as old as FactsAt, which is unknown if nobody can tell, and leader epochs are not known.
	FromLedger   bool
	FactsAt      ledger.Time
	FactsProblem string // why Kafka did not answer; empty if it was not asked, or did
	Rules        Rules
	Refused      []string // why none of it can be done, beside the steps that are refused
	Groups       []PlanGroup
}

// The commands that make plans.
const (
	CommandRestore = "restore" // back to what was committed at a point of the history
	CommandReset   = "reset"   // to wherever is said
)

// PlanGroup is the part of a plan that is about one group.
type PlanGroup struct {
	Group   string
	State   string // in Kafka's words; Dead if there is no such group
	Type    ledger.GroupType
	Members []PlanMember
	New     bool     // the group does not exist, and would be made
	Blocked []string // why it cannot be done now; that can clear by itself
	Refused []string // why it cannot be done at all
	Steps   []Step   // sorted by topic and partition
	// Untouched are the partitions of the group that the plan is not about. LeftOut are those that
	// the incident moved and that were not picked to be put back.
	Untouched, LeftOut []ledger.TopicPartition
}

// PlanMember is a member that keeps a group from being written to.
type PlanMember struct {
	ID         string
	InstanceID string // of a static member
	ClientID   string
	Host       string
	// HeldUntil is, of a static member, until when at the latest it is in the group if it stops
	// now; unknown if its session timeout is.
	HeldUntil ledger.Time
}

// Step is what a plan does to one partition of one group.
type Step struct {
	Topic     string
	TopicID   uuid.UUID // that the target belongs to; the zero UUID is unknown
	Partition int32
	Current   projection.Value // committed when the plan was made
	Target    projection.Value // to be committed; none: the offset is to be absent
	// Recorded says that the target is a row that was committed once, with RecordedEpoch and
	// Metadata. LeaderEpoch, which is written with it, is that epoch if it can do no harm.
	Recorded      bool
	RecordedEpoch ledger.Epoch
	LeaderEpoch   ledger.Epoch
	Metadata      string
	Log           *Bounds // nil if they are not known
	Action        Action
	Only          Direction   // the only way that the step may go; zero: any
	ExpiresAt     ledger.Time // when the broker can remove the offset again if nobody commits; unknown if it cannot, or that is not known
	Reason        string      // why it is kept or refused, or what is to be known of it
}

// Bounds are how far the log of a partition reaches.
type Bounds struct {
	Start      int64 `json:"start"`       // first offset that is still there
	LastStable int64 `json:"last_stable"` // first offset of an open transaction, else End
	End        int64 `json:"end"`         // next offset to be written
}

// Key is the partition of a step.
func (s *Step) Key() ledger.TopicPartition {
	return ledger.TopicPartition{Topic: s.Topic, Partition: s.Partition}
}

// Row is what is written of a step whose action is set.
func (s *Step) Row() ledger.Offset {
	return ledger.Offset{
		Topic: s.Topic, TopicID: s.TopicID, Partition: s.Partition, At: s.Target.At,
		LeaderEpoch: s.LeaderEpoch, Metadata: s.Metadata,
	}
}

// Moves returns how many offsets are skipped and how many replayed if a step is carried out. It
// is false if nothing is committed now, or nothing is to be: then nobody can tell.
func (s *Step) Moves() (skips, replays int64, ok bool) {
	switch {
	case s.Action != ActionSet && s.Action != ActionDelete:
		return 0, 0, true
	case !s.Current.Exists || !s.Target.Exists || s.Current.At < 0:
		return 0, 0, false
	}
	d := s.Target.At - s.Current.At
	return max(d, 0), max(-d, 0), true
}

// Way is the direction in which a step moves its partition; zero if it does not, or if that
// cannot be said.
func (s *Step) Way() Direction {
	skips, replays, _ := s.Moves()
	switch {
	case skips > 0:
		return DirectionForward
	case replays > 0:
		return DirectionBack
	}
	return DirectionAny
}

// Rules are what a plan was allowed when it was made. The zero Rules allow nothing that has to
// be asked for.
type Rules struct {
	Direction     Direction // of the whole plan
	Clamp         bool      // a target outside the log becomes the nearest end of it
	AcceptExpiry  bool      // also offsets that the broker can remove within [ExpiryPatience]
	AllowNewGroup bool      // make the group if it does not exist
	AllowNewTopic bool      // also topics that the group has never committed to
	DeleteAbsent  bool      // delete offsets that did not exist at the point
	AnyCluster    bool      // also if the ledger captured another cluster of this name
	ForceStreams  bool      // also groups of Kafka Streams
}

// BlockedActive is why nothing can be written to a group that has members.
const BlockedActive = "group active"

// Blocked is why a plan cannot be carried out now, and can be later; none if nothing is in its
// way.
func (p *Plan) Blocked() []string {
	var out []string
	for i := range p.Groups {
		g := &p.Groups[i]
		for _, why := range g.Blocked {
			if len(p.Groups) > 1 {
				why = "group " + ledger.Spell(g.Group) + ": " + strings.TrimPrefix(why, "group ")
			}
			out = append(out, why)
		}
	}
	return out
}

// Impossible reports whether something in the plan can never be done: then none of it is.
func (p *Plan) Impossible() bool {
	refused := len(p.Refused) > 0 || p.Sums().Refused > 0
	for i := range p.Groups {
		refused = refused || len(p.Groups[i].Refused) > 0
	}
	return refused
}

// Executable reports whether the plan can be carried out as things stood when it was made.
func (p *Plan) Executable() bool { return !p.Impossible() && len(p.Blocked()) == 0 }
