package kafkatest

import (
	"math"
	"time"
	"unicode/utf16"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// OffsetsTopic is the topic in which Kafka keeps committed offsets and group metadata.
const OffsetsTopic = "__consumer_offsets"

// Key types of records in OffsetsTopic that this package writes.
const (
	keyOffsetCommit           = 1
	keyGroupMetadata          = 2
	keyConsumerGroupMetadata  = 3
	keyConsumerMemberMetadata = 5
	keyConsumerMemberCurrent  = 8
)

// Commit is one committed offset, to be made into a record.
type Commit struct {
	Group     string
	Topic     string
	Partition int32
	At        int64
	// LeaderEpoch is written as it is: -1 where the client knows none, 0 is epoch 0.
	LeaderEpoch int32
	Metadata    string
	Time        time.Time // commit time, and the record's timestamp; the zero time is now
	TopicID     uuid.UUID // of value version 4; the zero id is left out
	Version     int16     // of the value, 0 to 4
}

// Record is the commit as a coordinator writes it.
func (c Commit) Record() *kgo.Record {
	at := c.Time
	if at.IsZero() {
		at = time.Now()
	}
	v := kmsg.NewOffsetCommitValue()
	v.Version = c.Version
	v.Offset, v.LeaderEpoch, v.Metadata = c.At, c.LeaderEpoch, c.Metadata
	v.CommitTimestamp = at.UnixMilli()
	v.TopicID = c.TopicID
	if c.Version == 1 {
		v.ExpireTimestamp = -1
	}
	return &kgo.Record{Key: OffsetKey(c.Group, c.Topic, c.Partition), Value: v.AppendTo(nil), Timestamp: at}
}

// Tombstone is the deletion of a committed offset, whatever its cause.
func Tombstone(group, topic string, partition int32) *kgo.Record {
	return &kgo.Record{Key: OffsetKey(group, topic, partition)}
}

// GroupTombstone is the deletion of a classic or simple group.
func GroupTombstone(group string) *kgo.Record {
	return &kgo.Record{Key: groupKey(group)}
}

// GroupRecord is the metadata of a classic group as a coordinator writes it.
func GroupRecord(group string, v kmsg.GroupMetadataValue) *kgo.Record {
	return &kgo.Record{Key: groupKey(group), Value: v.AppendTo(nil)}
}

// OffsetKey is the key of the record of one committed offset (key type 1).
func OffsetKey(group, topic string, partition int32) []byte {
	k := kmsg.NewOffsetCommitKey()
	k.Version = keyOffsetCommit
	k.Group, k.Topic, k.Partition = group, topic, partition
	return k.AppendTo(nil)
}

func groupKey(group string) []byte {
	k := kmsg.NewGroupMetadataKey()
	k.Version = keyGroupMetadata
	k.Group = group
	return k.AppendTo(nil)
}

// PartitionFor is the partition of OffsetsTopic that holds a group, of n: the absolute value of
// Java's hash of the group id over UTF-16 units, as every broker computes it.
func PartitionFor(group string, n int32) int32 {
	var h int32
	for _, unit := range utf16.Encode([]rune(group)) {
		h = 31*h + int32(unit)
	}
	if h == math.MinInt32 { // it has no absolute value
		return 0
	}
	return max(h, -h) % n
}
