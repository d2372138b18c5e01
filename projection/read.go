package projection

import (
	"time"

	"github.com/google/uuid"

	"github.com/offsetledger/offsetledger/ledger"
)

// GroupState is what a group was doing, in Kafka's words.
type GroupState uint8

// The states. Records tell of a rebalance only when it is over, so what lies between is not
// among them.
const (
	GroupStateUnknown            GroupState = iota
	GroupStateEmpty                         // no members
	GroupStatePreparingRebalance            // made by a first member that is still joining
	GroupStateStable                        // members
	GroupStateDeleted                       // the group is gone, its history is not
)

var groupStateNames = [...]string{"Unknown", "Empty", "PreparingRebalance", "Stable", "Deleted"}

// String is the word that users see.
func (s GroupState) String() string { return groupStateNames[s] }

// Group is one group, without its partitions.
type Group struct {
	Cluster string
	Name    string
	Type    ledger.GroupType
	State   GroupState
	Since   ledger.Time // when State began; unknown if it began before history
	// DeletedAt is when the group was deleted; unknown while it is not.
	DeletedAt    ledger.Time
	Generation   int32 // of the last group record; meaningless without one
	ProtocolType string
	Members      []Member // sorted by id; empty if none
	Simple       bool     // no group record is known: its offsets are committed by no member
	Topics       []string // sorted: topics it ever committed to
	Offsets      int      // partitions that have a committed offset
	LastSeq      uint64   // of the last record about the group that was folded
	Statistics   Statistics
}

// Member is one member of a group. Its slices belong to the State: they are never written
// to, and stay valid.
type Member struct {
	ledger.Member
	Epoch int32 // generation, or member epoch of a KIP-848 group; -2 is a static member that left for a while
}

// Statistics count what a group did since its first record.
type Statistics struct {
	Commits          uint64 // attempts: Successes and Failures
	Successes        uint64
	Failures         uint64
	OffsetsCommitted uint64 // rows of the successes
	Rewinds, Jumps   uint64 // rows
	LastCommit       ledger.Time

	timed    uint64
	duration time.Duration
}

// AverageDuration is how long a commit took, of those whose duration is known: the ones that
// an offset manager made, from the NotBefore of its event, when it sent them, to the Time. It
// is false when there are none.
func (s Statistics) AverageDuration() (time.Duration, bool) {
	if s.timed == 0 {
		return 0, false
	}
	return s.duration / time.Duration(s.timed), true
}

// Partition is what a group has committed for one partition.
type Partition struct {
	Topic     string
	TopicID   uuid.UUID // of the last row; the zero UUID is unknown
	Partition int32
	// Committed is what OffsetFetch would have answered. Kafka stores negative offsets too:
	// see [Partition.Invalid].
	Committed   Value
	LeaderEpoch ledger.Epoch
	Metadata    string
	CommitTime  ledger.Time
	Effective   ledger.Time
	NotBefore   ledger.Time // of a polled or re-read row: it came true between NotBefore and Effective
	ExpireTime  ledger.Time // only of value version 1
	Moved       ledger.Time // effective time of the row that last changed the offset
	Seq         uint64      // of the record that applied last
	Source      ledger.SourceKind
	Position    int64 // of the row in its source line; -1 if it has none

	// Before is the offset that went away, and DeletedAt when, if Committed does not exist
	// because of a deletion.
	Before        Value
	DeletedAt     ledger.Time
	Cause         ledger.Cause
	CauseInferred bool

	OtherTopic bool // the offset was committed to another topic of the same name: no lag, no restore
	Unreadable bool // a later record of this partition could not be decoded
	Assigned   bool // exactly one member has the partition assigned: Owner
	Owner      *Who // never nil if Assigned
	// Pending is a later offset that a transaction has not decided yet, nil if there is none.
	Pending *Pending
	// Unsure is set if the offset may have changed already by the moment asked for: a poll
	// after it found another one. Nil if not.
	Unsure *Interval
}

// Invalid reports whether the committed offset is one that no consumer can read from: the
// broker stores negative numbers when it is sent them.
func (p *Partition) Invalid() bool { return p.Committed.Exists && p.Committed.At < 0 }

// Pending is an offset that waits for its transaction.
type Pending struct {
	At    int64
	Since ledger.Time // when the transaction began here
}

// Interval is a span of time, both ends included.
type Interval struct {
	From, To ledger.Time
}

// Watermark is how far the log of a partition reached when it was last observed.
type Watermark struct {
	LogStart   int64
	LastStable int64
	LogEnd     int64
	Told       ledger.Time // observation that told these values last
	Observed   ledger.Time // last observation that the brokers answered; nothing had changed at it
	// Old says that they did not answer a later one, or that the partition is not observed any
	// more: all may have changed since.
	Old bool
}

// Topic is what is known of a topic.
type Topic struct {
	Name       string
	ID         uuid.UUID   // the zero UUID is unknown
	Partitions int32       // meaningful if Counted
	Counted    bool        // the partition count is known
	DeletedAt  ledger.Time // unknown while it is there
	Recreated  ledger.Time // when a topic of this name was last made again; unknown if never
}

// Coverage says from when to when the ledger knows a cluster, and where it may have holes.
type Coverage struct {
	KafkaClusterID string
	SourceTopicID  uuid.UUID // of __consumer_offsets
	// Source is how the cluster is captured: tail, poll, or manager when neither was seen.
	Source ledger.SourceKind
	// Began is when capture began: before it only what compaction had left is known. Where
	// nothing is captured it is the time of the first record.
	Began    ledger.Time
	FirstSeq uint64 // of the first record of the cluster
	// Through is the moment up to which everything was read: the least of all source lines,
	// unknown if one of them never was at its end.
	Through ledger.Time
	Lines   []Line // sorted by partition
	Opaque  uint64 // records that could not be decoded
}

// Line is the position of capture in one partition of __consumer_offsets.
type Line struct {
	ledger.SourceLine
	Shard string
	Seq   uint64 // of the cursor that told it
}

// Gap is a stretch of possibly missing history.
type Gap struct {
	ledger.Gap
	Seq    uint64
	Time   ledger.Time // when it was found
	Group  string      // meaningful if OfGroup
	Cause  ledger.Cause
	Reason string
	Keys   []ledger.TopicPartition // partitions it is about; none: all
}

// Cursor is the resume point of one shard of capture.
type Cursor struct {
	Seq            uint64 // what the next append has to expect
	KafkaClusterID string
	TopicID        uuid.UUID
	Lines          []ledger.SourceLine // sorted by partition
}
