package projection

import (
	"strconv"

	"github.com/google/uuid"

	"github.com/offsetledger/offsetledger/ledger"
)

// Movement says how a row moved the committed offset of its partition.
type Movement uint8

// The movements.
const (
	MovementNone       Movement = iota // the row changed nothing that a client could read
	MovementAdvance                    // forward, as reading does
	MovementRecommit                   // the same offset again
	MovementRewind                     // backward
	MovementJump                       // forward, but by no member, or further than reading could
	MovementReset                      // set by an operator or command of ours, with actor and reason
	MovementDeleted                    // the offset went away
	MovementExpired                    // the broker's retention removed the offset
	MovementAfterLoss                  // a commit where an offset had been deleted or had expired
	MovementRolledBack                 // the broker lost what clients could already read
	MovementRecreated                  // a commit to another topic of the same name
)

var movementNames = [...]string{
	MovementNone: "-", MovementAdvance: "advance", MovementRecommit: "recommit", MovementRewind: "rewind",
	MovementJump: "jump", MovementReset: "reset", MovementDeleted: "deleted", MovementExpired: "expired",
	MovementAfterLoss: "after-loss", MovementRolledBack: "rolled-back", MovementRecreated: "recreated",
}

// String is the word that users see.
func (m Movement) String() string {
	if int(m) < len(movementNames) {
		return movementNames[m]
	}
	return "movement-" + strconv.Itoa(int(m))
}

// Notable reports whether a movement is one that somebody has to look at: all are but an
// advance, a recommit, and none.
func (m Movement) Notable() bool {
	return m != MovementAdvance && m != MovementRecommit && m != MovementNone
}

// ParseMovement is the inverse of [Movement.String]. It is false for a word that is no movement.
func ParseMovement(s string) (Movement, bool) {
	for m, name := range movementNames {
		if name == s {
			return Movement(m), true
		}
	}
	return 0, false
}

// Value is a committed offset, or the absence of one.
type Value struct {
	At     int64 // the next offset to read; meaningless unless Exists
	Exists bool
}

// Change is what folding one row did to one partition of one group.
type Change struct {
	Seq       uint64 // of the record that holds the row; of an event in parts, the last of them
	Row       int    // index of the row in its event, which may be in parts
	Time      ledger.Time
	Cluster   string
	Group     string
	Topic     string
	TopicID   uuid.UUID
	Partition int32
	From, To  Value
	// Lost is, of after-loss, the offset that had gone away before.
	Lost       Value
	Movement   Movement
	Who        *Who   // never nil; shared between Changes, so not to be written to
	Evidence   string // of a jump: what makes it one; empty otherwise
	CommitTime ledger.Time
	NotBefore  ledger.Time
	Metadata   string
	// Source, Actor, Reason and Plan are those of the event, or of the event that explains it:
	// a row that the tail saw of our own reset carries the actor of the intent.
	Source        ledger.Source
	Actor         string
	ActorVerified bool
	Reason        string
	Plan          string
	Cause         ledger.Cause
	CauseInferred bool
	// Twin says that the other of manager and tail is to tell of the same commit, later. It changes
	// nothing then, and is one of [State.Twins].
	Twin bool
	// Also is who told the same commit too; 0 if that is not known. The fold never knows it: it is
	// for whoever keeps the Change until the twin has come.
	Also ledger.SourceKind
}

// Moment is when the Change came true by the clock that a state as of a time goes by; rec is the
// record that made it. What a manager or operator tells of itself counts from when it was stored.
func (c *Change) Moment(rec *ledger.Record) ledger.Time { return moment(rec, c.Time) }

// WhoKind says how much is known of who caused a row.
type WhoKind uint8

// The kinds of who, from the surest down.
const (
	WhoUnknown        WhoKind = iota
	WhoMember                 // metadata or assignment names one member
	WhoMembersPresent         // some member could have done it
	WhoNoMember               // the group had no member: an admin tool or an assign()-consumer
	WhoManager                // an offset manager reported it
	WhoOperator               // a command of ours did it
	WhoBroker                 // the broker itself, as in expiry
)

var whoNames = [...]string{
	WhoUnknown: "unknown", WhoMember: "member", WhoMembersPresent: "members-present", WhoNoMember: "no-member",
	WhoManager: "manager", WhoOperator: "operator", WhoBroker: "broker",
}

// String is the word that users see.
func (k WhoKind) String() string {
	if int(k) < len(whoNames) {
		return whoNames[k]
	}
	return "who-" + strconv.Itoa(int(k))
}

// Who is what the records tell of who caused a row. Kafka stores no principal and no client
// with a commit, so most of it is inferred from the group's members at that position in the
// log, and Evidence says from what.
type Who struct {
	Kind     WhoKind
	ClientID string
	MemberID string
	Host     string
	Inferred bool
	// Bare says, where no member was there, that the commit had leader epoch -1 and no metadata,
	// as admin tools write. A consumer that assigns its partitions itself can write the same.
	Bare     bool
	Evidence []string
}
