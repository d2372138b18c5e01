package kafka

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
)

// decodeReal decodes all records of a real run but the control records, by position.
func decodeReal(t *testing.T, version string) map[realPosition]Entry {
	var d Decoder
	all := map[realPosition]Entry{}
	for _, r := range realRecords(t, version) {
		if !r.Control {
			all[realPosition{r.Partition, r.Offset}] = d.Decode(r.Key, r.Value)
		}
	}
	return all
}

type realPosition struct {
	partition int32
	offset    int64
}

// realRow is the offset row at a position, as text to compare: group, topic, partition, offset,
// epoch, metadata.
func realRow(t *testing.T, all map[realPosition]Entry, partition int32, offset int64) []any {
	e := all[realPosition{partition, offset}]
	require.Equal(t, EntryOffset, e.Kind, e.Problem)
	return []any{e.Group, e.Offset.Topic, e.Offset.Partition, e.Offset.At, e.Offset.LeaderEpoch.String(), e.Offset.Metadata}
}

// wantRow is what realRow is compared with.
func wantRow(group, topic string, partition int32, offset int64, epoch, metadata string) []any {
	return []any{group, topic, partition, offset, epoch, metadata}
}

// zeros is the metadata of one commit of the run.
var zeros = string(make([]byte, 300))

// Every record of both runs decodes, and there are as many of each kind and type as another
// program, which looks at no more than key types and nulls, counts in the files.
func TestEveryRealRecordDecodes(t *testing.T) {
	type kindAndType struct {
		kind    EntryKind
		keyType int16
	}
	for version, want := range map[string]map[kindAndType]int{
		"4.0.2": {
			{EntryOffset, 1}: 32, {EntryTombstone, 1}: 10, {EntryGroup, 2}: 7, {EntryGroup, 3}: 5,
			{EntryCounted, 4}: 5, {EntryGroup, 5}: 4, {EntryCounted, 6}: 3, {EntryCounted, 7}: 4, {EntryGroup, 8}: 4,
		},
		"4.4.0": {
			{EntryOffset, 1}: 32, {EntryTombstone, 1}: 12, {EntryGroup, 2}: 15, {EntryGroup, 3}: 6,
			{EntryCounted, 4}: 2, {EntryGroup, 5}: 5, {EntryCounted, 6}: 6, {EntryCounted, 7}: 4, {EntryGroup, 8}: 5,
			{EntryCounted, 10}: 2, {EntryCounted, 11}: 3, {EntryCounted, 12}: 3, {EntryCounted, 13}: 3,
			{EntryCounted, 14}: 3, {EntryCounted, 15}: 2,
		},
	} {
		got := map[kindAndType]int{}
		for where, e := range decodeReal(t, version) {
			got[kindAndType{e.Kind, e.KeyType}]++
			require.Empty(t, e.Problem, "%s %v", version, where)
			require.NotEmpty(t, e.Group, "%s %v", version, where)
			require.Zero(t, e.Offset.Flags, "%s %v: nothing is left over", version, where)
			if e.Kind == EntryOffset {
				require.NotEmpty(t, e.Offset.Topic)
				require.Equal(t, version == "4.4.0", e.Offset.TopicID != uuid.UUID{}, "4.4 writes topic ids")
				require.False(t, e.Offset.ExpireTime.Known())
			}
		}
		require.Equal(t, want, got, version)
	}
}

// A group without members commits two partitions with metadata, goes on, commits the same
// again, goes back, goes on, loses one partition, and gets 300 bytes of metadata. In 4.4 the
// rows of one commit come in either order.
func TestRealSimpleGroup(t *testing.T) {
	const group, topic = "simple.group one", "payments.eu"
	old := decodeReal(t, "4.0.2")
	for i, want := range []struct {
		first    int64
		metadata string
	}{{10, "batch-10"}, {20, "batch-20"}, {20, "batch-20"}, {5, "batch-5"}, {30, "batch-30"}} {
		require.Equal(t, wantRow(group, topic, 0, want.first, "-", want.metadata), realRow(t, old, 1, int64(2*i)))
		require.Equal(t, wantRow(group, topic, 1, want.first+1, "0", ""), realRow(t, old, 1, int64(2*i+1)))
	}
	gone := old[realPosition{1, 10}]
	require.Equal(t, []any{EntryTombstone, group, topic, int32(1)},
		[]any{gone.Kind, gone.Group, gone.Offset.Topic, gone.Offset.Partition})
	require.Equal(t, wantRow(group, topic, 0, 31, "3", zeros), realRow(t, old, 1, 11))

	now := decodeReal(t, "4.4.0")
	require.Equal(t, wantRow(group, topic, 0, 10, "-", "batch-10"), realRow(t, now, 1, 5))
	require.Equal(t, wantRow(group, topic, 1, 11, "0", ""), realRow(t, now, 1, 6))
	require.Equal(t, wantRow(group, topic, 1, 21, "0", ""), realRow(t, now, 1, 9), "the second partition first")
	require.Equal(t, wantRow(group, topic, 0, 20, "-", "batch-20"), realRow(t, now, 1, 10))
	require.Equal(t, wantRow(group, topic, 0, 5, "-", "batch-5"), realRow(t, now, 1, 11))
	require.Equal(t, wantRow(group, topic, 0, 31, "3", zeros), realRow(t, now, 1, 16), "a length of two bytes")
	require.Equal(t, ledger.AtMillis(1796079093376), now[realPosition{1, 5}].Offset.CommitTime)
	require.Equal(t, uuid.MustParse("87d4c52e-fb5e-49bc-9e1d-c7eedec003e5"), now[realPosition{1, 5}].Offset.TopicID)

	require.Equal(t, EntryTombstone, now[realPosition{1, 22}].Kind, "expired a minute later")
	end := now[realPosition{1, 23}]
	require.Equal(t, EntryGroup, end.Kind)
	require.Equal(t, ledger.Membership{Type: ledger.GroupTypeClassic, RecordType: 2, Deleted: true}, *end.Membership)
}

// A Java console consumer joins by the classic protocol, commits, and leaves. The stock tool
// then sets its group to the earliest offsets and deletes it.
func TestRealClassicGroup(t *testing.T) {
	now := decodeReal(t, "4.4.0")
	require.Equal(t, ledger.Membership{
		Type: ledger.GroupTypeClassic, RecordType: 2, StateTime: ledger.AtMillis(1796079073912),
	}, *now[realPosition{2, 0}].Membership, "made by the first join")

	const id = "console-consumer-c634fc4c-894b-4b6e-9906-b9c64963b869"
	require.Equal(t, ledger.Membership{
		Type: ledger.GroupTypeClassic, RecordType: 2, Generation: 1, ProtocolType: "consumer", Protocol: "range",
		Leader: id, StateTime: ledger.AtMillis(1796079073931),
		Members: []ledger.Member{{
			ID: id, ClientID: "console-consumer", Host: "/127.0.0.1",
			SessionTimeoutMillis: 45000, RebalanceTimeoutMillis: 300000, Subscriptions: []string{"orders"},
			Assigned: []ledger.TopicPartitions{{Topic: "orders", Partitions: []int32{0, 1, 2}}},
		}},
	}, *now[realPosition{2, 1}].Membership)

	require.Equal(t, wantRow("java.classic", "orders", 0, 100, "0", ""), realRow(t, now, 2, 2))
	require.Equal(t, wantRow("java.classic", "orders", 1, 0, "-", ""), realRow(t, now, 2, 3))

	require.Equal(t, ledger.Membership{
		Type: ledger.GroupTypeClassic, RecordType: 2, Generation: 2, ProtocolType: "consumer",
		StateTime: ledger.AtMillis(1796079077091),
	}, *now[realPosition{2, 5}].Membership, "the last member left")

	for p := range int32(3) {
		require.Equal(t, wantRow("java.classic", "orders", p, 0, "-", ""), realRow(t, now, 2, 11+int64(p)), "the reset")
		require.Equal(t, EntryTombstone, now[realPosition{2, 14 + int64(p)}].Kind)
	}
	require.True(t, now[realPosition{2, 17}].Membership.Deleted)
}

// A static member has an instance id.
func TestRealStaticMember(t *testing.T) {
	m := decodeReal(t, "4.4.0")[realPosition{1, 1}].Membership
	require.Len(t, m.Members, 1)
	require.Equal(t, "inst-1", m.Members[0].InstanceID)
	require.Equal(t, "inst-1-b13b0298-365b-406d-869d-c2ee3b64f3ae", m.Members[0].ID)
}

// A kgo member subscribes with the cooperative balancer and puts its member id into the
// metadata of its commit.
func TestRealCooperativeMember(t *testing.T) {
	now := decodeReal(t, "4.4.0")
	m := now[realPosition{1, 18}].Membership
	require.Equal(t, "cooperative-sticky", m.Protocol)
	require.Equal(t, []string{"orders"}, m.Members[0].Subscriptions)
	require.Equal(t, []ledger.TopicPartitions{{Topic: "orders", Partitions: []int32{0, 1, 2}}}, m.Members[0].Assigned)
	require.Equal(t, wantRow("act-classic", "orders", 0, 100, "0", m.Members[0].ID), realRow(t, now, 1, 19))
}

// A Java consumer joins by the consumer protocol: first without a subscription, then with
// one, gets its partitions by topic id, commits, leaves. 4.4 adds tagged fields.
func TestRealConsumerGroup(t *testing.T) {
	const id = "6yz_qHr8TFWM00RPso15Ew"
	orders := uuid.MustParse("df1cc969-fd84-4372-a34d-6dc583456d9a")
	consumer := func(keyType int16, change func(*ledger.Membership)) ledger.Membership {
		m := ledger.Membership{Type: ledger.GroupTypeConsumer, RecordType: keyType}
		if keyType != 3 {
			m.Members = []ledger.Member{{ID: id}}
		}
		change(&m)
		return m
	}
	said := func(topics ...string) func(*ledger.Membership) {
		return func(m *ledger.Membership) {
			m.Members[0].ClientID, m.Members[0].Host = "console-consumer", "/127.0.0.1"
			m.Members[0].RebalanceTimeoutMillis, m.Members[0].Subscriptions = 300000, topics
		}
	}
	deleted := func(m *ledger.Membership) { m.Deleted = true }

	now := decodeReal(t, "4.4.0")
	for offset, want := range map[int64]ledger.Membership{
		0: consumer(5, said()),
		1: consumer(8, func(m *ledger.Membership) { m.Generation = 1 }),
		2: consumer(5, said("orders")),
		3: consumer(3, func(m *ledger.Membership) { m.Generation = 2 }),
		6: consumer(8, func(m *ledger.Membership) {
			m.Generation = 2
			m.Members[0].Assigned = []ledger.TopicPartitions{{TopicID: orders, Partitions: []int32{0, 1, 2}}}
		}),
		13: consumer(8, deleted), 15: consumer(5, deleted),
		16: consumer(3, func(m *ledger.Membership) { m.Generation = 3 }),
		52: consumer(3, deleted),
	} {
		e := now[realPosition{3, offset}]
		require.Equal(t, EntryGroup, e.Kind, e.Problem)
		require.Equal(t, "java-848", e.Group)
		require.Equal(t, want, *e.Membership, "offset %d", offset)
	}
	require.Equal(t, wantRow("java-848", "orders", 0, 100, "0", ""), realRow(t, now, 3, 7))

	old := decodeReal(t, "4.0.2")[realPosition{3, 9}].Membership
	require.Equal(t, int32(1), old.Generation)
	require.Equal(t, []ledger.TopicPartitions{{
		TopicID: uuid.MustParse("ce42827f-4591-4561-9c14-0172cd73dd30"), Partitions: []int32{0, 1, 2},
	}}, old.Members[0].Assigned)
}

// Transactional commits look like any others: that they are is in the batch, not in the
// record.
func TestRealTransactionalCommits(t *testing.T) {
	now := decodeReal(t, "4.4.0")
	require.Equal(t, wantRow("txg-commit", "payments.eu", 0, 7, "-", "txn"), realRow(t, now, 3, 34))
	require.Equal(t, wantRow("txg-abort", "payments.eu", 0, 9, "-", "txn"), realRow(t, now, 2, 6))
	require.Equal(t, wantRow("txg-mix", "payments.eu", 0, 11, "-", "txn"), realRow(t, now, 2, 8))
	require.Equal(t, wantRow("txg-mix", "payments.eu", 0, 12, "-", ""), realRow(t, now, 2, 9))
}
