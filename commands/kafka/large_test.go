package kafka

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
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

// Brokers with a raised max.message.bytes hold records and batches that are larger than
// anything the ledger stores at once. Each is told: as it is, in parts, or cut, with its size
// and digest. Capture never stops, and nothing is passed over in silence.
func TestRecordsLargerThanAnAppendDoNotStopCapture(t *testing.T) {
	fake := startFake(t, kafkatest.FakeConfig{Partitions: 1})
	key := kafkatest.OffsetKey("g", "t", 0)
	records := commits("g", "t", 0, 1)
	for _, size := range []int{2900 << 10, 2900 << 10, 2900 << 10, 3900 << 10, 9 << 20} {
		records = append(records, &kgo.Record{Key: key, Value: unknownVersion(size)})
	}
	huge := kafkatest.Commit{Group: "g", Topic: "t", Partition: 1, At: 5, LeaderEpoch: -1, Version: 4, Metadata: strings.Repeat("m", 2<<20)}.Record()
	members := largeGroup(t, 12_000)
	records = append(append(records, huge, members), commits("g", "t", 0, 2)...)
	writeLarge(t, fake, records)

	log := ledgertest.New(t)
	r := capture(t, fake, log, nil)
	r.ready()
	require.ErrorIs(t, r.kill(), context.Canceled)
	require.Equal(t, []int64{1, 2}, allAts(eventsOf(t, log, ledger.KindCommitted)))
	var whole []ledger.Event
	var parts []ledger.Event
	for _, e := range eventsOf(t, log, ledger.KindOpaque) {
		if parts = append(parts, e); e.Part == e.Parts {
			joined, err := ledger.Join(parts)
			require.NoError(t, err)
			whole, parts = append(whole, joined), nil
		}
	}
	require.Len(t, whole, 7)
	for i, e := range whole {
		value := records[1+i].Value
		require.Equal(t, records[1+i].Key, e.Opaque.Key)
		if len(value) <= maxEventBytes-len(records[1+i].Key) {
			require.Equal(t, value, e.Opaque.Value)
			continue
		}
		require.Equal(t, value[:keptValue], e.Opaque.Value)
		require.Contains(t, e.Opaque.Problem, fmt.Sprintf("value of %d bytes, SHA-256 %x", len(value), sha256.Sum256(value)))
	}
	require.Contains(t, whole[5].Opaque.Problem, "metadata too large")
	require.Contains(t, whole[6].Opaque.Problem, "a group too large")
}

// Whatever is fed after whatever stood in the batch before, it never becomes more than one
// append holds, and no request is cut that a broker takes by default.
func TestBatchesHoldWhatTheLogTakes(t *testing.T) {
	log := ledgertest.New(t)
	tail := &Tail{cfg: TailConfig{Cluster: "c", Log: log}, lines: map[int32]*sourceLine{}}
	tail.cfg.setDefaults()
	tail.shared = lineShared{cluster: "c", out: &batch{}}
	line := newLine(&tail.shared, 0, 0)
	tail.lines[0] = line
	ctx, sent := startAppending(t, tail)

	s := &source{at: 1000}
	metadata := strings.Repeat("m", 30<<10)
	for request := range 40 {
		for p := range int32(30) {
			v := kmsg.NewOffsetCommitValue()
			v.Version, v.Offset, v.LeaderEpoch, v.CommitTimestamp, v.Metadata = 3, int64(request), -1, s.at, metadata
			s.append(&kgo.Record{Key: kafkatest.OffsetKey("g", "t", p), Value: v.AppendTo(nil)}, -1, false)
		}
		s.at++
		if request%10 == 9 {
			s.append(&kgo.Record{Key: kafkatest.OffsetKey("g", "t", 0), Value: unknownVersion(3 << 20)}, -1, false)
		}
	}
	now := ledger.AtMillis(farFuture)
	for i := range s.all {
		require.NoError(t, tail.makeRoom(ctx, line, &s.all[i], now))
		require.NoError(t, line.feed(&s.all[i], now))
		require.LessOrEqual(t, tail.shared.out.bytes, maxBatchBytes+maxRunBytes)
	}
	line.flush(now)
	require.NoError(t, tail.send(ctx))
	sent()
	committed := eventsOf(t, log, ledger.KindCommitted)
	rows := map[int64]int{}
	for _, e := range committed {
		rows[e.Offsets[0].At] += len(e.Offsets)
		if e.Parts == 0 {
			require.Len(t, e.Offsets, 30)
		}
	}
	require.Len(t, rows, 40)
	for request, n := range rows {
		require.Equal(t, 30, n, "request %d", request)
	}
}

// unknownVersion is a value that nobody can decode.
func unknownVersion(size int) []byte { return append([]byte{0, 99}, make([]byte, size-2)...) }

// startAppending runs the appending half of a tail, without Kafka. The returned context ends
// with it; the function waits until everything that was sent is stored.
func startAppending(t *testing.T, tail *Tail) (context.Context, func()) {
	tail.toAppend, tail.spare = make(chan *appendJob), make(chan *batch, 2)
	tail.spare <- &batch{}
	tail.board.ready = make(chan struct{})
	var err error
	tail.watermarks, err = NewObserver(ObserverConfig{Client: new(kgo.Client), Cluster: "c"})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		defer stop()
		done <- tail.append(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-done
	})
	return ctx, func() {
		_, err := tail.settle(ctx)
		require.NoError(t, err)
	}
}

// largeGroup is the record of a classic group of n members, each with a subscription of 400
// bytes.
func largeGroup(t *testing.T, n int) *kgo.Record {
	t.Helper()
	value := kmsg.NewGroupMetadataValue()
	value.Version, value.ProtocolType, value.Generation = 3, "consumer", 1
	for i := range n {
		m := kmsg.NewGroupMetadataValueMember()
		m.MemberID, m.ClientID = fmt.Sprintf("member-%d-%s", i, strings.Repeat("x", 400)), "client"
		value.Members = append(value.Members, m)
	}
	key := kmsg.NewGroupMetadataKey()
	key.Version, key.Group = 2, "g"
	return &kgo.Record{Key: key.AppendTo(nil), Value: value.AppendTo(nil)}
}

// writeLarge writes records to the one partition of __consumer_offsets, whatever their size.
func writeLarge(t *testing.T, fake *kafkatest.Fake, records []*kgo.Record) {
	t.Helper()
	client, err := kgo.NewClient(fake.Options(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DisableIdempotentWrite(),
		kgo.ProducerBatchMaxBytes(32<<20), kgo.MaxBufferedBytes(64<<20), kgo.ProducerBatchCompression(kgo.NoCompression()))...)
	require.NoError(t, err)
	defer client.Close()
	alterOffsetsTopic(t, client, "max.message.bytes", "67108864")
	for _, r := range records {
		r.Topic = offsetsTopic
	}
	require.NoError(t, client.ProduceSync(t.Context(), records...).FirstErr())
}
