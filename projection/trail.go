package projection

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/offsetledger/offsetledger/ledger"
)

// maxTrail bounds the sequences that a trail holds, to 64 MiB of them.
const maxTrail = 8 << 20

// Trail notes where in the log the records stand that a question about one group needs, so that it
// is answered by reading those and no others. It covers a range of the log, and says of each record
// in it whose it is. It may be used by any number of goroutines.
type Trail struct {
	mu    sync.Mutex
	after uint64 // the range begins behind this sequence
	to    uint64
	lists map[trailKey][]uint64 // each is only ever appended to
	held  int
}

// trailKey says whose records a list is of: those of a group, those that tell how far a cluster is
// known and what became of its topics, or the watermarks of one shard, whose number is the name.
type trailKey struct {
	cluster string
	of      trailOf
	name    string
}

type trailOf uint8

const (
	trailGroup trailOf = iota
	trailCapture
	trailWatermarks
)

// NewTrail returns a trail of nothing, that begins behind a sequence.
func NewTrail(after uint64) *Trail {
	return &Trail{after: after, to: after, lists: map[trailKey][]uint64{}}
}

// Passage is what a trail says of one group. The slices must not be written to.
type Passage struct {
	After, To uint64   // the range that is covered: sequences above After, up to To
	Group     []uint64 // the records of the group
	Capture   []uint64 // of its cluster: cursors, gaps, undecodable records, and of all its topics
	// Watermarks are those of the cluster's topics, by shard.
	Watermarks [ledger.WatermarkShards][]uint64
}

// Of says where the records stand that a question about a group needs.
func (t *Trail) Of(cluster, group string) Passage {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := Passage{After: t.after, To: t.to}
	list := func(of trailOf, name string) []uint64 { return slices.Clip(t.lists[trailKey{cluster, of, name}]) }
	p.Group, p.Capture = list(trailGroup, group), list(trailCapture, "")
	for shard := range p.Watermarks {
		p.Watermarks[shard] = list(trailWatermarks, strconv.Itoa(shard))
	}
	return p
}

// Range returns what the trail covers: sequences above after, up to to.
func (t *Trail) Range() (after, to uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.after, t.to
}

// Size is how many sequences the trail holds.
func (t *Trail) Size() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.held
}

// Start has the trail begin anew behind a sequence.
func (t *Trail) Start(after uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.start(after)
}

func (t *Trail) start(after uint64) {
	t.after, t.to, t.lists, t.held = after, after, map[trailKey][]uint64{}, 0
}

// Note takes in the record after the last one. One that was noted before changes nothing; behind
// one that is left out, and when the trail is full, it begins anew.
func (t *Trail) Note(rec *ledger.Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case rec.Seq <= t.to:
		return
	case rec.Seq != t.to+1, t.held == maxTrail:
		t.start(rec.Seq - 1)
	}
	t.to = rec.Seq
	if key, ok := keyOf(&rec.Event); ok {
		t.lists[key] = append(t.lists[key], rec.Seq)
		t.held++
	}
}

// keyOf says whose record an event is. Of operators and snapshots a state knows nothing.
func keyOf(ev *ledger.Event) (trailKey, bool) {
	switch {
	case ev.OfGroup():
		return trailKey{ev.Cluster, trailGroup, ev.Group}, true
	case ev.Kind == ledger.KindWatermarks && ev.Watermarks != nil:
		return trailKey{ev.Cluster, trailWatermarks, strconv.Itoa(int(ev.Watermarks.Shard))}, true
	case ev.Kind == ledger.KindCursor, ev.Kind == ledger.KindGap, ev.Kind == ledger.KindOpaque, ev.Kind == ledger.KindTopic:
		return trailKey{ev.Cluster, trailCapture, ""}, true
	}
	return trailKey{}, false
}

// UpTo returns a trail of its own of what this one covers up to a sequence. It is false if that is
// not all, or nothing.
func (t *Trail) UpTo(to uint64) (*Trail, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if to <= t.after || to > t.to {
		return nil, false
	}
	out := NewTrail(t.after)
	out.to = to
	for key, list := range t.lists {
		n, _ := slices.BinarySearch(list, to+1)
		if n > 0 {
			out.lists[key] = slices.Clone(list[:n])
			out.held += n
		}
	}
	return out, true
}

// Cut lets go of what stands up to a sequence.
func (t *Trail) Cut(to uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if to <= t.after || to > t.to {
		return
	}
	t.after, t.held = to, 0
	for key, list := range t.lists {
		n, _ := slices.BinarySearch(list, to+1)
		if n == len(list) {
			delete(t.lists, key)
			continue
		}
		t.lists[key] = slices.Clone(list[n:])
		t.held += len(list) - n
	}
}

// Precede has the trail begin where another one does that ends where this one began. It is false,
// and nothing changes, if that is not so, or if they are too much together. Nobody else may have
// the other one.
func (t *Trail) Precede(before *Trail) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if before.to != t.after || t.held+before.held > maxTrail {
		return false
	}
	for key, list := range before.lists {
		t.lists[key] = slices.Concat(list, t.lists[key])
	}
	t.after, t.held = before.after, t.held+before.held
	return true
}

// Append appends the trail to b, as docs/snapshot.md says.
func (t *Trail) Append(b []byte) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := func(s string) { b = append(binary.AppendUvarint(b, uint64(len(s))), s...) }
	for _, n := range []uint64{t.after, t.to, uint64(len(t.lists))} {
		b = binary.AppendUvarint(b, n)
	}
	for _, key := range slices.SortedFunc(maps.Keys(t.lists), compareTrailKeys) {
		text(key.cluster)
		b = append(b, byte(key.of))
		text(key.name)
		list := t.lists[key]
		b = binary.AppendUvarint(b, uint64(len(list)))
		last := t.after
		for _, seq := range list {
			b = binary.AppendUvarint(b, seq-last)
			last = seq
		}
	}
	return b
}

func compareTrailKeys(a, b trailKey) int {
	return cmp.Or(cmp.Compare(a.cluster, b.cluster), cmp.Compare(a.of, b.of), cmp.Compare(a.name, b.name))
}

// LoadTrail is the inverse of [Trail.Append]. It fails with [ledger.ErrDamaged].
func LoadTrail(b []byte) (*Trail, error) {
	r := trailReader{Reader: *bytes.NewReader(b)}
	t := NewTrail(r.number())
	t.to = r.number()
	for range r.count() {
		cluster, of := r.text(), r.number()
		key := trailKey{cluster: cluster, of: trailOf(of), name: r.text()}
		list := make([]uint64, 0, r.count())
		last := t.after
		for range cap(list) {
			step := r.number()
			if step == 0 || last > t.to || step > t.to-last {
				r.fail("%d behind sequence %d is not up to %d", step, last, t.to)
				break
			}
			last += step
			list = append(list, last)
		}
		if _, twice := t.lists[key]; twice || len(list) == 0 || of > uint64(trailWatermarks) {
			r.fail("list %q of %q makes no sense", key.name, key.cluster)
		}
		if r.err != nil {
			break
		}
		t.lists[key], t.held = list, t.held+len(list)
	}
	if r.Len() > 0 || t.to < t.after {
		r.fail("%d bytes are left over", r.Len())
	}
	if r.err != nil {
		return nil, r.err
	}
	return t, nil
}

// trailReader keeps the first thing that is wrong with what it reads.
type trailReader struct {
	bytes.Reader
	err error
}

func (r *trailReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = &ledger.DamagedError{Field: "trail", Detail: fmt.Sprintf(format, args...)}
	}
}

func (r *trailReader) number() uint64 {
	n, err := binary.ReadUvarint(&r.Reader)
	if err != nil {
		r.fail("it is cut")
		return 0
	}
	return n
}

// count is a number of things that take a byte at least each.
func (r *trailReader) count() int {
	n := r.number()
	if n > uint64(r.Len()) {
		r.fail("it is cut")
		return 0
	}
	return int(n)
}

func (r *trailReader) text() string {
	b := make([]byte, r.count())
	if n, _ := r.Read(b); n < len(b) {
		r.fail("it is cut")
	}
	return string(b)
}
