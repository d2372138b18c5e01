package kafka

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kbin"

	"github.com/offsetledger/offsetledger/ledger"
)

// EntryKind says what a record of __consumer_offsets turned out to be.
type EntryKind uint8

// The kinds of entries. The zero kind is none of them.
const (
	EntryOffset    EntryKind = iota + 1 // a committed offset: Group and Offset
	EntryTombstone                      // the end of one: Group, and of Offset what the key says
	EntryGroup                          // group metadata, or its end: Group and Membership
	EntryCounted                        // known, and of no use beyond being counted by type: Group
	EntryOpaque                         // cannot be decoded: Problem
)

var entryNames = [...]string{
	EntryOffset: "offset", EntryTombstone: "tombstone", EntryGroup: "group",
	EntryCounted: "counted", EntryOpaque: "opaque",
}

// String is the kind's name, as metrics label it.
func (k EntryKind) String() string {
	if int(k) < len(entryNames) && entryNames[k] != "" {
		return entryNames[k]
	}
	return fmt.Sprintf("entry-%d", k)
}

// Entry is one decoded record. It shares no memory with the record's key and value.
type Entry struct {
	Kind EntryKind
	// KeyType is the record type that the key starts with; 0 if the key is too short to have
	// one, which Problem then says.
	KeyType int16
	// Group is the group's id, which may be the empty one. Opaque entries have it if the key
	// could be read.
	Group string
	// Offset is the row as far as key and value tell it: the position, the effective time and
	// the source are the reader's to fill in.
	Offset     ledger.Offset
	Membership *ledger.Membership
	// Problem is why an opaque record could not be decoded.
	Problem string
}

// The range of versions that are known.
const (
	maxKeyType      = 24
	maxOffsetValue  = 4 // OffsetCommitValue
	maxClassicValue = 4 // GroupMetadataValue
)

// keyShape is what follows the type in a key.
type keyShape uint8

const (
	keyGroup          keyShape = iota // group
	keyGroupAndName                   // group; a member id or a regular expression
	keyGroupPartition                 // group, topic, partition
)

var keyShapes = [maxKeyType + 1]keyShape{
	0: keyGroupPartition, 1: keyGroupPartition,
	5: keyGroupAndName, 7: keyGroupAndName, 8: keyGroupAndName, // consumer group members
	10: keyGroupAndName, 13: keyGroupAndName, 14: keyGroupAndName, // share group members
	16: keyGroupAndName,                                           // regular expressions
	19: keyGroupAndName, 21: keyGroupAndName, 22: keyGroupAndName, // streams group members
}

// The key types that become offsets and group events; all others are counted.
const (
	keyLegacyOffsetCommit = 0
	keyOffsetCommit       = 1
	keyClassicGroup       = ledger.RecordClassicGroup
	keyConsumerGroup      = ledger.RecordGroup
	keyConsumerMember     = ledger.RecordMember
	keyConsumerAssignment = ledger.RecordAssignment
)

// Decoder decodes the records of __consumer_offsets. The zero Decoder is ready. It remembers
// the names it has seen, so that an offset costs no memory beyond its first; it is not for
// use by several goroutines at once.
type Decoder struct {
	groups, topics, metadata interner
}

// Decode decodes one record with a fresh Decoder, see [Decoder.Decode].
func Decode(key, value []byte) Entry {
	var d Decoder
	return d.Decode(key, value)
}

// Decode decodes one record. It does not fail: what it cannot make out is an opaque entry.
// A nil value is a tombstone; one of zero bytes is not, it is opaque. Values are told as the
// broker stores them, negative offsets and empty groups included. The entry shares no memory
// with key and value, and none with entries decoded before except that of strings.
//
// Control records have to be kept away from it: their keys look like offset commits.
func (d *Decoder) Decode(key, value []byte) Entry {
	var e Entry
	r := kbin.Reader{Src: key}
	e.KeyType = r.Int16()
	switch {
	case key == nil:
		return e.opaque("record without a key")
	case !r.Ok():
		return e.opaque("key too short for a type")
	case e.KeyType < 0 || e.KeyType > maxKeyType:
		return e.opaque(fmt.Sprintf("unknown key type %d", e.KeyType))
	}
	name := d.readKey(&e, &r)
	switch {
	case !r.Ok():
		return e.opaque(fmt.Sprintf("key of type %d cut short", e.KeyType))
	case value != nil && len(value) == 0:
		return e.opaque("value of zero bytes")
	}
	switch e.KeyType {
	case keyLegacyOffsetCommit, keyOffsetCommit:
		d.readOffset(&e, value)
	case keyClassicGroup, keyConsumerGroup, keyConsumerMember, keyConsumerAssignment:
		readMembership(&e, name, value)
	default:
		e.Kind = EntryCounted
	}
	return e
}

// readKey reads what follows the type into e, and returns the member id of a key that has one.
func (d *Decoder) readKey(e *Entry, r *kbin.Reader) (name []byte) {
	e.Group = d.groups.get(readString(r))
	switch keyShapes[e.KeyType] {
	case keyGroupAndName:
		name = readString(r)
	case keyGroupPartition:
		e.Offset.Topic = d.topics.get(readString(r))
		e.Offset.Partition = r.Int32()
	}
	if len(r.Src) > 0 {
		e.Offset.Flags |= ledger.FlagTrailingBytes
	}
	return name
}

// readOffset reads the value of an offset commit. It is written by hand because kmsg does not
// tell whether bytes were left over, and makes an epoch of 0 out of a version without one.
func (d *Decoder) readOffset(e *Entry, value []byte) {
	if value == nil {
		e.Kind = EntryTombstone
		return
	}
	r := kbin.Reader{Src: value}
	version := r.Int16()
	if r.Ok() && (version < 0 || version > maxOffsetValue) {
		*e = e.opaque(fmt.Sprintf("unknown version %d of an offset value", version))
		return
	}
	e.Offset.At = r.Int64()
	if version >= 3 {
		e.Offset.LeaderEpoch = ledger.EpochOf(r.Int32())
	}
	if version >= 4 {
		e.Offset.Metadata = d.metadata.get(readCompactString(&r))
	} else {
		e.Offset.Metadata = d.metadata.get(readString(&r))
	}
	e.Offset.CommitTime = ledger.AtMillis(r.Int64())
	if version == 1 {
		e.Offset.ExpireTime = knownTime(r.Int64())
	}
	if version >= 4 {
		readTags(&r, func(tag uint32, body []byte) bool {
			return tag != 0 || copy(e.Offset.TopicID[:], body) == len(e.Offset.TopicID)
		})
	}
	if !r.Ok() {
		*e = e.opaque(fmt.Sprintf("offset value of version %d cut short", version))
		return
	}
	if len(r.Src) > 0 {
		e.Offset.Flags |= ledger.FlagTrailingBytes
	}
	e.Kind = EntryOffset
}

// opaque returns e without what may have been read of it so far.
func (e *Entry) opaque(problem string) Entry {
	return Entry{Kind: EntryOpaque, KeyType: e.KeyType, Group: e.Group, Problem: problem}
}

// knownTime is the moment of ms, which Kafka writes as -1 when there is none.
func knownTime(ms int64) ledger.Time {
	if ms == -1 {
		return ledger.Time{}
	}
	return ledger.AtMillis(ms)
}

// readString reads a string with a length of two bytes. A null one is damage, as it is to
// Kafka. The result is part of the reader's source.
func readString(r *kbin.Reader) []byte { return r.Span(int(r.Int16())) }

// readCompactString is readString for strings of flexible versions.
func readCompactString(r *kbin.Reader) []byte { return r.Span(int(r.Uvarint()) - 1) }

// readTags reads the tagged fields at the end of a structure of a flexible version. The
// reader is spoilt if each returns false for one.
func readTags(r *kbin.Reader, each func(tag uint32, body []byte) bool) {
	for n := r.Uvarint(); n > 0 && r.Ok(); n-- {
		tag := r.Uvarint()
		body := r.Span(int(r.Uvarint()))
		if r.Ok() && each != nil && !each(tag, body) {
			r.Span(-1)
		}
	}
}

// Limits of an interner: how many strings it keeps, and how long they may be.
const (
	maxInterned    = 1 << 16
	maxInternedLen = 255
)

// interner gives equal strings the same memory.
type interner struct {
	last  string
	known map[string]string
}

func (i *interner) get(b []byte) string {
	if string(b) == i.last {
		return i.last
	}
	s, ok := i.known[string(b)]
	if !ok {
		s = string(b)
		i.keep(s)
	}
	i.last = s
	return s
}

func (i *interner) keep(s string) {
	if len(s) > maxInternedLen {
		return
	}
	if i.known == nil || len(i.known) >= maxInterned {
		i.known = map[string]string{}
	}
	i.known[s] = s
}
