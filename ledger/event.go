package ledger

import (
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/encoding/protowire"
)

// Event is one immutable fact about one group, one topic or one cluster: the body of one
// JetStream message.
//
// Which of the fields below Source are set depends on Kind, and so does the scope: group
// kinds are about Group (which may be the empty id, as Kafka allows), topic kinds about
// Topic. An Event is plain data; nothing in it is shared with another Event except the
// memory of its strings.
type Event struct {
	ID      uuid.UUID // UUIDv7, made by the appender
	Kind    Kind
	Cluster string // name of the Kafka cluster, as the ledger knows it
	Group   string // of group kinds
	Topic   string // of topic kinds
	// Time is the effective time: what "as of" goes by. It was computed once, when the event
	// was captured, so that every replay agrees. Rows may have their own.
	Time Time
	// NotBefore, when known, says that the fact came true at some moment after it and not
	// later than Time: polled and re-read rows are only known to such an interval.
	NotBefore Time
	Source    Source

	// Part and Parts are i, from 1, and n of an event that was cut because it was too large for
	// one message; both are 0 for a whole event. The parts of an event share its ID and stand
	// next to each other in the log. See [Event.Split] for what each holds.
	Part, Parts int32

	Reason        string // free text given by whoever did it
	Actor         string // who did it, of events that operators cause
	ActorVerified bool   // Actor was proved by a token or certificate, not just claimed
	Plan          string // id of the plan that this event carries out

	Cause         Cause // of deleted, failed and gap events
	CauseInferred bool  // Cause was concluded, not recorded

	Offsets []Offset // the rows: updated, committed, reset, deleted, failed, intent, checkpoint
	Updates []Offset // committed: updates since the last event, which fold nothing
	Before  []Offset // reset, intent: what the rows were before

	Membership *Membership // group
	TopicInfo  *TopicInfo  // topic
	Watermarks *Watermarks // watermarks
	Cursor     *Cursor     // cursor
	Gap        *Gap        // gap
	Opaque     *Opaque     // opaque
	Claim      *Claim      // claim
	Checkpoint *Checkpoint // checkpoint
	Operation  *Operation  // operator
	Snapshot   *Snapshot   // snapshot

	// unknown and inner hold the fields that a newer version wrote, of the event itself and of
	// the messages in it, so that they survive a round trip.
	unknown []byte
	inner   []innerUnknown
}

// innerUnknown is what was not understood inside the message that is field num of the event.
type innerUnknown struct {
	num    protowire.Number
	fields []byte
}

// unknownOf returns what was not understood inside field num.
func (e *Event) unknownOf(num protowire.Number) []byte {
	for i := range e.inner {
		if e.inner[i].num == num {
			return e.inner[i].fields
		}
	}
	return nil
}

// Source says who reported an event and where it stood there.
type Source struct {
	Kind SourceKind
	// Partition, LeaderEpoch and Offset are the position in __consumer_offsets (tail): of the
	// first row, or of the marker for rows of a transaction. For a manager, Offset counts its
	// own events.
	Partition   int32
	LeaderEpoch Epoch
	Offset      int64
	// ProducerID is the producer of the transaction; it means something only if Transactional.
	ProducerID    int64
	Transactional bool
	Instance      string // the manager or daemon that wrote the event
}

// Offset is a row: one partition's position inside an event.
type Offset struct {
	Topic       string
	TopicID     uuid.UUID // the zero UUID is unknown
	Partition   int32
	LeaderEpoch Epoch
	// At is the next offset to read. Kafka stores whatever it is sent, so it can be negative
	// or past the end of the log.
	At       int64
	Metadata string
	// CommitTime is as the broker or manager gave it, ExpireTime only of value version 1.
	CommitTime Time
	ExpireTime Time
	// Effective is what "as of" goes by; most rows have that of their event.
	Effective Time
	// SourceOffset is the row's own position in its source line. With Source.Partition and
	// Source.LeaderEpoch it is the row's identity; it decides which of two rows of one key
	// came last.
	SourceOffset int64
	ErrorCode    int16 // Kafka's error code of a refused row (failed); 0 is none
	Flags        Flags
}

// Flags are oddities of a row. All but FlagReplaced have to be seen and change nothing.
type Flags uint8

// The flags.
const (
	FlagTrailingBytes Flags = 1 << iota // the record held bytes after its value
	FlagNoMetadata                      // metadata was absent, not empty
	// FlagReplaced: a later row of the same transaction is of the same key, maybe in another
	// event of the same marker. The row never applies, since no client could read it.
	FlagReplaced
)

// TopicPartition names one partition of one topic.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// Record is an event as stored.
type Record struct {
	Seq      uint64    // sequence in the stream, from 1
	Appended time.Time // when the server stored it, UTC; not the event's own time
	Event    Event
}

// Clone returns a copy of r that shares no slices with it.
func (r Record) Clone() Record {
	r.Event = r.Event.Clone()
	return r
}
