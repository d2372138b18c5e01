package kafka

import "github.com/offsetledger/offsetledger/ledger"

// Limits of what one append holds. The stream takes 1,000 messages and 8 MiB; the rest is for
// the cursor and for what an estimate may be wrong by.
const (
	maxBatchEvents = 900
	maxBatchBytes  = 6 << 20
)

// Limits of what becomes one event. Brokers take records as large as they are told to, and an
// event is stored whole or not at all: what is larger is kept as a raw record, cut if need be.
const (
	maxEventBytes = 4 << 20
	// maxElementBytes is the largest row or member. The log cuts an event between them, into
	// messages of at most 900 KiB.
	maxElementBytes = 800 << 10
	// maxRunBytes ends a run. No broker with the default max.message.bytes of 1 MiB takes a
	// request that is larger, so that there an event never ends inside a request.
	maxRunBytes = 2 << 20
)

// batch gathers the events of one append. Its memory is used again for the next.
type batch struct {
	events []ledger.Event
	slabs  [][]ledger.Offset // memory of the events' rows
	slab   int               // index of the one in use
	bytes  int               // estimate of the encoded size, from above
}

// A slab has room for so many rows, and so many slabs are kept for the next use of a batch.
const (
	slabRows  = 8192
	keptSlabs = 16
)

// keep copies rows to where they stay until the batch is used again.
func (b *batch) keep(rows []ledger.Offset) []ledger.Offset {
	for b.slab < len(b.slabs) && cap(b.slabs[b.slab])-len(b.slabs[b.slab]) < len(rows) {
		b.slab++
	}
	if b.slab == len(b.slabs) {
		b.slabs = append(b.slabs, make([]ledger.Offset, 0, max(slabRows, len(rows))))
	}
	slab := &b.slabs[b.slab]
	start := len(*slab)
	*slab = append(*slab, rows...)
	return (*slab)[start:len(*slab):len(*slab)]
}

// add adds an event, whose rows are the batch's own by [batch.keep] or nobody's.
func (b *batch) add(e ledger.Event) {
	b.events = append(b.events, e)
	b.bytes += estimate(&e)
}

// fits reports whether there is room for size more bytes.
func (b *batch) fits(size int) bool { return b.bytes+size <= maxBatchBytes }

func (b *batch) full() bool { return len(b.events) >= maxBatchEvents || b.bytes >= maxBatchBytes }

func (b *batch) empty() bool { return len(b.events) == 0 }

func (b *batch) reset() {
	clear(b.events)
	b.events, b.bytes, b.slab = b.events[:0], 0, 0
	b.slabs = b.slabs[:min(len(b.slabs), keptSlabs)]
	for i := range b.slabs {
		b.slabs[i] = b.slabs[i][:0]
	}
}

// Estimates of encoded sizes, in bytes.
const (
	eventBytes = 200 // envelope, subject and headers
	rowBytes   = 48
	valueBytes = 40 // a watermark row or a member, without names
)

// estimate returns a size that the encoding of e stays below.
func estimate(e *ledger.Event) int {
	n := eventBytes + 2*len(e.Group) + 2*len(e.Topic)
	topic := ""
	for i := range e.Offsets {
		row := &e.Offsets[i]
		n += rowBytes + len(row.Metadata)
		if row.Topic != topic {
			topic = row.Topic
			n += len(topic)
		}
	}
	if o := e.Opaque; o != nil {
		n += len(o.Key) + len(o.Value) + len(o.Problem)
	}
	if w := e.Watermarks; w != nil {
		for i := range w.Rows {
			n += valueBytes + len(w.Rows[i].Topic)
		}
		for i := range w.Unanswered {
			n += valueBytes + len(w.Unanswered[i].Topic) + 5*len(w.Unanswered[i].Partitions)
		}
	}
	if m := e.Membership; m != nil {
		n += estimateMembers(m)
	}
	return n
}

func estimateMembers(m *ledger.Membership) int {
	n := len(m.ProtocolType) + len(m.Protocol) + len(m.Leader)
	for i := range m.Members {
		n += estimateMember(&m.Members[i])
	}
	return n
}

func estimateMember(m *ledger.Member) int {
	n := valueBytes + len(m.ID) + len(m.InstanceID) + len(m.ClientID) + len(m.Host)
	for _, topic := range m.Subscriptions {
		n += 4 + len(topic)
	}
	for _, a := range m.Assigned {
		n += valueBytes + len(a.Topic) + 5*len(a.Partitions)
	}
	return n
}

func largestMember(m *ledger.Membership) (most int) {
	for i := range m.Members {
		most = max(most, estimateMember(&m.Members[i]))
	}
	return most
}
