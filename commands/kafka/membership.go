package kafka

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetledger/offsetledger/ledger"
)

// consumerProtocol is the protocol type of groups whose members speak of topics and
// partitions; Connect workers ("connect") and schema registries ("sr") do not.
const consumerProtocol = "consumer"

// readMembership makes a group entry of the record that e's key names. member is the member
// id of keys that have one.
func readMembership(e *Entry, member, value []byte) {
	m := ledger.Membership{RecordType: e.KeyType, Type: ledger.GroupTypeConsumer, Deleted: value == nil}
	if e.KeyType == keyClassicGroup {
		m.Type = ledger.GroupTypeClassic
	}
	if e.KeyType == keyConsumerMember || e.KeyType == keyConsumerAssignment {
		m.Members = []ledger.Member{{ID: string(member)}}
	}
	if value != nil {
		if problem := readMembershipValue(&m, value); problem != "" {
			*e = e.opaque(problem)
			return
		}
	}
	e.Offset = ledger.Offset{}
	e.Kind, e.Membership = EntryGroup, &m
}

// readMembershipValue reads value by the record type of m and returns what is wrong with it.
func readMembershipValue(m *ledger.Membership, value []byte) (problem string) {
	r := kbin.Reader{Src: value}
	version := r.Int16()
	limit := int16(0) // of KIP-848 records, all of which are at their first version
	if m.RecordType == keyClassicGroup {
		limit = maxClassicValue
	}
	if r.Ok() && (version < 0 || version > limit) {
		return fmt.Sprintf("unknown version %d of a group value of type %d", version, m.RecordType)
	}
	var whole bool
	switch m.RecordType {
	case keyClassicGroup:
		whole = readClassicGroup(m, value)
	case keyConsumerGroup:
		whole = readConsumerGroup(m, &r)
	case keyConsumerMember:
		whole = readConsumerMember(&m.Members[0], &r)
	case keyConsumerAssignment:
		whole = readConsumerAssignment(m, &r)
	}
	if !whole {
		return fmt.Sprintf("group value of type %d and version %d cut short", m.RecordType, version)
	}
	return ""
}

// readClassicGroup reads the whole of a classic group (key type 2).
func readClassicGroup(m *ledger.Membership, value []byte) bool {
	v := kmsg.NewGroupMetadataValue()
	if v.ReadFrom(value) != nil {
		return false
	}
	m.Generation = v.Generation
	m.ProtocolType = v.ProtocolType
	m.Protocol = orEmpty(v.Protocol)
	m.Leader = orEmpty(v.Leader)
	m.StateTime = knownTime(v.CurrentStateTimestamp)
	for i := range v.Members {
		m.Members = append(m.Members, classicMember(&v.Members[i], v.ProtocolType))
	}
	return true
}

func classicMember(v *kmsg.GroupMetadataValueMember, protocolType string) ledger.Member {
	m := ledger.Member{
		ID:                     v.MemberID,
		InstanceID:             orEmpty(v.InstanceID),
		ClientID:               v.ClientID,
		Host:                   v.ClientHost,
		SessionTimeoutMillis:   v.SessionTimeoutMillis,
		RebalanceTimeoutMillis: max(v.RebalanceTimeoutMillis, 0),
	}
	if protocolType == consumerProtocol {
		m.Subscriptions = readSubscription(v.Subscription)
		m.Assigned = readAssignment(v.Assignment)
	}
	return m
}

// readSubscription reads the topics out of what a member of a classic consumer group sent
// when it joined. The bytes are the client's own: whatever follows the topics is not looked
// at, and if they cannot be read, the member is one of unknown subscriptions.
func readSubscription(b []byte) []string {
	r := kbin.Reader{Src: b}
	r.Int16() // the version: all of them start with the topics
	topics := readArray(&r, r.ArrayLen(), 2, func() string { return string(readString(&r)) })
	if !r.Ok() {
		return nil
	}
	return topics
}

// readAssignment reads the partitions that the leader of a classic consumer group gave to a
// member. Like a subscription they are bytes of a client, unknown if they cannot be read.
func readAssignment(b []byte) []ledger.TopicPartitions {
	r := kbin.Reader{Src: b}
	r.Int16() // the version: all of them start with the topics
	topics := readArray(&r, r.ArrayLen(), 6, func() ledger.TopicPartitions {
		topic := string(readString(&r))
		return ledger.TopicPartitions{Topic: topic, Partitions: readArray(&r, r.ArrayLen(), 4, r.Int32)}
	})
	if !r.Ok() {
		return nil
	}
	return topics
}

// readArray reads n elements, each at least size bytes long, and spoils the reader if there
// cannot be as many. A null array (n is -1) is nil.
func readArray[T any](r *kbin.Reader, n int32, size int, read func() T) []T {
	if n <= 0 || !r.Ok() {
		return nil
	}
	if int(n) > len(r.Src)/size {
		r.Span(-1)
		return nil
	}
	all := make([]T, n)
	for i := range all {
		all[i] = read()
	}
	return all
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
