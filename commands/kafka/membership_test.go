package kafka

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/offsetledger/offsetledger/ledger"
)

var classicKey = []byte{0, 2, 0, 2, 'g', '1'}

// What a client of any version of the consumer protocol sends when it joins is read back as
// kmsg wrote it.
func TestSubscriptionAgreesWithKmsg(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := kmsg.ConsumerMemberMetadata{
			Version:    rapid.Int16Range(0, 3).Draw(t, "version"),
			Topics:     rapid.SliceOfN(rapid.StringN(0, 20, 200), 0, 5).Draw(t, "topics"),
			UserData:   rapid.SliceOfN(rapid.Byte(), 0, 30).Draw(t, "user data"),
			Generation: rapid.Int32().Draw(t, "generation"),
		}
		got := readSubscription(v.AppendTo(nil))
		require.Equal(t, append([]string(nil), v.Topics...), got)
	})
}

// What a leader of any version of the consumer protocol hands out is read back as kmsg wrote it.
func TestAssignmentAgreesWithKmsg(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := kmsg.ConsumerMemberAssignment{Version: rapid.Int16Range(0, 3).Draw(t, "version")}
		var want []ledger.TopicPartitions
		for range rapid.IntRange(0, 4).Draw(t, "topics") {
			topic := rapid.StringN(0, 20, 200).Draw(t, "topic")
			partitions := rapid.SliceOfN(rapid.Int32(), 1, 5).Draw(t, "partitions")
			v.Topics = append(v.Topics, kmsg.ConsumerMemberAssignmentTopic{Topic: topic, Partitions: partitions})
			want = append(want, ledger.TopicPartitions{Topic: topic, Partitions: partitions})
		}
		require.Equal(t, want, readAssignment(v.AppendTo(nil)))
	})
}

// A classic group's record has an instance id from version 3 on, a state time from 2 on, a
// rebalance timeout from 1 on; what a version lacks is unknown.
func TestClassicGroupOfEveryVersion(t *testing.T) {
	subscription := kmsg.ConsumerMemberMetadata{Version: 1, Topics: []string{"a", "b"}}
	assignment := kmsg.ConsumerMemberAssignment{Version: 1, Topics: []kmsg.ConsumerMemberAssignmentTopic{
		{Topic: "a", Partitions: []int32{0, 2}}}}
	v := kmsg.GroupMetadataValue{
		ProtocolType: "consumer", Generation: 7, Protocol: kmsg.StringPtr("range"), Leader: kmsg.StringPtr("m1"),
		CurrentStateTimestamp: 1767225600123,
		Members: []kmsg.GroupMetadataValueMember{{
			MemberID: "m1", InstanceID: kmsg.StringPtr("i1"), ClientID: "c1", ClientHost: "/10.0.0.1",
			RebalanceTimeoutMillis: 60000, SessionTimeoutMillis: 45000,
			Subscription: subscription.AppendTo(nil), Assignment: assignment.AppendTo(nil),
		}},
	}
	for version := range int16(maxClassicValue + 1) {
		v.Version = version
		want := ledger.Membership{
			Type: ledger.GroupTypeClassic, RecordType: 2, Generation: 7,
			ProtocolType: "consumer", Protocol: "range", Leader: "m1",
			Members: []ledger.Member{{
				ID: "m1", ClientID: "c1", Host: "/10.0.0.1", SessionTimeoutMillis: 45000,
				Subscriptions: []string{"a", "b"},
				Assigned:      []ledger.TopicPartitions{{Topic: "a", Partitions: []int32{0, 2}}},
			}},
		}
		if version >= 1 {
			want.Members[0].RebalanceTimeoutMillis = 60000
		}
		if version >= 2 {
			want.StateTime = vectorTime
		}
		if version >= 3 {
			want.Members[0].InstanceID = "i1"
		}
		value := v.AppendTo(nil)
		e := Decode(classicKey, value)
		require.Equal(t, EntryGroup, e.Kind, e.Problem)
		require.Equal(t, want, *e.Membership, "version %d", version)
		for cut := range len(value) {
			require.Equal(t, EntryOpaque, Decode(classicKey, value[:cut]).Kind, "version %d cut after %d bytes", version, cut)
		}
	}
	require.Equal(t, "unknown version 5 of a group value of type 2", Decode(classicKey, []byte{0, 5, 0, 0}).Problem)
	require.Equal(t, "unknown version 1 of a group value of type 3",
		Decode([]byte{0, 3, 0, 2, 'g', '1'}, []byte{0, 1, 0, 0, 0, 9, 0}).Problem)
}

// A member whose protocol bytes make no sense is still a member.
func TestMemberWithDamagedProtocolBytes(t *testing.T) {
	v := kmsg.GroupMetadataValue{Version: 3, ProtocolType: "consumer", Members: []kmsg.GroupMetadataValueMember{
		{MemberID: "m1", Subscription: []byte{0, 1, 0, 0, 0, 9, 0}, Assignment: []byte{0, 1, 0x7f, 0xff, 0xff, 0xff}}}}
	e := Decode(classicKey, v.AppendTo(nil))
	require.Equal(t, EntryGroup, e.Kind)
	require.Equal(t, []ledger.Member{{ID: "m1"}}, e.Membership.Members)
}

// Whatever the bytes: no panic, and no more memory than the bytes can account for.
func FuzzMembership(f *testing.F) {
	for _, version := range []string{"4.0.2", "4.4.0"} {
		for _, r := range realRecords(f, version) {
			if !r.Control && len(r.Key) > 1 && r.Value != nil {
				f.Add(r.Key[1], r.Value)
			}
		}
	}
	f.Fuzz(func(t *testing.T, keyType uint8, value []byte) {
		key := []byte{0, keyType % (maxKeyType + 1), 0, 1, 'g', 0, 1, 'm', 0, 0, 0, 0}
		e := Decode(key, value)
		if e.Kind != EntryGroup {
			return
		}
		size := 0
		for _, m := range e.Membership.Members {
			size += len(m.ID) + len(m.ClientID) + len(m.Host) + len(m.Subscriptions)
			for _, a := range m.Assigned {
				size += 1 + 4*len(a.Partitions)
			}
		}
		require.LessOrEqual(t, size, len(value)+1)
	})
}
