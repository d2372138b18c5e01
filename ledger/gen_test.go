package ledger

import (
	"math"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

// Generators of events. They draw the values that Kafka and clients can store, not only those
// that make sense, and nil where a list is empty, because that is what decoding returns.

var (
	anyInt64 = rapid.OneOf(rapid.Int64(), rapid.Int64Range(0, 5), rapid.SampledFrom([]int64{
		0, -1, 1<<53 + 1, math.MaxInt64, math.MinInt64, math.MinInt64 + 1, 1<<21 - 1, 1 << 21}))
	anyInt32 = rapid.OneOf(rapid.Int32(), rapid.Int32Range(0, 3), rapid.SampledFrom([]int32{
		0, -1, math.MaxInt32, math.MinInt32}))
	anyTime  = rapid.Map(rapid.OneOf(anyInt64, rapid.Int64Range(1.7e12, 1.7e12+3000)), AtMillis)
	anyEpoch = rapid.Map(anyInt32, EpochOf)
	anyName  = rapid.OneOf(
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 12), func(b []byte) string { return string(b) }),
		rapid.SampledFrom([]string{"", "orders", "a.b", "über", "$SYS", "\x00\xff"}))
	anyUUID = rapid.OneOf(rapid.Just(uuid.Nil), rapid.Custom(func(t *rapid.T) (id uuid.UUID) {
		copy(id[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
		return id
	}))
	anyBytes = rapid.SliceOfN(rapid.Byte(), 0, 20)
)

// list draws up to most elements; none is nil. Often all are alike, or those of a few.
func list[T any](g *rapid.Generator[T], most int) *rapid.Generator[[]T] {
	return rapid.Custom(func(t *rapid.T) []T {
		n := rapid.IntRange(0, most).Draw(t, "n")
		if n == 0 {
			return nil
		}
		values := rapid.SliceOfN(g, 1, 3).Draw(t, "values")
		s := make([]T, n)
		for i := range s {
			s[i] = rapid.OneOf(rapid.SampledFrom(values), rapid.Just(values[0]), g).Draw(t, "value")
		}
		return s
	})
}

// column draws a value for each of n rows: one for all, a few, or any.
func column[T any](t *rapid.T, g *rapid.Generator[T], n int, set func(int, T)) {
	of := g
	if !rapid.Bool().Draw(t, "wild") {
		of = rapid.SampledFrom(rapid.SliceOfN(g, 1, 2).Draw(t, "values"))
	}
	for i := range n {
		set(i, of.Draw(t, "value"))
	}
}

var anyRows = rapid.Custom(func(t *rapid.T) []Offset {
	n := rapid.IntRange(0, 20).Draw(t, "rows")
	if n == 0 {
		return nil
	}
	rows := make([]Offset, n)
	column(t, anyName, n, func(i int, v string) { rows[i].Topic = v })
	column(t, anyUUID, n, func(i int, v uuid.UUID) { rows[i].TopicID = v })
	column(t, anyInt32, n, func(i int, v int32) { rows[i].Partition = v })
	column(t, anyEpoch, n, func(i int, v Epoch) { rows[i].LeaderEpoch = v })
	column(t, anyInt64, n, func(i int, v int64) { rows[i].At = v })
	column(t, anyName, n, func(i int, v string) { rows[i].Metadata = v })
	column(t, anyTime, n, func(i int, v Time) { rows[i].CommitTime = v })
	column(t, anyTime, n, func(i int, v Time) { rows[i].ExpireTime = v })
	column(t, anyTime, n, func(i int, v Time) { rows[i].Effective = v })
	column(t, anyInt64, n, func(i int, v int64) { rows[i].SourceOffset = v })
	column(t, rapid.Int16(), n, func(i int, v int16) { rows[i].ErrorCode = v })
	column(t, rapid.Uint8(), n, func(i int, v uint8) { rows[i].Flags = Flags(v) })
	if rapid.Bool().Draw(t, "neighbours") {
		for i := range rows {
			rows[i].Partition, rows[i].SourceOffset = int32(i), int64(i)+7
		}
	}
	return rows
})

var anySource = rapid.Custom(func(t *rapid.T) Source {
	return Source{
		Kind:          SourceKind(rapid.Int32Range(0, 6).Draw(t, "source")),
		Partition:     anyInt32.Draw(t, "partition"),
		LeaderEpoch:   anyEpoch.Draw(t, "epoch"),
		Offset:        anyInt64.Draw(t, "offset"),
		ProducerID:    anyInt64.Draw(t, "producer"),
		Transactional: rapid.Bool().Draw(t, "transactional"),
		Instance:      anyName.Draw(t, "instance"),
	}
})

// anyEvent has the payload of its kind and anything at all in the rest.
var anyEvent = rapid.Custom(func(t *rapid.T) Event {
	e := Event{
		ID:            anyUUID.Draw(t, "id"),
		Kind:          Kind(rapid.OneOf(rapid.Int32Range(0, 17), rapid.Int32()).Draw(t, "kind")),
		Cluster:       anyName.Draw(t, "cluster"),
		Group:         anyName.Draw(t, "group"),
		Topic:         anyName.Draw(t, "topic"),
		Time:          anyTime.Draw(t, "time"),
		NotBefore:     anyTime.Draw(t, "not before"),
		Source:        anySource.Draw(t, "source"),
		Part:          anyInt32.Draw(t, "part"),
		Parts:         anyInt32.Draw(t, "parts"),
		Reason:        anyName.Draw(t, "reason"),
		Actor:         anyName.Draw(t, "actor"),
		ActorVerified: rapid.Bool().Draw(t, "verified"),
		Plan:          anyName.Draw(t, "plan"),
		Cause:         Cause(anyInt32.Draw(t, "cause")),
		CauseInferred: rapid.Bool().Draw(t, "inferred"),
		Offsets:       anyRows.Draw(t, "offsets"),
		Updates:       anyRows.Draw(t, "updates"),
		Before:        anyRows.Draw(t, "before"),
	}
	drawPayload(t, &e)
	return e
})

func drawPayload(t *rapid.T, e *Event) {
	switch e.Kind {
	case KindGroup:
		e.Membership = ptr(anyMembership.Draw(t, "membership"))
	case KindTopic:
		e.TopicInfo = &TopicInfo{anyUUID.Draw(t, "id"), anyInt32.Draw(t, "partitions"), rapid.Bool().Draw(t, "deleted"), rapid.Bool().Draw(t, "recreated")}
	case KindWatermarks:
		e.Watermarks = &Watermarks{anyInt32.Draw(t, "shard"), rapid.Bool().Draw(t, "complete"), list(anyWatermark, 12).Draw(t, "rows"), list(anyTopicPartitions, 3).Draw(t, "unanswered")}
		if rapid.Bool().Draw(t, "many") { // so many that ends are in two columns
			e.Watermarks.Rows = append(e.Watermarks.Rows, list(anyWatermark, 2*manyEnds).Draw(t, "more rows")...)
		}
	case KindCursor:
		e.Cursor = &Cursor{anyName.Draw(t, "shard"), anyName.Draw(t, "cluster"), anyUUID.Draw(t, "id"), rapid.Bool().Draw(t, "complete"), list(anyLine, 6).Draw(t, "lines")}
	case KindGap:
		e.Gap = &Gap{rapid.Bool().Draw(t, "group"), anyInt32.Draw(t, "source"), anyInt64.Draw(t, "first"), anyInt64.Draw(t, "last"), anyTime.Draw(t, "from"), anyTime.Draw(t, "to")}
	case KindOpaque:
		e.Opaque = &Opaque{anyBytes.Draw(t, "key"), orNil(anyBytes.Draw(t, "value")), rapid.Bool().Draw(t, "null"), anyTime.Draw(t, "timestamp"), anyName.Draw(t, "problem")}
		if rapid.Bool().Draw(t, "no key") {
			e.Opaque.Key = nil
		}
	case KindClaim:
		e.Claim = &Claim{anyName.Draw(t, "instance"), anyName.Draw(t, "previous")}
	case KindCheckpoint:
		e.Checkpoint = &Checkpoint{anyName.Draw(t, "name")}
	case KindOperator:
		e.Operation = &Operation{anyName.Draw(t, "action"), anyName.Draw(t, "target"), orNil(anyBytes.Draw(t, "body"))}
	case KindSnapshot:
		e.Snapshot = &Snapshot{anyName.Draw(t, "name"), rapid.Uint64().Draw(t, "seq"), orNil(anyBytes.Draw(t, "digest")), anyInt64.Draw(t, "bytes")}
	}
}

func orNil(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}

var anyMembership = rapid.Custom(func(t *rapid.T) Membership {
	return Membership{
		Type:         GroupType(anyInt32.Draw(t, "type")),
		RecordType:   rapid.Int16().Draw(t, "record type"),
		Deleted:      rapid.Bool().Draw(t, "deleted"),
		Generation:   anyInt32.Draw(t, "generation"),
		ProtocolType: anyName.Draw(t, "protocol type"),
		Protocol:     anyName.Draw(t, "protocol"),
		Leader:       anyName.Draw(t, "leader"),
		StateTime:    anyTime.Draw(t, "state time"),
		Members:      list(anyMember, 3).Draw(t, "members"),
	}
})

var anyMember = rapid.Custom(func(t *rapid.T) Member {
	return Member{
		ID:                     anyName.Draw(t, "id"),
		InstanceID:             anyName.Draw(t, "instance"),
		ClientID:               anyName.Draw(t, "client"),
		Host:                   anyName.Draw(t, "host"),
		SessionTimeoutMillis:   anyInt32.Draw(t, "session"),
		RebalanceTimeoutMillis: anyInt32.Draw(t, "rebalance"),
		Subscriptions:          list(anyName, 3).Draw(t, "subscriptions"),
		Assigned:               list(anyTopicPartitions, 3).Draw(t, "assigned"),
	}
})

var anyTopicPartitions = rapid.Custom(func(t *rapid.T) TopicPartitions {
	return TopicPartitions{Topic: anyName.Draw(t, "topic"), TopicID: anyUUID.Draw(t, "id"),
		Partitions: list(anyInt32, 5).Draw(t, "partitions")}
})

var anyWatermark = rapid.Custom(func(t *rapid.T) Watermark {
	return Watermark{anyName.Draw(t, "topic"), anyUUID.Draw(t, "id"), anyInt32.Draw(t, "partition"),
		anyInt64.Draw(t, "start"), anyInt64.Draw(t, "stable"), anyInt64.Draw(t, "end")}
})

var anyLine = rapid.Custom(func(t *rapid.T) SourceLine {
	return SourceLine{anyInt32.Draw(t, "partition"), anyInt64.Draw(t, "next"), anyEpoch.Draw(t, "epoch"),
		anyTime.Draw(t, "effective"), anyTime.Draw(t, "through"),
		list(rapid.Custom(func(t *rapid.T) OpenTransaction {
			return OpenTransaction{ProducerID: anyInt64.Draw(t, "producer"), First: anyInt64.Draw(t, "first"),
				Since: anyTime.Draw(t, "since"), Rows: list(anyPending, 5).Draw(t, "rows")}
		}), 2).Draw(t, "open"), anyHole.Draw(t, "hole")}
})

var anyHole = rapid.Custom(func(t *rapid.T) *Hole {
	if rapid.Bool().Draw(t, "no hole") {
		return nil
	}
	return &Hole{First: anyInt64.Draw(t, "first"), Last: anyInt64.Draw(t, "last"), Until: anyInt64.Draw(t, "until"), From: anyTime.Draw(t, "from"), Removed: rapid.Bool().Draw(t, "removed")}
})

var anyPending = rapid.Custom(func(t *rapid.T) PendingOffset {
	return PendingOffset{anyName.Draw(t, "group"), anyName.Draw(t, "topic"), anyInt32.Draw(t, "partition"),
		anyInt64.Draw(t, "at"), anyInt64.Draw(t, "position")}
})

func ptr[T any](v T) *T { return &v }
