package kafka

import (
	"github.com/twmb/franz-go/pkg/kbin"

	"github.com/offsetledger/offsetledger/ledger"
)

// The records of KIP-848 groups, which kmsg does not know. They are in Kafka's flexible
// encoding: compact strings and arrays, and tagged fields at the end of every structure, none
// of which is of use here. Each function reports whether the value was whole.

// readConsumerGroup reads the epoch of a group (key type 3).
func readConsumerGroup(m *ledger.Membership, r *kbin.Reader) bool {
	m.Generation = r.Int32()
	readTags(r, nil)
	return r.Ok()
}

// readConsumerMember reads what a member said of itself (key type 5).
func readConsumerMember(m *ledger.Member, r *kbin.Reader) bool {
	m.InstanceID = orEmpty(r.CompactNullableString())
	r.CompactNullableString() // rack
	m.ClientID = string(readCompactString(r))
	m.Host = string(readCompactString(r))
	m.Subscriptions = readArray(r, r.CompactArrayLen(), 1, func() string { return string(readCompactString(r)) })
	r.CompactNullableString() // subscription by regular expression
	m.RebalanceTimeoutMillis = max(r.Int32(), 0)
	r.CompactNullableString() // assignor asked for
	readTags(r, nil)          // what it says of itself by the classic protocol
	return r.Ok()
}

// readConsumerAssignment reads what a member holds at present (key type 8). A static member
// that is away for a while has epoch -2.
func readConsumerAssignment(m *ledger.Membership, r *kbin.Reader) bool {
	m.Generation = r.Int32()
	r.Int32() // epoch before
	r.Int8()  // state
	m.Members[0].Assigned = readTopicIDs(r)
	readTopicIDs(r) // still to be given back
	readTags(r, nil)
	return r.Ok()
}

// readTopicIDs reads partitions by topic id.
func readTopicIDs(r *kbin.Reader) []ledger.TopicPartitions {
	const least = 18 // bytes of an id, an empty array and no tags
	return readArray(r, r.CompactArrayLen(), least, func() ledger.TopicPartitions {
		t := ledger.TopicPartitions{TopicID: r.Uuid()}
		t.Partitions = readArray(r, r.CompactArrayLen(), 4, r.Int32)
		readTags(r, nil)
		return t
	})
}
