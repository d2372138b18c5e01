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
	b := f.rest
	tag, n := varint(b)
	f.num, f.typ = protowire.DecodeTag(tag)
	if n < 0 || f.num < protowire.MinValidNumber {
		f.err = &DamagedError{f.schema.name, "cut or invalid field tag"}
		return false
	}
	var m int
	switch f.typ {
	case protowire.VarintType:
		f.value, m = varint(b[n:])
	case protowire.BytesType:
		var length uint64
		if length, m = varint(b[n:]); m >= 0 {
			if length > uint64(len(b)-n-m) {
				f.fail("%d bytes of %d", len(b)-n-m, length)
				return false
			}
			f.data = b[n+m : n+m+int(length)]
			m += int(length)
		}
	default:
		m = protowire.ConsumeFieldValue(f.num, f.typ, b[n:])
	}
	if m < 0 {
		f.fail("cut or invalid")
		return false
	}
	f.raw, f.rest = b[:n+m], b[n+m:]
	return true
}

// varint is protowire.ConsumeVarint with a short way for the short.
func varint(b []byte) (uint64, int) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	return protowire.ConsumeVarint(b)
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

// unpack reads exactly len(dst) varints, or reports a fault of field num.
func (f *fields) unpack(num protowire.Number, b []byte, dst []uint64) {
	at := 0
	for i := range dst {
		rest := b[at:]
		switch {
		case len(rest) >= 1 && rest[0] < 0x80:
			dst[i] = uint64(rest[0])
			at++
		case len(rest) >= 2 && rest[1] < 0x80:
			dst[i] = uint64(rest[0]&0x7F) | uint64(rest[1])<<7
			at += 2
		case len(rest) >= 3 && rest[2] < 0x80:
			dst[i] = uint64(rest[0]&0x7F) | uint64(rest[1]&0x7F)<<7 | uint64(rest[2])<<14
			at += 3
		default:
			v, n := protowire.ConsumeVarint(rest)
			if n < 0 {
				f.num = num
				f.fail("element %d of %d is cut or invalid", i, len(dst))
				return
			}
			dst[i] = v
			at += n
		}
	}
	if at < len(b) {
		f.num = num
		f.fail("more than %d elements", len(dst))
	}
}
