package projection

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/offsetledger/offsetledger/ledger"
)

// coder goes over a part of the state and writes it, or fills it in with what it reads. One
// function for both directions says what a part consists of, so that the two cannot differ. The
// first fault ends reading and stays in err; what was filled in is worth nothing then.
//
// There are no tags: a part is its values, one after the other, as docs/snapshot.md lists them.
type coder struct {
	b       []byte // written so far, or left to read
	reading bool
	err     error
	names   map[string]string // strings read before, so that equal ones are held once
}

func (x *coder) fail(format string, args ...any) {
	if x.err == nil {
		x.err = &ledger.DamagedError{Field: "state", Detail: fmt.Sprintf(format, args...)}
		x.b = nil
	}
}

func (x *coder) uint(v *uint64) {
	if !x.reading {
		x.b = binary.AppendUvarint(x.b, *v)
		return
	}
	if len(x.b) > 0 && x.b[0] < 0x80 { // as most are
		*v, x.b = uint64(x.b[0]), x.b[1:]
		return
	}
	n, size := binary.Uvarint(x.b)
	if size <= 0 {
		x.fail("a number is cut or too large")
		return
	}
	*v, x.b = n, x.b[size:]
}

// zigzag makes numbers near 0, of either sign, short.
func zigzag(v int64) uint64   { return uint64(v)<<1 ^ uint64(v>>63) }
func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

func (x *coder) int(v *int64) {
	u := zigzag(*v)
	x.uint(&u)
	*v = unzigzag(u)
}

// number is int for a narrower type.
func number[T ~int8 | ~int16 | ~int32 | ~uint8 | ~uint16 | ~uint32](x *coder, v *T) {
	n := int64(*v)
	x.int(&n)
	*v = T(n)
	if int64(*v) != n {
		x.fail("%d is out of range", n)
	}
}

func (x *coder) flag(v *bool) {
	u := uint64(0)
	if *v {
		u = 1
	}
	x.uint(&u)
	*v = u == 1
	if u > 1 {
		x.fail("%d is neither yes nor no", u)
	}
}

// time is 0 for the unknown Time, and else the milliseconds in zigzag and one.
func (x *coder) time(v *ledger.Time) {
	u := uint64(0)
	if ms, ok := v.Millis(); ok {
		u = zigzag(ms) + 1
	}
	x.uint(&u)
	if *v = (ledger.Time{}); u > 0 {
		*v = ledger.AtMillis(unzigzag(u - 1))
	}
}

func (x *coder) epoch(v *ledger.Epoch) {
	n := v.Kafka()
	number(x, &n)
	*v = ledger.EpochOf(n)
}

func (x *coder) text(v *string) {
	n := x.count(len(*v))
	if !x.reading {
		x.b = append(x.b, *v...)
		return
	}
	*v, x.b = x.name(x.b[:n]), x.b[n:]
}

func (x *coder) name(b []byte) string {
	if s, ok := x.names[string(b)]; ok {
		return s
	}
	s := string(b)
	if x.names != nil {
		x.names[s] = s
	}
	return s
}

// id is a flag, and the id if it is known.
func (x *coder) id(v *uuid.UUID) {
	known := *v != uuid.Nil
	x.flag(&known)
	switch {
	case !known:
		*v = uuid.Nil
	case !x.reading:
		x.b = append(x.b, v[:]...)
	case len(x.b) < len(v):
		x.fail("an id of %d bytes", len(x.b))
	default:
		x.b = x.b[copy(v[:], x.b):]
	}
}

// count is how many of something follow, each of at least one byte.
func (x *coder) count(n int) int {
	u := uint64(n)
	x.uint(&u)
	if x.reading && u > uint64(len(x.b)) {
		x.fail("%d of something in %d bytes", u, len(x.b))
		return 0
	}
	return int(u)
}

// list goes over the elements of a slice. An empty one is read as nil.
func list[T any](x *coder, s *[]T, each func(*T)) {
	n := x.count(len(*s))
	if x.reading {
		*s = nil
		if n > 0 {
			*s = make([]T, n)
		}
	}
	for i := range *s {
		if each(&(*s)[i]); x.err != nil {
			return
		}
	}
}

// table goes over a map in the order of its keys. An empty one is read as nil.
func table[K comparable, V any](x *coder, m *map[K]V, order func(a, b K) int, key func(*K), value func(*V)) {
	keys := slices.SortedFunc(maps.Keys(*m), order)
	n := x.count(len(keys))
	if x.reading {
		*m = nil
		if n > 0 {
			*m = make(map[K]V, n)
		}
		keys = make([]K, n)
	}
	for i := range keys {
		key(&keys[i])
		if i > 0 && order(keys[i-1], keys[i]) >= 0 {
			x.fail("keys out of order")
		}
		v := (*m)[keys[i]]
		if value(&v); x.err != nil {
			return
		}
		if x.reading {
			(*m)[keys[i]] = v
		}
	}
}

func (x *coder) partition(v *ledger.TopicPartition) {
	x.text(&v.Topic)
	number(x, &v.Partition)
}
