package ledger

import (
	"github.com/google/uuid"
	"google.golang.org/protobuf/encoding/protowire"
)

// The put functions append one field in protobuf wire format, or nothing when the value is
// the default of proto3.

func putUint(b []byte, num protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), v)
}

func putInt(b []byte, num protowire.Number, v int64) []byte { return putUint(b, num, uint64(v)) }

func putSint(b []byte, num protowire.Number, v int64) []byte {
	return putUint(b, num, protowire.EncodeZigZag(v))
}

func putBool(b []byte, num protowire.Number, v bool) []byte {
	return putUint(b, num, protowire.EncodeBool(v))
}

func putString(b []byte, num protowire.Number, s string) []byte {
	if s == "" {
		return b
	}
	return protowire.AppendString(protowire.AppendTag(b, num, protowire.BytesType), s)
}

func putBytes(b []byte, num protowire.Number, v []byte) []byte {
	if len(v) == 0 {
		return b
	}
	return protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), v)
}

func putUUID(b []byte, num protowire.Number, id uuid.UUID) []byte {
	if id == uuid.Nil {
		return b
	}
	return protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), id[:])
}

// putTime writes t as the difference to another moment, and nothing when t is unknown.
func putTime(b []byte, num protowire.Number, t, since Time) []byte {
	if !t.Known() {
		return b
	}
	b = protowire.AppendTag(b, num, protowire.VarintType)
	return protowire.AppendVarint(b, protowire.EncodeZigZag(t.diff(since)))
}

// putEpoch writes a leader epoch as Kafka spells it, and nothing when it is unknown.
func putEpoch(b []byte, num protowire.Number, e Epoch) []byte {
	n, known := e.Get()
	if !known {
		return b
	}
	b = protowire.AppendTag(b, num, protowire.VarintType)
	return protowire.AppendVarint(b, uint64(int64(n)))
}

// open starts a field whose length is known only once it is written; shut ends it. The mark
// is where its content starts.
func open(b []byte, num protowire.Number) (grown []byte, mark int) {
	b = append(protowire.AppendTag(b, num, protowire.BytesType), 0)
	return b, len(b)
}

// shut writes the length of what was appended since mark in front of it, and moves it if the
// length needs more than the one byte that open left.
func shut(b []byte, mark int) []byte {
	n := len(b) - mark
	if n < 0x80 {
		b[mark-1] = byte(n)
		return b
	}
	more := protowire.SizeVarint(uint64(n)) - 1
	for range more {
		b = append(b, 0)
	}
	copy(b[mark+more:], b[mark:mark+n])
	protowire.AppendVarint(b[:mark-1], uint64(n))
	return b
}

// diff is t less u in milliseconds, modulo 2^64, where unknown is the smallest int64: any
// two moments, known or not, have a difference that leads back.
func (t Time) diff(u Time) int64 { return int64(t.biased - u.biased) }

// plus is the inverse of diff.
func (t Time) plus(diff int64) Time { return Time{t.biased + uint64(diff)} }

// idTime is the time that a UUIDv7 starts with; of any other id it is as good as a constant.
func idTime(id uuid.UUID) Time {
	var ms int64
	for _, c := range id[:6] {
		ms = ms<<8 | int64(c)
	}
	return AtMillis(ms)
}
