package embedded

import (
	"errors"
	"time"

	"github.com/nats-io/nats.go"
)

// A stream holds 50 batches at a time that are not committed yet, and gives one up after ten
// seconds without a word. A client that leaves its own open would keep the ledger's owner from
// storing anything, so half of them is the most that one gets.
const (
	maxOpenBatches = 25
	batchLife      = 10 * time.Second
)

// The headers by which messages are a batch.
const (
	headerBatchID  = "Nats-Batch-Id"
	headerBatchSeq = "Nats-Batch-Sequence"
	headerCommit   = "Nats-Batch-Commit"
)

// codeBatchInFlight is what the stream itself answers to one batch too many: it may work later.
const codeBatchInFlight = 10210

var errOpenBatches = errors.New("too many batches are open: commit them first")

// openBatches are those that a client has begun and not committed, by id, with the time of their
// last message.
type openBatches map[string]time.Time

// admit takes note of a message. It fails with one that may not be stored, since it opens a batch
// too many or is of one that was refused.
func (o openBatches) admit(m *nats.Msg, now time.Time) error {
	id := m.Header.Get(headerBatchID)
	if id == "" {
		return nil
	}
	if _, open := o[id]; !open {
		if len(o) >= maxOpenBatches {
			o.forget(now)
		}
		if len(o) >= maxOpenBatches {
			return errOpenBatches
		}
	}
	o[id] = now
	if m.Header.Get(headerCommit) != "" {
		delete(o, id)
	}
	return nil
}

// forget lets go of what the stream has given up.
func (o openBatches) forget(now time.Time) {
	for id, last := range o {
		if now.Sub(last) > batchLife {
			delete(o, id)
		}
	}
}
