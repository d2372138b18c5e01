package ledger

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// The payload decoders return the fields that they did not understand. What they return, and
// what they fill in, does not alias b.

func (d *Decoder) membership(b []byte, e *Event, m *Membership) (unknown []byte, err error) {
	f := fields{schema: &membershipSchema, rest: b}
	for f.next() {
		switch f.num {
		case 1:
			m.Type = GroupType(f.int32())
		case 2:
			m.RecordType = f.int16()
		case 3:
			m.Deleted = f.bool()
		case 4:
			m.Generation = f.int32()
		case 5:
			m.ProtocolType = d.names.of(f.bytes())
		case 6:
			m.Protocol = d.names.of(f.bytes())
		case 7:
			m.Leader = d.names.of(f.bytes())
		case 8:
			m.StateTime = e.Time.plus(f.sint64())
		case 9:
			m.Members = append(m.Members, Member{})
			err := d.member(f.bytes(), &m.Members[len(m.Members)-1])
			if err != nil {
				return nil, err
			}
		default:
			unknown = append(unknown, f.raw...)
		}
	}
	return unknown, f.err
}

func (d *Decoder) member(b []byte, m *Member) error {
	f := fields{schema: &memberSchema, rest: b}
	for f.next() {
		switch f.num {
		case 1:
			m.ID = d.names.of(f.bytes())
		case 2:
			m.InstanceID = d.names.of(f.bytes())
		case 3:
			m.ClientID = d.names.of(f.bytes())
		case 4:
			m.Host = d.names.of(f.bytes())
		case 5:
			m.SessionTimeoutMillis = f.int32()
		case 6:
			m.RebalanceTimeoutMillis = f.int32()
		case 7:
			m.Subscriptions = append(m.Subscriptions, d.names.of(f.bytes()))
		case 8:
			m.Assigned = append(m.Assigned, TopicPartitions{})
			if err := d.topicPartitions(f.bytes(), &m.Assigned[len(m.Assigned)-1]); err != nil {
				return err
			}
		default:
			m.unknown = append(m.unknown, f.raw...)
		}
	}
	return f.err
}

func (d *Decoder) topicPartitions(b []byte, t *TopicPartitions) error {
	f := fields{schema: &topicPartitionsSchema, rest: b}
	for f.next() {
		switch f.num {
		case 1:
			t.Topic = d.names.of(f.bytes())
		case 2:
			t.TopicID = f.uuid()
		case 3:
			next := int32(0)
			for packed := f.once(); len(packed) > 0; {
				v, n := protowire.ConsumeVarint(packed)
				if n < 0 {
					f.fail("cut or invalid")
					break
				}
				next += unzigzag32(v)
				t.Partitions = append(t.Partitions, next)
				next++
				packed = packed[n:]
			}
		default:
			t.unknown = append(t.unknown, f.raw...)
		}
	}
	return f.err
}

func (d *Decoder) topicInfo(b []byte, t *TopicInfo) (unknown []byte, err error) {
	f := fields{schema: &topicInfoSchema, rest: b}
	for f.next() {
		switch f.num {
		case 1:
			t.TopicID = f.uuid()
		case 2:
			t.Partitions = f.int32()
		case 3:
			t.Deleted = f.bool()
		case 4:
			t.Recreated = f.bool()
		default:
			unknown = append(unknown, f.raw...)
		}
	}
	return unknown, f.err
}

func (d *Decoder) gap(b []byte, e *Event, g *Gap) (unknown []byte, err error) {
	f := fields{schema: &gapSchema, rest: b}
	for f.next() {
		switch f.num {
		case 1:
			g.OfGroup = f.bool()
		case 2:
			g.SourcePartition = f.int32()
		case 3:
			g.First = f.int64()
		case 4:
			g.Last = f.int64()
		case 5:
			g.From = e.Time.plus(f.sint64())
		case 6:
			g.To = e.Time.plus(f.sint64())
		default:
			unknown = append(unknown, f.raw...)
		}
	}
	return unknown, f.err
}

func (d *Decoder) opaque(b []byte, e *Event, o *Opaque) (unknown []byte, err error) {
	f := fields{schema: &opaqueSchema, rest: b}
	for f.next() {
		switch f.num {
		case 1:
			o.Key = append([]byte{}, f.bytes()...)
		case 2:
			o.Value = slices.Clone(f.bytes())
		case 3:
			o.ValueNull = f.bool()
		case 4:
			o.Timestamp = e.Time.plus(f.sint64())
		case 5:
			o.Problem = d.texts.of(f.bytes())
		default:
			unknown = append(unknown, f.raw...)
		}
	}
	return unknown, f.err
}

func (d *Decoder) claim(b []byte, c *Claim) (unknown []byte, err error) {
	f := fields{schema: &claimSchema, rest: b}
	for f.next() {
		switch f.num {
		case 1:
			c.Instance = d.names.of(f.bytes())
		case 2:
			c.Previous = d.names.of(f.bytes())
		default:
			unknown = append(unknown, f.raw...)
		}
	}
	return unknown, f.err
}

func (d *Decoder) checkpoint(b []byte, c *Checkpoint) (unknown []byte, err error) {
	f := fields{schema: &checkpointSchema, rest: b}
	for f.next() {
		switch f.num {
		case 1:
			c.Name = d.texts.of(f.bytes())
		default:
			unknown = append(unknown, f.raw...)
		}
	}
	return unknown, f.err
}

func (d *Decoder) operation(b []byte, o *Operation) (unknown []byte, err error) {
	f := fields{schema: &operationSchema, rest: b}
	for f.next() {
		switch f.num {
		case 1:
			o.Action = d.names.of(f.bytes())
		case 2:
			o.Target = d.texts.of(f.bytes())
		case 3:
			o.Body = slices.Clone(f.bytes())
		default:
			unknown = append(unknown, f.raw...)
		}
	}
	return unknown, f.err
}

func (d *Decoder) snapshot(b []byte, s *Snapshot) (unknown []byte, err error) {
	f := fields{schema: &snapshotSchema, rest: b}
	for f.next() {
		switch f.num {
		case 1:
			s.Name = d.texts.of(f.bytes())
		case 2:
			s.Seq = f.uint()
		case 3:
			s.Digest = slices.Clone(f.bytes())
		case 4:
			s.Bytes = f.int64()
		default:
			unknown = append(unknown, f.raw...)
		}
	}
	return unknown, f.err
}
