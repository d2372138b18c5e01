package ledger

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// MaxRows is the most rows that one event can hold, over all its lists: a row may cost no
// bytes, so the number of them is bounded by itself and not by the length of the message.
const MaxRows = 1 << 16

// AppendBinary appends the encoding of e to b, as docs/event.proto specifies it. It encodes
// whatever e says; that an event says what its kind needs is for [Event.Validate]. The only
// error is [ErrTooLarge], for more than [MaxRows] rows; how many bytes a message may have is
// for [Event.Split].
func (e *Event) AppendBinary(b []byte) ([]byte, error) {
	if n := e.rowCount(); n > MaxRows {
		return b, fmt.Errorf("encode event: %d rows, and at most %d fit: %w", n, MaxRows, ErrTooLarge)
	}
	b = putUUID(b, 1, e.ID)
	b = putInt(b, 2, int64(e.Kind))
	b = putString(b, 3, e.Cluster)
	b = putString(b, 4, e.Group)
	b = putString(b, 5, e.Topic)
	b = putSint(b, 6, e.Time.diff(idTime(e.ID)))
	b = e.appendSource(b)
	b = e.appendRows(b, 8, e.Offsets)
	b = e.appendRows(b, 9, e.Updates)
	b = e.appendRows(b, 10, e.Before)
	b = putTime(b, 11, e.NotBefore, e.Time)
	b = putString(b, 12, e.Reason)
	b = putString(b, 13, e.Actor)
	b = putBool(b, 14, e.ActorVerified)
	b = putString(b, 15, e.Plan)
	b = putInt(b, 16, int64(e.Cause))
	b = putBool(b, 17, e.CauseInferred)
	b = putInt(b, 18, int64(e.Part))
	b = putInt(b, 19, int64(e.Parts))
	b = e.appendPayload(b)
	return append(b, e.unknown...), nil
}

// rowCount is the number of rows of all lists that are stored as columns.
func (e *Event) rowCount() int {
	n := len(e.Offsets) + len(e.Updates) + len(e.Before)
	if e.Watermarks != nil {
		n += len(e.Watermarks.Rows)
	}
	if e.Cursor != nil {
		n += len(e.Cursor.Lines)
		for i := range e.Cursor.Lines {
			for j := range e.Cursor.Lines[i].Open {
				n += len(e.Cursor.Lines[i].Open[j].Rows)
			}
		}
	}
	return n
}

// appendSource leaves out the whole message when there is nothing to say.
func (e *Event) appendSource(b []byte) []byte {
	s, start := &e.Source, len(b)
	b, mark := open(b, 7)
	b = putInt(b, 1, int64(s.Kind))
	b = putInt(b, 2, int64(s.Partition))
	b = putEpoch(b, 3, s.LeaderEpoch)
	b = putInt(b, 4, s.Offset)
	b = putBool(b, 5, s.Transactional)
	b = putSint(b, 6, s.ProducerID)
	b = putString(b, 7, s.Instance)
	b = append(b, e.unknownOf(7)...)
	if len(b) == mark {
		return b[:start]
	}
	return shut(b, mark)
}

// appendPayload writes the payloads that are there, by kind at most one.
func (e *Event) appendPayload(b []byte) []byte {
	if e.Membership != nil {
		b = e.appendMembership(b, e.Membership)
	}
	if e.TopicInfo != nil {
		b = e.appendTopicInfo(b, e.TopicInfo)
	}
	if e.Watermarks != nil {
		b = e.appendWatermarks(b, e.Watermarks)
	}
	if e.Cursor != nil {
		b = e.appendCursor(b, e.Cursor)
	}
	if e.Gap != nil {
		b = e.appendGap(b, e.Gap)
	}
	if e.Opaque != nil {
		b = e.appendOpaque(b, e.Opaque)
	}
	if e.Claim != nil {
		b = e.appendClaim(b, e.Claim)
	}
	if e.Checkpoint != nil {
		b = e.appendCheckpoint(b, e.Checkpoint)
	}
	if e.Operation != nil {
		b = e.appendOperation(b, e.Operation)
	}
	if e.Snapshot != nil {
		b = e.appendSnapshot(b, e.Snapshot)
	}
	return b
}

func (e *Event) appendMembership(b []byte, m *Membership) []byte {
	b, mark := open(b, 20)
	b = putInt(b, 1, int64(m.Type))
	b = putInt(b, 2, int64(m.RecordType))
	b = putBool(b, 3, m.Deleted)
	b = putInt(b, 4, int64(m.Generation))
	b = putString(b, 5, m.ProtocolType)
	b = putString(b, 6, m.Protocol)
	b = putString(b, 7, m.Leader)
	b = putTime(b, 8, m.StateTime, e.Time)
	for i := range m.Members {
		b = appendMember(b, &m.Members[i])
	}
	return shut(append(b, e.unknownOf(20)...), mark)
}

func appendMember(b []byte, m *Member) []byte {
	b, mark := open(b, 9)
	b = putString(b, 1, m.ID)
	b = putString(b, 2, m.InstanceID)
	b = putString(b, 3, m.ClientID)
	b = putString(b, 4, m.Host)
	b = putInt(b, 5, int64(m.SessionTimeoutMillis))
	b = putInt(b, 6, int64(m.RebalanceTimeoutMillis))
	for _, s := range m.Subscriptions {
		b = protowire.AppendString(protowire.AppendTag(b, 7, protowire.BytesType), s)
	}
	for i := range m.Assigned {
		b = appendTopicPartitions(b, 8, &m.Assigned[i])
	}
	return shut(append(b, m.unknown...), mark)
}

func appendTopicPartitions(b []byte, num protowire.Number, t *TopicPartitions) []byte {
	b, mark := open(b, num)
	b = putString(b, 1, t.Topic)
	b = putUUID(b, 2, t.TopicID)
	if len(t.Partitions) > 0 {
		inner, start := open(b, 3)
		next := int32(0)
		for _, p := range t.Partitions {
			inner = protowire.AppendVarint(inner, zigzag32(p-next))
			next = p + 1
		}
		b = shut(inner, start)
	}
	return shut(append(b, t.unknown...), mark)
}

func (e *Event) appendTopicInfo(b []byte, t *TopicInfo) []byte {
	b, mark := open(b, 21)
	b = putUUID(b, 1, t.TopicID)
	b = putInt(b, 2, int64(t.Partitions))
	b = putBool(b, 3, t.Deleted)
	b = putBool(b, 4, t.Recreated)
	return shut(append(b, e.unknownOf(21)...), mark)
}

func (e *Event) appendGap(b []byte, g *Gap) []byte {
	b, mark := open(b, 24)
	b = putBool(b, 1, g.OfGroup)
	b = putInt(b, 2, int64(g.SourcePartition))
	b = putInt(b, 3, g.First)
	b = putInt(b, 4, g.Last)
	b = putTime(b, 5, g.From, e.Time)
	b = putTime(b, 6, g.To, e.Time)
	return shut(append(b, e.unknownOf(24)...), mark)
}

func (e *Event) appendOpaque(b []byte, o *Opaque) []byte {
	b, mark := open(b, 25)
	if o.Key != nil {
		b = protowire.AppendBytes(protowire.AppendTag(b, 1, protowire.BytesType), o.Key)
	}
	b = putBytes(b, 2, o.Value)
	b = putBool(b, 3, o.ValueNull)
	b = putTime(b, 4, o.Timestamp, e.Time)
	b = putString(b, 5, o.Problem)
	return shut(append(b, e.unknownOf(25)...), mark)
}

func (e *Event) appendClaim(b []byte, c *Claim) []byte {
	b, mark := open(b, 26)
	b = putString(b, 1, c.Instance)
	b = putString(b, 2, c.Previous)
	return shut(append(b, e.unknownOf(26)...), mark)
}

func (e *Event) appendCheckpoint(b []byte, c *Checkpoint) []byte {
	b, mark := open(b, 27)
	b = putString(b, 1, c.Name)
	return shut(append(b, e.unknownOf(27)...), mark)
}

func (e *Event) appendOperation(b []byte, o *Operation) []byte {
	b, mark := open(b, 28)
	b = putString(b, 1, o.Action)
	b = putString(b, 2, o.Target)
	b = putBytes(b, 3, o.Body)
	return shut(append(b, e.unknownOf(28)...), mark)
}

func (e *Event) appendSnapshot(b []byte, s *Snapshot) []byte {
	b, mark := open(b, 29)
	b = putString(b, 1, s.Name)
	b = putUint(b, 2, s.Seq)
	b = putBytes(b, 3, s.Digest)
	b = putInt(b, 4, s.Bytes)
	return shut(append(b, e.unknownOf(29)...), mark)
}
