package kafkatest

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// diffConsumerGroup makes the records of a KIP-848 group: its epoch (key 3), and of each
// member what it is (5) and what it holds (8). A member that left has tombstones of both.
func (m *mirror) diffConsumerGroup(old *groupState, info *kfake.GroupInfo, seen protocol) []*kgo.Record {
	var recs []*kgo.Record
	var gone []string
	present := make(map[string]bool)
	for _, member := range info.Members {
		present[member.MemberID] = true
	}
	for _, id := range slices.Sorted(maps.Keys(old.members)) {
		if !present[id] {
			gone = append(gone, id)
			delete(old.members, id)
		}
	}
	recs = append(recs, memberTombstones(info.Group, gone)...)

	var changed []kfake.GroupMember
	for _, member := range info.Members {
		state := string(memberValue(member, seen)) + string(m.currentValue(member, info.Epoch))
		if old.members[member.MemberID] != state {
			old.members[member.MemberID] = state
			changed = append(changed, member)
		}
	}
	for _, member := range changed {
		recs = append(recs, &kgo.Record{
			Key:   memberKey(keyConsumerMemberMetadata, info.Group, member.MemberID),
			Value: memberValue(member, seen),
		})
	}
	if meta := epochValue(info.Epoch); string(meta) != old.meta && info.Epoch > 0 {
		old.meta = string(meta)
		recs = append(recs, &kgo.Record{Key: consumerGroupKey(info.Group), Value: meta})
	}
	for _, member := range changed {
		recs = append(recs, &kgo.Record{
			Key:   memberKey(keyConsumerMemberCurrent, info.Group, member.MemberID),
			Value: m.currentValue(member, info.Epoch),
		})
	}
	return recs
}

func memberTombstones(group string, members []string) []*kgo.Record {
	var recs []*kgo.Record
	for _, id := range members {
		recs = append(recs,
			&kgo.Record{Key: memberKey(keyConsumerMemberCurrent, group, id)},
			&kgo.Record{Key: memberKey(keyConsumerMemberMetadata, group, id)})
	}
	return recs
}

func consumerGroupKey(group string) []byte {
	return kbin.AppendString(kbin.AppendInt16(nil, keyConsumerGroupMetadata), group)
}

func memberKey(kind int16, group, member string) []byte {
	return kbin.AppendString(kbin.AppendString(kbin.AppendInt16(nil, kind), group), member)
}

// epochValue is a ConsumerGroupMetadataValue of version 0.
func epochValue(epoch int32) []byte {
	return append(kbin.AppendInt32(kbin.AppendInt16(nil, 0), epoch), 0)
}

// memberValue is a ConsumerGroupMemberMetadataValue of version 0.
func memberValue(m kfake.GroupMember, seen protocol) []byte {
	b := kbin.AppendInt16(nil, 0)
	b = kbin.AppendCompactNullableString(b, m.InstanceID)
	b = kbin.AppendCompactNullableString(b, nil) // rack
	b = kbin.AppendCompactString(b, m.ClientID)
	b = kbin.AppendCompactString(b, javaHost(m.ClientHost))
	b = kbin.AppendCompactArrayLen(b, len(m.SubscribedTopics))
	for _, t := range m.SubscribedTopics {
		b = kbin.AppendCompactString(b, t)
	}
	b = kbin.AppendCompactString(b, "") // topic pattern
	b = kbin.AppendInt32(b, seen.rebalan)
	b = kbin.AppendCompactNullableString(b, nil) // server assignor
	return append(b, 0)
}

// currentValue is a ConsumerGroupCurrentMemberAssignmentValue of version 0. kfake does not
// tell the member's own epoch; the group's is the one it has, or is on its way to.
func (m *mirror) currentValue(member kfake.GroupMember, epoch int32) []byte {
	b := kbin.AppendInt16(nil, 0)
	b = kbin.AppendInt32(b, epoch)
	b = kbin.AppendInt32(b, max(epoch-1, 0))
	b = kbin.AppendInt8(b, 0) // stable
	b = kbin.AppendCompactArrayLen(b, len(member.Assignment))
	topics := slices.Sorted(maps.Keys(member.Assignment))
	for _, t := range topics {
		b = kbin.AppendUuid(b, m.topicID(t))
		b = kbin.AppendCompactArrayLen(b, len(member.Assignment[t]))
		for _, p := range member.Assignment[t] {
			b = kbin.AppendInt32(b, p)
		}
		b = append(b, 0)
	}
	b = kbin.AppendCompactArrayLen(b, 0) // pending revocation
	return append(b, 0)
}
