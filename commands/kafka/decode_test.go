package kafka

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/offsetledger/offsetledger/ledger"
)

// The commit time of the vectors, 2026-01-01T00:00:00.123Z.
var vectorTime = ledger.AtMillis(1767225600123)

// ordersKey is the key of group g1, topic orders, partition 3.
var ordersKey = offsetKey("g1", "orders", 3)

func offsetKey(group, topic string, partition int32) []byte {
	k := kmsg.OffsetCommitKey{Version: 1, Group: group, Topic: topic, Partition: partition}
	return k.AppendTo(nil)
}

func unhex(t testing.TB, s string) []byte {
	b, err := hex.DecodeString(s)
	require.NoError(t, err)
	return b
}

// Brokers from 4.1 on write version 4: a compact string for the metadata, whose length takes
// two bytes from 127 bytes of metadata on, and tagged fields, of which 0 is the topic id.
func TestCAP01ValueVersion4(t *testing.T) {
	const head = "0004000000000000002a00000007"
	const at = "0000019b76daa87b"
	for _, c := range []struct {
		name, value, metadata string
		topicID               uuid.UUID
	}{
		{name: "no metadata, no tags", value: head + "01" + at + "00"},
		{name: "metadata", value: head + "036869" + at + "00", metadata: "hi"},
		{name: "topic id", value: head + "01" + at + "010010000102030405060708090a0b0c0d0e0f",
			topicID: uuid.MustParse("00010203-0405-0607-0809-0a0b0c0d0e0f")},
		{name: "unknown tag", value: head + "01" + at + "010902aabb"},
		{name: "200 bytes of metadata", value: head + "c901" + strings.Repeat("78", 200) + at + "00",
			metadata: strings.Repeat("x", 200)},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, Entry{
				Kind: EntryOffset, KeyType: 1, Group: "g1",
				Offset: ledger.Offset{
					Topic: "orders", Partition: 3, TopicID: c.topicID, At: 42,
					LeaderEpoch: ledger.EpochOf(7), Metadata: c.metadata, CommitTime: vectorTime,
				},
			}, Decode(ordersKey, unhex(t, c.value)))
		})
	}
}

// Epoch 0 is a real epoch, and values before version 3 have none; only version 1 has an
// expiry. One decoder reads all of them, and nothing of a record is left in the next.
func TestCAP02OldVersionsHaveNoEpochAndNothingLeaks(t *testing.T) {
	var d Decoder
	decode := func(value string) ledger.Offset {
		e := d.Decode(ordersKey, unhex(t, value))
		require.Equal(t, EntryOffset, e.Kind, e.Problem)
		return e.Offset
	}
	row := ledger.Offset{Topic: "orders", Partition: 3, At: 42, CommitTime: vectorTime}

	require.Equal(t, row, decode("0000000000000000002a00000000019b76daa87b"))

	v1 := row
	v1.Metadata, v1.ExpireTime = "m", ledger.AtMillis(0x19b7c01047b)
	require.Equal(t, v1, decode("0001000000000000002a00016d0000019b76daa87b0000019b7c01047b"))

	v3 := row
	v3.LeaderEpoch = ledger.EpochOf(0)
	require.Equal(t, v3, decode("0003000000000000002a0000000000000000019b76daa87b"))
	epoch, known := v3.LeaderEpoch.Get()
	require.True(t, known)
	require.Zero(t, epoch)

	require.Equal(t, row, decode("0002000000000000002a00000000019b76daa87b"))
}

// The topic also holds the records of classic groups, Connect workers, schema registries and
// the newer groups. None of them becomes an offset or the deletion of one.
func TestCAP05KeysThatAreNotOffsetCommits(t *testing.T) {
	classic, epoch := unhex(t, "000200026731"), unhex(t, "000300026731")
	member := append(unhex(t, "0005000267310008"), "member-1"...)
	version99 := append(unhex(t, "006300026731"), "rest"...)

	gone := func(key []byte) ledger.Membership {
		e := Decode(key, nil)
		require.Equal(t, EntryGroup, e.Kind)
		require.Equal(t, "g1", e.Group)
		return *e.Membership
	}
	require.Equal(t, ledger.Membership{Type: ledger.GroupTypeClassic, RecordType: 2, Deleted: true}, gone(classic))
	require.Equal(t, ledger.Membership{Type: ledger.GroupTypeConsumer, RecordType: 3, Deleted: true}, gone(epoch))
	require.Equal(t, ledger.Membership{Type: ledger.GroupTypeConsumer, RecordType: 5, Deleted: true,
		Members: []ledger.Member{{ID: "member-1"}}}, gone(member))

	require.Equal(t, Entry{Kind: EntryGroup, KeyType: 3, Group: "g1",
		Membership: &ledger.Membership{Type: ledger.GroupTypeConsumer, RecordType: 3, Generation: 9},
	}, Decode(epoch, unhex(t, "00000000000900")))

	for _, value := range [][]byte{nil, {0, 0, 1}} {
		require.Equal(t, Entry{Kind: EntryOpaque, KeyType: 99, Problem: "unknown key type 99"}, Decode(version99, value))
	}
	require.Equal(t, EntryOpaque, Decode(unhex(t, "ffff00026731"), nil).Kind, "a negative type")

	for _, protocolType := range []string{"connect", "sr"} {
		v := kmsg.GroupMetadataValue{Version: 3, ProtocolType: protocolType, Generation: 4,
			Members: []kmsg.GroupMetadataValueMember{{MemberID: "w-1", ClientID: "worker", ClientHost: "/10.0.0.1",
				Subscription: []byte("http://10.0.0.1:8083/"), Assignment: []byte{0, 1, 0, 0}}}}
		e := Decode(classic, v.AppendTo(nil))
		require.Equal(t, EntryGroup, e.Kind, e.Problem)
		require.Equal(t, protocolType, e.Membership.ProtocolType)
		require.Equal(t, []ledger.Member{{ID: "w-1", ClientID: "worker", Host: "/10.0.0.1"}}, e.Membership.Members)
	}

	sink := Decode(offsetKey("connect-sink", "orders", 0), unhex(t, "0002000000000000002a00000000019b76daa87b"))
	require.Equal(t, EntryOffset, sink.Kind, "a Connect sink commits as any consumer does")
}

// Every key type up to 24 decodes by the table, with a value and without, and none but 0 and
// 1 says anything about offsets.
func TestCAP05EveryKeyType(t *testing.T) {
	for keyType := range int16(maxKeyType + 1) {
		key := binary.BigEndian.AppendUint16(nil, uint16(keyType))
		key = append(key, 0, 2, 'g', '1')
		switch keyShapes[keyType] {
		case keyGroupAndName:
			key = append(key, 0, 1, 'm')
		case keyGroupPartition:
			key = append(key, 0, 1, 't', 0, 0, 0, 0)
		}
		e := Decode(key, nil)
		require.Equal(t, "g1", e.Group)
		require.Equal(t, keyType, e.KeyType)
		switch keyType {
		case 0, 1:
			require.Equal(t, EntryTombstone, e.Kind)
		case 2, 3, 5, 8:
			require.Equal(t, EntryGroup, e.Kind)
		default:
			require.Equal(t, EntryCounted, e.Kind)
			require.Equal(t, EntryCounted, Decode(key, []byte{0, 9, 1}).Kind, "whatever the value")
		}
		for cut := range len(key) {
			require.Equal(t, EntryOpaque, Decode(key[:cut], nil).Kind, "type %d cut after %d bytes", keyType, cut)
		}
	}
}

// A negative offset is what OffsetFetch will answer, so it is recorded as it is.
func TestCAP11NegativeOffset(t *testing.T) {
	e := Decode(ordersKey, unhex(t, "0003ffffffffffffffffffffffff00000000019b76daa87b"))
	require.Equal(t, EntryOffset, e.Kind)
	require.Equal(t, int64(-1), e.Offset.At)
	_, known := e.Offset.LeaderEpoch.Get()
	require.False(t, known)
	require.Equal(t, vectorTime, e.Offset.CommitTime)
}

// The empty group id is one that Kafka stores.
func TestCAP12EmptyGroup(t *testing.T) {
	e := Decode(unhex(t, "000100000002743100000003"), unhex(t, "0003000000000000002a0000000000000000019b76daa87b"))
	require.Equal(t, EntryOffset, e.Kind)
	require.Equal(t, "", e.Group)
	require.Equal(t, "t1", e.Offset.Topic)
	require.Equal(t, int32(3), e.Offset.Partition)
}

// Damage is told as what it is: only a null value deletes, and bytes that are too many are
// seen although they change nothing.
func TestCAP17DamagedKeysAndZeroLengthValues(t *testing.T) {
	v3 := unhex(t, "0003000000000000002a0000000000000000019b76daa87b")

	require.Equal(t, Entry{Kind: EntryOpaque, KeyType: 1, Group: "g1", Problem: "key of type 1 cut short"},
		Decode(unhex(t, "00010002673100"), v3))
	require.Equal(t, Entry{Kind: EntryOpaque, KeyType: 1, Group: "g1", Problem: "value of zero bytes"},
		Decode(ordersKey, []byte{}))
	require.Equal(t, Entry{Kind: EntryTombstone, KeyType: 1, Group: "g1",
		Offset: ledger.Offset{Topic: "orders", Partition: 3}}, Decode(ordersKey, nil))

	trailing := Decode(ordersKey, append(bytes.Clone(v3), 0xde, 0xad))
	require.Equal(t, EntryOffset, trailing.Kind)
	require.Equal(t, int64(42), trailing.Offset.At)
	require.Equal(t, ledger.FlagTrailingBytes, trailing.Offset.Flags)
	require.Zero(t, Decode(ordersKey, v3).Offset.Flags)
	require.Equal(t, ledger.FlagTrailingBytes, Decode(append(bytes.Clone(ordersKey), 0), v3).Offset.Flags)

	for cut := 1; cut < len(v3); cut++ {
		require.Equal(t, EntryOpaque, Decode(ordersKey, v3[:cut]).Kind, "value cut after %d bytes", cut)
	}
	require.Equal(t, "unknown version 5 of an offset value",
		Decode(ordersKey, append([]byte{0, 5}, v3[2:]...)).Problem)
	require.Equal(t, "record without a key", Decode(nil, v3).Problem)
	require.Equal(t, "key too short for a type", Decode([]byte{1}, v3).Problem)
}

// The entry shares no memory with the record: the client reuses its buffers.
func TestEntryOutlivesItsRecord(t *testing.T) {
	key, value := offsetKey("group", "topic", 1), unhex(t, "0001000000000000002a00016d0000019b76daa87b0000019b7c01047b")
	var d Decoder
	e := d.Decode(key, value)
	for i := range key {
		key[i] = 0xff
	}
	for i := range value {
		value[i] = 0xff
	}
	require.Equal(t, "group", e.Group)
	require.Equal(t, "topic", e.Offset.Topic)
	require.Equal(t, "m", e.Offset.Metadata)
	again := d.Decode(offsetKey("group", "topic", 1), unhex(t, "0001000000000000002a00016d0000019b76daa87b0000019b7c01047b"))
	require.Equal(t, e, again)
}

// What kmsg writes, of any version and with any values, is decoded to the same values.
func TestDecodeAgreesWithKmsg(t *testing.T) {
	var d Decoder
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringN(0, 20, 300)
		key := kmsg.OffsetCommitKey{Version: rapid.Int16Range(0, 1).Draw(t, "key type"),
			Group: name.Draw(t, "group"), Topic: name.Draw(t, "topic"), Partition: rapid.Int32().Draw(t, "partition")}
		value := kmsg.OffsetCommitValue{
			Version: rapid.Int16Range(0, maxOffsetValue).Draw(t, "version"), Offset: rapid.Int64().Draw(t, "offset"),
			LeaderEpoch: rapid.Int32().Draw(t, "epoch"), Metadata: name.Draw(t, "metadata"),
			CommitTimestamp: rapid.Int64().Draw(t, "time"), ExpireTimestamp: rapid.Int64().Draw(t, "expiry"),
		}
		copy(value.TopicID[:], rapid.SliceOfN(rapid.Byte(), 0, 16).Draw(t, "topic id"))
		if rapid.Bool().Draw(t, "unknown tag") {
			value.UnknownTags.Set(rapid.Uint32Range(1, 1<<20).Draw(t, "tag"), rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "body"))
		}
		want := Entry{Kind: EntryOffset, KeyType: key.Version, Group: key.Group, Offset: ledger.Offset{
			Topic: key.Topic, Partition: key.Partition, At: value.Offset, Metadata: value.Metadata,
			CommitTime: ledger.AtMillis(value.CommitTimestamp)}}
		if value.Version == 1 {
			want.Offset.ExpireTime = knownTime(value.ExpireTimestamp)
		}
		if value.Version >= 3 {
			want.Offset.LeaderEpoch = ledger.EpochOf(value.LeaderEpoch)
		}
		if value.Version >= 4 {
			want.Offset.TopicID = value.TopicID
		}
		require.Equal(t, want, d.Decode(key.AppendTo(nil), value.AppendTo(nil)))
	})
}

// Whatever the bytes, the decoder accepts the offsets that kmsg accepts, and no others.
func FuzzDecode(f *testing.F) {
	f.Add(ordersKey, []byte(nil), true)
	f.Add(ordersKey, unhex(f, "0001000000000000002a00016d0000019b76daa87b0000019b7c01047b"), false)
	f.Add(ordersKey, unhex(f, "0004000000000000002a00000007010000019b76daa87b010902aabb"), false)
	f.Add(unhex(f, "00080008"), unhex(f, "000000000001"), false)
	for _, r := range realRecords(f, "4.4.0") {
		f.Add(r.Key, r.Value, r.Value == nil)
	}
	f.Fuzz(func(t *testing.T, key, value []byte, null bool) {
		if null {
			value = nil
		} else if value == nil {
			value = []byte{}
		}
		e := Decode(key, value)
		require.Equal(t, e.Kind == EntryOpaque, e.Problem != "")
		require.Equal(t, e.Kind == EntryGroup, e.Membership != nil)
		if e.KeyType > 1 || e.KeyType < 0 || len(value) < 2 || value[0] != 0 || value[1] > maxOffsetValue {
			return
		}
		var k kmsg.OffsetCommitKey
		var v kmsg.OffsetCommitValue
		if k.ReadFrom(key) != nil || v.ReadFrom(value) != nil {
			require.Equal(t, EntryOpaque, e.Kind)
			return
		}
		require.Equal(t, EntryOffset, e.Kind, e.Problem)
		require.Equal(t, []any{k.Group, k.Topic, k.Partition, v.Offset, v.Metadata, v.CommitTimestamp, v.TopicID},
			[]any{e.Group, e.Offset.Topic, e.Offset.Partition, e.Offset.At, e.Offset.Metadata,
				millis(e.Offset.CommitTime), [16]byte(e.Offset.TopicID)})
	})
}

func millis(t ledger.Time) int64 {
	ms, _ := t.Millis()
	return ms
}
