package ledger

import (
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// set sets a field of any kind but a list to what Go has for it.
func (m message) set(name string, v any) {
	switch v := v.(type) {
	case string:
		m.Set(m.fd(name), protoreflect.ValueOfBytes([]byte(v)))
	case uuid.UUID:
		m.Set(m.fd(name), protoreflect.ValueOfBytes(v[:]))
	case protoreflect.EnumNumber:
		m.Set(m.fd(name), protoreflect.ValueOfEnum(v))
	default:
		m.Set(m.fd(name), protoreflect.ValueOf(v))
	}
}

// add adds an element to a list.
func (m message) add(name string, v any) {
	m.Mutable(m.fd(name)).List().Append(protoreflect.ValueOf(v))
}

func (m message) setTime(name string, t Time, event int64) {
	if ms, ok := t.Millis(); ok {
		m.set(name, ms-event)
	}
}

func (m message) make(name string) message { return message{m.Mutable(m.fd(name)).Message()} }

func (m message) grow(name string) message {
	return message{m.Mutable(m.fd(name)).List().AppendMutable().Message()}
}

// raw is a time as a number, unknown or not.
func raw(t Time) int64 { ms, _ := t.Millis(); return ms }

func foreignWrite(t require.TestingT, fd protoreflect.FileDescriptor, e Event) []byte {
	m := message{dynamicpb.NewMessage(fd.Messages().ByName("Event"))}
	var idMillis int64
	for _, c := range e.ID[:6] {
		idMillis = idMillis*256 + int64(c)
	}
	at := raw(e.Time)
	m.set("id", e.ID)
	m.set("kind", protoreflect.EnumNumber(e.Kind))
	m.set("cluster", e.Cluster)
	m.set("group", e.Group)
	m.set("topic", e.Topic)
	m.set("time", at-idMillis)
	m.setTime("not_before", e.NotBefore, at)
	m.set("reason", e.Reason)
	m.set("actor", e.Actor)
	m.set("actor_verified", e.ActorVerified)
	m.set("plan", e.Plan)
	m.set("cause", protoreflect.EnumNumber(e.Cause))
	m.set("cause_inferred", e.CauseInferred)
	m.set("part", e.Part)
	m.set("parts", e.Parts)
	s := m.make("source")
	s.set("kind", protoreflect.EnumNumber(e.Source.Kind))
	s.set("partition", e.Source.Partition)
	if n, ok := e.Source.LeaderEpoch.Get(); ok {
		s.set("leader_epoch", n)
	}
	s.set("offset", e.Source.Offset)
	s.set("transactional", e.Source.Transactional)
	s.set("producer_id", e.Source.ProducerID)
	s.set("instance", e.Source.Instance)
	writeRows(m.make("offsets"), e.Offsets, at, e.Source)
	writeRows(m.make("updates"), e.Updates, at, e.Source)
	writeRows(m.make("before"), e.Before, at, e.Source)
	writePayload(m, &e, at)
	b, err := proto.Marshal(m.Interface())
	require.NoError(t, err)
	return b
}

// writeKey writes a row of a list as a run and a topic of its own.
func writeKey(m message, i int, topic string, id uuid.UUID, partition int32) {
	m.set("rows", uint32(i+1))
	m.add("topic", []byte(topic))
	if m.fd("topic_id") != nil {
		m.add("topic_id", id[:])
	}
	m.add("run_rows", uint32(1))
	m.add("run_topic", uint32(i))
	m.add("partition", partition)
}

func writeRows(m message, rows []Offset, at int64, s Source) {
	before := at
	for i, r := range rows {
		writeKey(m, i, r.Topic, r.TopicID, r.Partition)
		m.add("at", uint64(r.At))
		m.add("leader_epoch", uint32(r.LeaderEpoch.Kafka()+1))
		m.add("metadata", []byte(r.Metadata))
		m.add("effective", raw(r.Effective)-before)
		before = raw(r.Effective)
		m.add("commit_time", raw(r.CommitTime)-raw(r.Effective))
		m.add("expire_time", raw(r.ExpireTime)-raw(r.CommitTime))
		expected := s.Offset
		if s.Kind == SourceTail {
			expected += int64(i)
		}
		m.add("source_offset", r.SourceOffset-expected)
		m.add("error_code", int32(r.ErrorCode))
		m.add("flags", uint32(r.Flags))
	}
}

func writePayload(m message, e *Event, at int64) {
	switch {
	case e.Membership != nil:
		writeMembership(m.make("membership"), e.Membership, at)
	case e.TopicInfo != nil:
		p := m.make("topic_info")
		p.set("topic_id", e.TopicInfo.TopicID)
		p.set("partitions", e.TopicInfo.Partitions)
		p.set("deleted", e.TopicInfo.Deleted)
		p.set("recreated", e.TopicInfo.Recreated)
	case e.Watermarks != nil:
		p := m.make("watermarks")
		p.set("shard", e.Watermarks.Shard)
		p.set("complete", e.Watermarks.Complete)
		for i, r := range e.Watermarks.Rows {
			writeKey(p, i, r.Topic, r.TopicID, r.Partition)
			p.add("log_end", uint64(r.LogEnd))
			p.add("last_stable", r.LogEnd-r.LastStable)
			p.add("log_start", r.LogStart)
		}
		writeTopicPartitions(p, "unanswered", e.Watermarks.Unanswered)
	case e.Cursor != nil:
		writeCursor(m.make("cursor"), e.Cursor, at)
	case e.Gap != nil:
		p := m.make("gap")
		p.set("of_group", e.Gap.OfGroup)
		p.set("source_partition", e.Gap.SourcePartition)
		p.set("first", e.Gap.First)
		p.set("last", e.Gap.Last)
		p.setTime("from", e.Gap.From, at)
		p.setTime("to", e.Gap.To, at)
	case e.Opaque != nil:
		p := m.make("opaque")
		if e.Opaque.Key != nil {
			p.set("key", e.Opaque.Key)
		}
		p.set("value", e.Opaque.Value)
		p.set("value_null", e.Opaque.ValueNull)
		p.setTime("timestamp", e.Opaque.Timestamp, at)
		p.set("problem", e.Opaque.Problem)
	case e.Claim != nil:
		p := m.make("claim")
		p.set("instance", e.Claim.Instance)
		p.set("previous", e.Claim.Previous)
	case e.Checkpoint != nil:
		m.make("checkpoint").set("name", e.Checkpoint.Name)
	case e.Operation != nil:
		p := m.make("operation")
		p.set("action", e.Operation.Action)
		p.set("target", e.Operation.Target)
		p.set("body", e.Operation.Body)
	case e.Snapshot != nil:
		p := m.make("snapshot")
		p.set("name", e.Snapshot.Name)
		p.set("seq", e.Snapshot.Seq)
		p.set("digest", e.Snapshot.Digest)
		p.set("size_bytes", e.Snapshot.Bytes)
	}
}

func writeMembership(p message, g *Membership, at int64) {
	p.set("type", protoreflect.EnumNumber(g.Type))
	p.set("record_type", int32(g.RecordType))
	p.set("deleted", g.Deleted)
	p.set("generation", g.Generation)
	p.set("protocol_type", g.ProtocolType)
	p.set("protocol", g.Protocol)
	p.set("leader", g.Leader)
	p.setTime("state_time", g.StateTime, at)
	for _, member := range g.Members {
		q := p.grow("members")
		q.set("id", member.ID)
		q.set("instance_id", member.InstanceID)
		q.set("client_id", member.ClientID)
		q.set("host", member.Host)
		q.set("session_timeout_millis", member.SessionTimeoutMillis)
		q.set("rebalance_timeout_millis", member.RebalanceTimeoutMillis)
		for _, s := range member.Subscriptions {
			q.add("subscriptions", []byte(s))
		}
		writeTopicPartitions(q, "assigned", member.Assigned)
	}
}

func writeTopicPartitions(m message, field string, all []TopicPartitions) {
	for _, one := range all {
		p := m.grow(field)
		p.set("topic", one.Topic)
		p.set("topic_id", one.TopicID)
		next := int32(0)
		for _, partition := range one.Partitions {
			p.add("partitions", partition-next)
			next = partition + 1
		}
	}
}

func writeCursor(p message, c *Cursor, at int64) {
	p.set("shard", c.Shard)
	p.set("kafka_cluster_id", c.KafkaClusterID)
	p.set("topic_id", c.TopicID)
	p.set("complete", c.Complete)
	p.set("lines", uint32(len(c.Lines)))
	effective, through := at, at
	for i, l := range c.Lines {
		p.add("partition", l.Partition-int32(i))
		p.add("next", uint64(l.Next))
		p.add("leader_epoch", uint32(l.LeaderEpoch.Kafka()+1))
		p.add("max_effective", raw(l.MaxEffective)-effective)
		p.add("complete_through", raw(l.CompleteThrough)-through)
		effective, through = raw(l.MaxEffective), raw(l.CompleteThrough)
		for _, o := range l.Open {
			q := p.grow("open")
			q.set("line", uint32(i))
			q.set("producer_id", o.ProducerID)
			q.set("first", o.First)
			q.setTime("since", o.Since, at)
			for j, r := range o.Rows {
				writeKey(q, j, r.Topic, uuid.Nil, r.Partition)
				q.add("group", []byte(r.Group))
				q.add("at", uint64(r.At))
				q.add("position", r.Position-o.First-int64(j))
			}
		}
		if h := l.Hole; h != nil {
			q := p.grow("hole")
			q.set("line", uint32(i))
			q.set("first", h.First)
			q.set("last", h.Last)
			q.set("until", h.Until)
			q.setTime("from", h.From, at)
			q.set("removed", h.Removed)
		}
	}
}
