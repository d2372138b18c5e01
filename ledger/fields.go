package ledger

import (
	"fmt"
	"math"

	"github.com/google/uuid"
	"google.golang.org/protobuf/encoding/protowire"
)

// fields walks over the fields of one encoded message. The first fault ends it and stays in
// err, so that its user looks once, at the end.
type fields struct {
	schema *schema
	rest   []byte
	num    protowire.Number
	typ    protowire.Type
	value  uint64 // of a varint
	data   []byte // of a length-delimited field
	raw    []byte // the whole field with its tag
	seen   uint64 // numbers of messages that came already
	err    error
}

// next steps to the next field. It is false at the end and after a fault.
func (f *fields) next() bool {
	if f.err != nil || len(f.rest) == 0 {
		return false
	}
	num, typ, n := protowire.ConsumeTag(f.rest)
	if n < 0 {
		f.err = &DamagedError{f.schema.name, "cut or invalid field tag"}
		return false
	}
	f.num, f.typ = num, typ
	var m int
	switch typ {
	case protowire.VarintType:
		f.value, m = protowire.ConsumeVarint(f.rest[n:])
	case protowire.BytesType:
		f.data, m = protowire.ConsumeBytes(f.rest[n:])
	default:
		m = protowire.ConsumeFieldValue(num, typ, f.rest[n:])
	}
	if m < 0 {
		f.fail("cut or invalid")
		return false
	}
	f.raw, f.rest = f.rest[:n+m], f.rest[n+m:]
	return true
}

// fail records a fault of the present field.
func (f *fields) fail(format string, args ...any) {
	if f.err == nil {
		f.err = &DamagedError{f.schema.name + "." + f.schema.field(f.num), fmt.Sprintf(format, args...)}
	}
}

func (f *fields) want(typ protowire.Type) bool {
	if f.typ != typ {
		f.fail("wire type %d instead of %d", f.typ, typ)
		return false
	}
	return true
}

func (f *fields) uint() uint64 {
	if !f.want(protowire.VarintType) {
		return 0
	}
	return f.value
}

func (f *fields) int64() int64 { return int64(f.uint()) }

func (f *fields) sint64() int64 { return protowire.DecodeZigZag(f.uint()) }

func (f *fields) bool() bool { return f.uint() != 0 }

// int32 refuses what is no int32: to cut it, as protobuf would, is to lose it.
func (f *fields) int32() int32 {
	v := f.int64()
	if v < math.MinInt32 || v > math.MaxInt32 {
		f.fail("%d is no int32", v)
	}
	return int32(v)
}

func (f *fields) int16() int16 {
	v := f.int64()
	if v < math.MinInt16 || v > math.MaxInt16 {
		f.fail("%d is no int16", v)
	}
	return int16(v)
}

func (f *fields) epoch() Epoch { return EpochOf(f.int32()) }

// bytes returns the content of the field, which aliases the input.
func (f *fields) bytes() []byte {
	if !f.want(protowire.BytesType) {
		return nil
	}
	return f.data
}

func (f *fields) uuid() uuid.UUID { return f.asUUID(f.bytes()) }

// asUUID reads an id of 16 bytes, or of none, which is unknown.
func (f *fields) asUUID(b []byte) (id uuid.UUID) {
	if len(b) != len(id) && len(b) != 0 {
		f.fail("an id of %d bytes", len(b))
		return id
	}
	copy(id[:], b)
	return id
}

// once is bytes for a field that may come only once, because a second one would have to be
// merged into it.
func (f *fields) once() []byte {
	if bit := uint64(1) << (f.num & 63); f.seen&bit != 0 {
		f.fail("more than one")
	} else {
		f.seen |= bit
	}
	return f.bytes()
}

// unpack reads exactly len(dst) varints, or reports a fault.
func (f *fields) unpack(num protowire.Number, b []byte, dst []uint64) {
	at := 0
	for i := range dst {
		if at >= len(b) {
			break
		}
		v := uint64(b[at])
		at++
		if v >= 0x80 {
			long, n := protowire.ConsumeVarint(b[at-1:])
			if n < 0 {
				f.num = num
				f.fail("cut or invalid element %d", i)
				return
			}
			v = long
			at += n - 1
		}
		dst[i] = v
		if i == len(dst)-1 && at == len(b) {
			return
		}
	}
	f.num = num
	f.fail("not one element per row for %d rows", len(dst))
}
