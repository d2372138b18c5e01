package kafka

import (
	"crypto/sha256"
	"fmt"

	"github.com/offsetledger/offsetledger/ledger"
)

// What is kept of a record that is larger than an event can be. The key is kept whole if it
// can be that of an offset at all.
const (
	keptKey   = 128 << 10
	keptValue = 1 << 20
)

// rawRecord is r as an event keeps it that cannot tell it otherwise. One that is too large for
// an event is cut, and its problem says so, with its size and digest: it stays known that the
// record was there, and which it was.
func rawRecord(r *sourceRecord, problem string) *ledger.Opaque {
	o := &ledger.Opaque{Key: r.key, Value: r.value, ValueNull: r.value == nil, Timestamp: r.timestamp, Problem: problem}
	if len(r.key)+len(r.value) <= maxEventBytes {
		return o
	}
	o.Problem = fmt.Sprintf("%s; too large to be kept whole: key of %d bytes, SHA-256 %x, value of %d bytes, SHA-256 %x",
		problem, len(r.key), sha256.Sum256(r.key), len(r.value), sha256.Sum256(r.value))
	o.Key, o.Value = r.key[:min(len(r.key), keptKey)], r.value[:min(len(r.value), keptValue)]
	return o
}

// weight is an estimate, from above, of what feeding r can add to the batch: the event of the
// open run, and what r itself becomes. Behind a hole, rows are told as a gap too.
func (l *sourceLine) weight(r *sourceRecord) int {
	rows := l.run.bytes
	own := 2*eventBytes + 3*len(r.key) + min(5*len(r.value), maxEventBytes)
	if r.control {
		rows += l.pending.weight(r.producerID)
	}
	if l.hole.open() {
		rows *= 2
	}
	return rows + own
}
