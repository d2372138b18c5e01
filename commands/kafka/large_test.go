package kafka

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/ledgertest"
)

// storeAll appends what a line gave out, with its cursor, as capture does.
func storeAll(t *testing.T, lt *lineTest, events []ledger.Event) {
	t.Helper()
	room := cursorRoom
	cursor := ledger.Event{
		Kind: ledger.KindCursor, Cluster: "c", Time: lt.now, Source: ledger.Source{Kind: ledger.SourceTail},
		Cursor: &ledger.Cursor{Shard: ledger.CursorShardAll, Lines: []ledger.SourceLine{lt.line.cursor(&room)}},
	}
	_, err := ledgertest.New(t).Append(t.Context(), append(events[:len(events):len(events)], cursor))
	require.NoError(t, err)
}

// One member subscribes to so many topics that it alone is larger than an event can be. The
// group's record is kept as it is, and capture goes on.
func TestMemberTooLargeForAnEvent(t *testing.T) {
	s, lt := &source{at: 1000}, newLineTest(t)
	const topics = 940 << 10 / 252
	sub := binary.BigEndian.AppendUint16(nil, 0)
	sub = binary.BigEndian.AppendUint32(sub, topics)
	for i := range topics {
		name := fmt.Sprintf("%05d", i) + strings.Repeat("x", 244)
		sub = binary.BigEndian.AppendUint16(sub, uint16(len(name)))
		sub = append(sub, name...)
	}
	value := kmsg.NewGroupMetadataValue()
	value.Version, value.ProtocolType, value.Generation = 3, "consumer", 1
	member := kmsg.NewGroupMetadataValueMember()
	member.MemberID, member.Subscription = "m", sub
	value.Members = append(value.Members, member)
	key := kmsg.NewGroupMetadataKey()
	key.Version, key.Group = 2, "g"

	events := lt.feed(s.append(&kgo.Record{Key: key.AppendTo(nil), Value: value.AppendTo(nil)}, -1, false))
	require.Equal(t, []string{"opaque"}, kinds(events))
	require.Contains(t, events[0].Opaque.Problem, "too large")
	storeAll(t, lt, events)
}

// A group with more partitions than one event may have rows loses them all in one millisecond.
func TestRunOfMoreRowsThanAnEventMayHave(t *testing.T) {
	s, lt := &source{at: 1000}, newLineTest(t)
	for p := range int32(ledger.MaxRows + 4000) {
		s.tombstone("g", "t", p)
	}
	storeAll(t, lt, lt.feed(s.all...))
}
