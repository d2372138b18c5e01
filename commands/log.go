package commands

import (
	"context"
	"iter"

	"github.com/offsetledger/offsetledger/ledger"
)

// Log is the ledger as a manager needs it; *stream.Log is one.
type Log interface {
	// Append stores events together and in order, or none of them. It fails with
	// [ledger.ErrConflict] when an expectation does not hold, and with [ledger.ErrInvalid] or
	// [ledger.ErrTooLarge] for events that cannot be stored; after these nothing is. After any
	// other error the events may be stored or not.
	Append(ctx context.Context, events []ledger.Event, expects ...ledger.Expect) (ledger.Receipt, error)
	// Read returns the events from one sequence to another, 0 for the last, that a filter
	// selects. A record is valid until the next step.
	Read(ctx context.Context, from, to uint64, f ledger.Filter) iter.Seq2[ledger.Record, error]
	// LastOf returns the sequence of the last event whose subject the filter matches, 0 for none.
	LastOf(ctx context.Context, filter string) (uint64, error)
}

// Broker commits to Kafka, for a manager with [Config.KafkaCommits]. Its methods are not called
// at the same time.
type Broker interface {
	// Commit commits rows and returns them as they were sent, each with the error code of the
	// answer; 0 is accepted. An error means that no answer came: some rows may be committed. A
	// row with [ledger.FlagNoMetadata] may be given the client's own metadata; the empty metadata
	// of one without the flag is sent as it is.
	Commit(ctx context.Context, rows []ledger.Offset) ([]ledger.Offset, error)
	// Resolve returns the offset that a reset means.
	Resolve(ctx context.Context, tp ledger.TopicPartition, r Reset) (int64, error)
	// Delete deletes the committed offsets of partitions. That there is none is no error.
	Delete(ctx context.Context, partitions []ledger.TopicPartition) error
}
