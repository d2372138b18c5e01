package ledger

import (
	"math/bits"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
)

// Decode decodes one event. An event of a known kind has the payload of that kind. The event
// shares no memory with b. Any error is a [*DamagedError].
func Decode(b []byte) (Event, error) {
	d := decoders.Get().(*Decoder)
	defer decoders.Put(d)
	var e Event
	if err := d.Decode(b, &e); err != nil {
		return Event{}, err
	}
	return e, nil
}

// decoders of Decode; what they keep is bounded and shows in no event.
var decoders = sync.Pool{New: func() any { return new(Decoder) }}

// Decoder decodes events one after the other and reuses memory: strings that come again are
// shared between events. The zero Decoder is ready. It is not for use by several goroutines.
type Decoder struct {
	names    names // of clusters, groups, topics, members
	texts    texts // metadata, reasons and the like
	columns  rowColumns
	elements []uint64
	bases    []uint64
	messages [30][]byte // of the event, until its id and time are known; valid if seen
	topic    string     // of the run before, likely to be the same again
	budget   int        // rows that the event may still have
}

// Decode decodes b into e. What was in e is lost; its lists of rows are used again, so an
// event that is to be kept is cloned first. Strings and all other parts of e may be kept. On
// an error, always a [*DamagedError], e holds nothing of use.
func (d *Decoder) Decode(b []byte, e *Event) error {
	cluster := e.Cluster // likely to be the same again
	*e = Event{Offsets: e.Offsets[:0], Updates: e.Updates[:0], Before: e.Before[:0]}
	d.budget = MaxRows
	var millis, notBefore int64
	hasNotBefore := false
	f := fields{schema: &eventSchema, rest: b}
	for f.next() {
		switch f.num {
		case 1:
			e.ID = f.uuid()
		case 2:
			e.Kind = Kind(f.int32())
		case 3:
			e.Cluster = d.names.again(f.bytes(), cluster)
		case 4:
			e.Group = d.names.of(f.bytes())
		case 5:
			e.Topic = d.names.of(f.bytes())
		case 6:
			millis = f.sint64()
		case 11:
			notBefore, hasNotBefore = f.sint64(), true
		case 12:
			e.Reason = d.texts.of(f.bytes())
		case 13:
			e.Actor = d.names.of(f.bytes())
		case 14:
			e.ActorVerified = f.bool()
		case 15:
			e.Plan = d.texts.of(f.bytes())
		case 16:
			e.Cause = Cause(f.int32())
		case 17:
			e.CauseInferred = f.bool()
		case 18:
			e.Part = f.int32()
		case 19:
			e.Parts = f.int32()
		case 7, 8, 9, 10, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29:
			d.messages[f.num] = f.once()
		default:
			e.unknown = append(e.unknown, f.raw...)
		}
	}
	if f.err != nil {
		return f.err
	}
	e.Time = idTime(e.ID).plus(millis)
	if hasNotBefore {
		e.NotBefore = e.Time.plus(notBefore)
	}
	return d.decodeMessages(&f, e)
}

// decodeMessages decodes the messages that came in the event, in order of their numbers: the
// source before the rows that follow from it.
func (d *Decoder) decodeMessages(f *fields, e *Event) error {
	for seen := f.seen; seen != 0; seen &= seen - 1 {
		num := protowire.Number(bits.TrailingZeros64(seen))
		unknown, err := d.inner(e, num, d.messages[num])
		if err != nil {
			return err
		}
		if len(unknown) > 0 {
			e.inner = append(e.inner, innerUnknown{num, unknown})
		}
	}
	if num := payloadField[max(0, min(int(e.Kind), len(payloadField)-1))]; num != 0 && f.seen&(1<<num) == 0 {
		f.num = num
		f.fail("missing in a %s event", e.Kind)
	}
	return f.err
}

// payloadField is the field that an event of a kind cannot do without: who has decoded the
// event may rely on it. The last entry is for kinds that this version does not know.
var payloadField = [...]protowire.Number{
	KindGroup: 20, KindTopic: 21, KindWatermarks: 22, KindCursor: 23, KindGap: 24, KindOpaque: 25,
	KindClaim: 26, KindCheckpoint: 27, KindOperator: 28, KindSnapshot: 29, KindSnapshot + 1: 0,
}

// inner decodes the message that is field num of the event, and returns what it did not
// understand of it.
func (d *Decoder) inner(e *Event, num protowire.Number, b []byte) (unknown []byte, err error) {
	switch num {
	case 7:
		return d.source(b, &e.Source)
	case 8:
		e.Offsets, unknown, err = d.rows(b, e, e.Offsets)
	case 9:
		e.Updates, unknown, err = d.rows(b, e, e.Updates)
	case 10:
		e.Before, unknown, err = d.rows(b, e, e.Before)
	case 20:
		e.Membership = &Membership{}
		return d.membership(b, e, e.Membership)
	case 21:
		e.TopicInfo = &TopicInfo{}
		return d.topicInfo(b, e.TopicInfo)
	case 22:
		e.Watermarks = &Watermarks{}
		return d.watermarks(b, e.Watermarks)
	case 23:
		e.Cursor = &Cursor{}
		return d.cursor(b, e, e.Cursor)
	case 24:
		e.Gap = &Gap{}
		return d.gap(b, e, e.Gap)
	case 25:
		e.Opaque = &Opaque{}
		return d.opaque(b, e, e.Opaque)
	case 26:
		e.Claim = &Claim{}
		return d.claim(b, e.Claim)
	case 27:
		e.Checkpoint = &Checkpoint{}
		return d.checkpoint(b, e.Checkpoint)
	case 28:
		e.Operation = &Operation{}
		return d.operation(b, e.Operation)
	case 29:
		e.Snapshot = &Snapshot{}
		return d.snapshot(b, e.Snapshot)
	}
	return unknown, err
}

func (d *Decoder) source(b []byte, s *Source) (unknown []byte, err error) {
	f := fields{schema: &sourceSchema, rest: b}
	for f.next() {
		switch f.num {
		case 1:
			s.Kind = SourceKind(f.int32())
		case 2:
			s.Partition = f.int32()
		case 3:
			s.LeaderEpoch = f.epoch()
		case 4:
			s.Offset = f.int64()
		case 5:
			s.Transactional = f.bool()
		case 6:
			s.ProducerID = f.sint64()
		case 7:
			s.Instance = d.names.of(f.bytes())
		default:
			unknown = append(unknown, f.raw...)
		}
	}
	return unknown, f.err
}
