package ledger

import (
	"github.com/google/uuid"
)

// GroupType is the protocol a group runs.
type GroupType int32

// The group types.
const (
	GroupTypeUnknown  GroupType = 0
	GroupTypeClassic  GroupType = 1
	GroupTypeConsumer GroupType = 2 // KIP-848
	GroupTypeShare    GroupType = 3 // KIP-932
	GroupTypeStreams  GroupType = 4 // KIP-1071
)

var groupTypeNames = [...]string{
	GroupTypeUnknown: "unknown", GroupTypeClassic: "classic", GroupTypeConsumer: "consumer",
	GroupTypeShare: "share", GroupTypeStreams: "streams",
}

// String is Kafka's name of the type, or "type-N" for one that this version does not know.
func (t GroupType) String() string { return nameOf(groupTypeNames[:], int32(t), "type-") }

// Membership is what one group metadata record said. Of a classic group (key type 2) that is
// the whole group with all its members; of a KIP-848 group it is the group's epoch (key type
// 3) or one member (5, 8). The fold puts the whole together.
type Membership struct {
	Type       GroupType
	RecordType int16 // key type of the record in __consumer_offsets
	Deleted    bool  // the record was a tombstone: of the group (2, 3) or of Members[0] (5, 8)
	// Generation is the generation of a classic group, the group epoch of type 3, the member
	// epoch of type 8.
	Generation   int32
	ProtocolType string
	Protocol     string
	Leader       string
	// StateTime is when a classic group entered its present state; expiry of an empty group
	// counts from it.
	StateTime Time
	Members   []Member
}

// Member is one member of a group, as far as the record told.
type Member struct {
	ID         string
	InstanceID string // static membership; empty is none
	ClientID   string
	Host       string
	// SessionTimeoutMillis and RebalanceTimeoutMillis are of classic members; 0 is unknown.
	SessionTimeoutMillis   int32
	RebalanceTimeoutMillis int32
	Subscriptions          []string
	Assigned               []TopicPartitions

	unknown []byte // fields of a newer version
}

// TopicPartitions is a set of partitions of one topic, which a classic member and watermarks
// name by name and a KIP-848 member by id.
type TopicPartitions struct {
	Topic      string
	TopicID    uuid.UUID
	Partitions []int32

	unknown []byte // fields of a newer version
}

// TopicInfo is what became of a topic.
type TopicInfo struct {
	TopicID    uuid.UUID
	Partitions int32 // partition count; 0 once deleted
	Deleted    bool
	Recreated  bool // the same name with another id than before
}

// Watermarks is one observation of the partitions of one shard of topics.
type Watermarks struct {
	Shard int32 // FNV-1a 64 of the topic, modulo WatermarkShards
	// Complete says that every partition of the shard is here. Otherwise a partition that is
	// neither in Rows nor in Unanswered is unchanged since the row before of it.
	Complete bool
	Rows     []Watermark
	// Unanswered names the partitions that the brokers did not answer for: what became of
	// their logs since the observation before is not known. It is empty if Complete.
	Unanswered []TopicPartitions
}

// Watermark is how far the log of one partition reaches.
type Watermark struct {
	Topic      string
	TopicID    uuid.UUID // may be left out where it was told before
	Partition  int32
	LogStart   int64 // first offset still there
	LastStable int64 // first offset of an open transaction, else LogEnd
	LogEnd     int64 // next offset to be written
}

// Cursor is how far capture has read. It is stored in the same batch as the events up to it,
// so that the two can never disagree.
type Cursor struct {
	// Shard names a set of source partitions; "0" is all of them. It never names a process,
	// so that two captures of one cluster collide.
	Shard          string
	KafkaClusterID string    // as the brokers report it
	TopicID        uuid.UUID // of __consumer_offsets; another id means it was made again
	Complete       bool      // every source partition is in Lines; otherwise those that moved
	Lines          []SourceLine
}

// SourceLine is the position in one partition of __consumer_offsets.
type SourceLine struct {
	Partition   int32
	Next        int64 // next offset to read
	LeaderEpoch Epoch // of the last record read
	// MaxEffective is the running maximum of effective times: no later row has an earlier one.
	MaxEffective Time
	// CompleteThrough is the moment up to which the line was read to the end: answers about
	// earlier moments never change.
	CompleteThrough Time
	Open            []OpenTransaction
	Hole            *Hole // nil when there is none, or nothing is left to do about it
}

// Hole is a range of positions whose records were removed before they were read. The
// cursor tells it for as long as capture has something left to do about it: to say of each key
// since when it is known again, and to ask for those that no record speaks of any more.
type Hole struct {
	First, Last int64 // positions, both inside the hole
	// Until is where the partition ended when the hole was found. A key without a row between
	// Last and Until has lost nothing, or is gone.
	Until int64
	From  Time // moment up to which everything is known without it
	// Removed says that the records before Until were deleted, whether or not a later one of
	// their key is there: then every key may have lost its last row.
	Removed bool

	unknown []byte // fields of a newer version
}

// OpenTransaction is a transaction with rows before Next whose marker has not been read. A
// restart reads again from the lowest First and takes only the rows of open transactions.
type OpenTransaction struct {
	ProducerID int64
	First      int64 // position of its first record
	Since      Time  // record timestamp of that record
	Rows       []PendingOffset

	unknown []byte // fields of a newer version
}

// PendingOffset is a row that a transaction will apply if it commits.
type PendingOffset struct {
	Group     string
	Topic     string
	Partition int32
	At        int64
	Position  int64 // in the source partition
}

// Gap says that history may be missing. Of a source partition, First and Last are the range
// of positions; of a group, From and To are the range of time, for the keys in Event.Offsets
// or for all of the group when there are none.
type Gap struct {
	OfGroup         bool // stored under the group; otherwise under the source partition
	SourcePartition int32
	First, Last     int64 // positions, both inside the gap
	From, To        Time
}

// Opaque is a record that could not be decoded, as it was read.
type Opaque struct {
	Key       []byte
	Value     []byte
	ValueNull bool // there was no value, as opposed to one of no bytes
	Timestamp Time // of the record
	Problem   string
}

// Claim is an offset manager taking a group over; the claim before it is void.
type Claim struct {
	Instance string
	Previous string // instance of the claim before, empty for the first
}

// Checkpoint is an application's named mark; the rows are the committed offsets at it.
type Checkpoint struct {
	Name string
}

// Operation is what an operator did: plan, apply, undo, approve, annotate, trim, config.
type Operation struct {
	Action string
	Target string // id of the plan, restore or incident that it is about
	Body   []byte // JSON, by action
}

// Snapshot says that a folded state was stored.
type Snapshot struct {
	Name   string
	Seq    uint64 // the state is that after this sequence
	Digest []byte // SHA-256 of its manifest
	Bytes  int64
}
