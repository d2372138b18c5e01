package ledger

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"pgregory.net/rapid"
)

// A program in another language has docs/event.proto and docs/format.md and nothing else. The
// reader and the writer here are such a program: protobuf's own decoder and encoder, and the
// rules of format.md written down in the plainest way.

// A foreign reader understands what we write.
func TestForeignReader(t *testing.T) {
	fd := parseProto(t)
	for name, e := range goldenEvents() {
		if name != "newer" {
			require.Equal(t, e, foreignRead(t, fd, encoded(t, e)), name)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		e := anyEvent.Draw(t, "event")
		require.Equal(t, e, foreignRead(t, fd, encoded(t, e)))
	})
}

// We understand what a foreign writer writes, who spares himself all that makes events small:
// no bases, a run for every row, every element of every column.
func TestForeignWriter(t *testing.T) {
	fd := parseProto(t)
	rapid.Check(t, func(t *rapid.T) {
		e := anyEvent.Draw(t, "event")
		back, err := Decode(foreignWrite(t, fd, e))
		require.NoError(t, err)
		require.Equal(t, e, back)
	})
}

// message is a dynamic message with fields by name.
type message struct{ protoreflect.Message }

func (m message) fd(name string) protoreflect.FieldDescriptor {
	return m.Descriptor().Fields().ByName(protoreflect.Name(name))
}
func (m message) int(name string) int64              { return m.Get(m.fd(name)).Int() }
func (m message) enum(name string) int32             { return int32(m.Get(m.fd(name)).Enum()) }
func (m message) uint(name string) uint64            { return m.Get(m.fd(name)).Uint() }
func (m message) bool(name string) bool              { return m.Get(m.fd(name)).Bool() }
func (m message) string(name string) string          { return string(m.Get(m.fd(name)).Bytes()) }
func (m message) bytes(name string) []byte           { return orNil(m.Get(m.fd(name)).Bytes()) }
func (m message) uuid(name string) (id uuid.UUID)    { copy(id[:], m.bytes(name)); return id }
func (m message) has(name string) bool               { return m.Has(m.fd(name)) }
func (m message) list(name string) protoreflect.List { return m.Get(m.fd(name)).List() }
func (m message) child(name string) message          { return message{m.Get(m.fd(name)).Message()} }

func (m message) epoch(name string) Epoch {
	if !m.has(name) {
		return Epoch{}
	}
	return EpochOf(int32(m.int(name)))
}

func (m message) time(name string, event int64) Time {
	if !m.has(name) {
		return Time{}
	}
	return AtMillis(event + m.int(name))
}

// elem is the element of row i by the rule of columns, and false if the column is absent.
func (m message) elem(name string, i int) (protoreflect.Value, bool) {
	switch l := m.list(name); l.Len() {
	case 0:
		return protoreflect.Value{}, false
	case 1:
		return l.Get(0), true
	default:
		return l.Get(i), true
	}
}

func (m message) sint(name string, i int) int64 {
	if v, ok := m.elem(name, i); ok {
		return v.Int()
	}
	return 0
}

func (m message) unsigned(name string, i int) uint64 {
	if v, ok := m.elem(name, i); ok {
		return v.Uint()
	}
	return 0
}

func (m message) text(name string, i int) string {
	if v, ok := m.elem(name, i); ok {
		return string(v.Bytes())
	}
	return ""
}

// base is what the offset of row i is a difference to.
func (m message) base(name string, i int) int64 {
	run := 0
	for l := m.list("run_rows"); run < l.Len() && i >= int(l.Get(run).Uint()); run++ {
		i -= int(l.Get(run).Uint())
	}
	return m.sint(name, run)
}

// moment is the element of a column of moments: alone it is that of all rows.
func (m message) moment(name string, i int, event int64, absent Time) Time {
	l := m.list(name)
	if l.Len() == 0 {
		return absent
	}
	ms := event
	for j := 0; j <= i && j < l.Len(); j++ {
		ms += l.Get(j).Int()
	}
	return AtMillis(ms)
}

func foreignRead(t require.TestingT, fd protoreflect.FileDescriptor, b []byte) Event {
	m := message{dynamicpb.NewMessage(fd.Messages().ByName("Event"))}
	require.NoError(t, proto.Unmarshal(b, m.Interface()))
	var e Event
	e.ID, e.Kind = m.uuid("id"), Kind(m.enum("kind"))
	e.Cluster, e.Group, e.Topic = m.string("cluster"), m.string("group"), m.string("topic")
	var idMillis int64
	for _, c := range e.ID[:6] {
		idMillis = idMillis*256 + int64(c)
	}
	at := idMillis + m.int("time")
	e.Time, e.NotBefore = AtMillis(at), m.time("not_before", at)
	s := m.child("source")
	e.Source = Source{SourceKind(s.enum("kind")), int32(s.int("partition")), s.epoch("leader_epoch"), s.int("offset"),
		s.int("producer_id"), s.bool("transactional"), s.string("instance")}
	e.Reason, e.Actor, e.Plan = m.string("reason"), m.string("actor"), m.string("plan")
	e.ActorVerified, e.CauseInferred = m.bool("actor_verified"), m.bool("cause_inferred")
	e.Cause, e.Part, e.Parts = Cause(m.enum("cause")), int32(m.int("part")), int32(m.int("parts"))
	e.Offsets = foreignRows(m.child("offsets"), at, e.Source)
	e.Updates = foreignRows(m.child("updates"), at, e.Source)
	e.Before = foreignRows(m.child("before"), at, e.Source)
	foreignPayload(m, at, &e)
	return e
}

// foreignKeys calls row with what 1 to 6 of a list of rows say.
func foreignKeys(m message, row func(i int, topic string, id uuid.UUID, partition int32)) int {
	n := int(m.uint("rows"))
	i := 0
	for run := 0; i < n; run++ {
		length, topic := n, run
		if l := m.list("run_rows"); l.Len() > 0 {
			length = int(l.Get(run).Uint())
		}
		if l := m.list("run_topic"); l.Len() > 0 {
			topic = int(l.Get(run).Uint())
		}
		var id uuid.UUID
		if m.fd("topic_id") != nil && m.list("topic_id").Len() > 0 {
			copy(id[:], m.list("topic_id").Get(topic).Bytes())
		}
		next := int32(0)
		for range length {
			p := next + int32(m.sint("partition", i))
			row(i, string(m.list("topic").Get(topic).Bytes()), id, p)
			next = p + 1
			i++
		}
	}
	return n
}

func foreignRows(m message, at int64, s Source) []Offset {
	if m.uint("rows") == 0 {
		return nil
	}
	rows := make([]Offset, m.uint("rows"))
	foreignKeys(m, func(i int, topic string, id uuid.UUID, p int32) {
		r := &rows[i]
		r.Topic, r.TopicID, r.Partition = topic, id, p
		r.At = m.base("at_base", i) + int64(m.unsigned("at", i))
		r.LeaderEpoch = EpochOf(int32(uint32(m.unsigned("leader_epoch", i))) - 1)
		r.Metadata = m.text("metadata", i)
		r.Effective = m.moment("effective", i, at, AtMillis(at))
		effective := int64(r.Effective.biased ^ signBit)
		commit := effective + m.sint("commit_time", i)
		r.CommitTime = AtMillis(commit)
		if m.list("expire_time").Len() > 0 {
			r.ExpireTime = AtMillis(commit + m.sint("expire_time", i))
		}
		r.SourceOffset = s.Offset + m.sint("source_offset", i)
		if s.Kind == SourceTail {
			r.SourceOffset += int64(i)
		}
		r.ErrorCode = int16(m.sint("error_code", i))
		r.Flags = Flags(m.unsigned("flags", i))
	})
	return rows
}

func foreignPayload(m message, at int64, e *Event) {
	if m.has("membership") {
		e.Membership = foreignMembership(m.child("membership"), at)
	}
	if p := m.child("topic_info"); m.has("topic_info") {
		e.TopicInfo = &TopicInfo{p.uuid("topic_id"), int32(p.int("partitions")), p.bool("deleted"), p.bool("recreated")}
	}
	if p := m.child("watermarks"); m.has("watermarks") {
		e.Watermarks = &Watermarks{Shard: int32(p.int("shard")), Complete: p.bool("complete")}
		foreignKeys(p, func(i int, topic string, id uuid.UUID, partition int32) {
			end := p.base("log_end_base", i) + int64(p.unsigned("log_end", i)) + 16384*int64(p.unsigned("log_end_high", i))
			e.Watermarks.Rows = append(e.Watermarks.Rows, Watermark{topic, id, partition, p.sint("log_start", i), end - p.sint("last_stable", i), end})
		})
		e.Watermarks.Unanswered = foreignTopicPartitions(p, "unanswered")
	}
	if m.has("cursor") {
		e.Cursor = foreignCursor(m.child("cursor"), at)
	}
	if p := m.child("gap"); m.has("gap") {
		e.Gap = &Gap{p.bool("of_group"), int32(p.int("source_partition")), p.int("first"), p.int("last"), p.time("from", at), p.time("to", at)}
	}
	if p := m.child("opaque"); m.has("opaque") {
		e.Opaque = &Opaque{nil, p.bytes("value"), p.bool("value_null"), p.time("timestamp", at), p.string("problem")}
		if p.has("key") {
			e.Opaque.Key = append([]byte{}, p.bytes("key")...)
		}
	}
	if p := m.child("claim"); m.has("claim") {
		e.Claim = &Claim{p.string("instance"), p.string("previous")}
	}
	if p := m.child("checkpoint"); m.has("checkpoint") {
		e.Checkpoint = &Checkpoint{p.string("name")}
	}
	if p := m.child("operation"); m.has("operation") {
		e.Operation = &Operation{p.string("action"), p.string("target"), p.bytes("body")}
	}
	if p := m.child("snapshot"); m.has("snapshot") {
		e.Snapshot = &Snapshot{p.string("name"), p.uint("seq"), p.bytes("digest"), p.int("size_bytes")}
	}
}

func foreignMembership(p message, at int64) *Membership {
	g := &Membership{Type: GroupType(p.enum("type")), RecordType: int16(p.int("record_type")), Deleted: p.bool("deleted"),
		Generation: int32(p.int("generation")), ProtocolType: p.string("protocol_type"), Protocol: p.string("protocol"),
		Leader: p.string("leader"), StateTime: p.time("state_time", at)}
	for i := range p.list("members").Len() {
		q := message{p.list("members").Get(i).Message()}
		member := Member{ID: q.string("id"), InstanceID: q.string("instance_id"), ClientID: q.string("client_id"), Host: q.string("host"),
			SessionTimeoutMillis: int32(q.int("session_timeout_millis")), RebalanceTimeoutMillis: int32(q.int("rebalance_timeout_millis"))}
		for j := range q.list("subscriptions").Len() {
			member.Subscriptions = append(member.Subscriptions, string(q.list("subscriptions").Get(j).Bytes()))
		}
		member.Assigned = foreignTopicPartitions(q, "assigned")
		g.Members = append(g.Members, member)
	}
	return g
}

func foreignTopicPartitions(m message, field string) (all []TopicPartitions) {
	for i := range m.list(field).Len() {
		p := message{m.list(field).Get(i).Message()}
		one := TopicPartitions{Topic: p.string("topic"), TopicID: p.uuid("topic_id")}
		next := int32(0)
		for k := range p.list("partitions").Len() {
			next += int32(p.list("partitions").Get(k).Int())
			one.Partitions = append(one.Partitions, next)
			next++
		}
		all = append(all, one)
	}
	return all
}

func foreignCursor(p message, at int64) *Cursor {
	c := &Cursor{Shard: p.string("shard"), KafkaClusterID: p.string("kafka_cluster_id"), TopicID: p.uuid("topic_id"), Complete: p.bool("complete")}
	for i := range int(p.uint("lines")) {
		c.Lines = append(c.Lines, SourceLine{
			Partition:       int32(i) + int32(p.sint("partition", i)),
			Next:            p.sint("next_base", 0) + int64(p.unsigned("next", i)),
			LeaderEpoch:     EpochOf(int32(uint32(p.unsigned("leader_epoch", i))) - 1),
			MaxEffective:    p.moment("max_effective", i, at, Time{}),
			CompleteThrough: p.moment("complete_through", i, at, Time{}),
		})
	}
	for i := range p.list("open").Len() {
		q := message{p.list("open").Get(i).Message()}
		o := OpenTransaction{ProducerID: q.int("producer_id"), First: q.int("first"), Since: q.time("since", at)}
		foreignKeys(q, func(i int, topic string, _ uuid.UUID, partition int32) {
			o.Rows = append(o.Rows, PendingOffset{q.text("group", i), topic, partition,
				q.base("at_base", i) + int64(q.unsigned("at", i)), o.First + int64(i) + q.sint("position", i)})
		})
		line := &c.Lines[q.uint("line")]
		line.Open = append(line.Open, o)
	}
	for i := range p.list("hole").Len() {
		q := message{p.list("hole").Get(i).Message()}
		c.Lines[q.uint("line")].Hole = &Hole{First: q.int("first"), Last: q.int("last"), Until: q.int("until"), From: q.time("from", at), Removed: q.bool("removed")}
	}
	return c
}
