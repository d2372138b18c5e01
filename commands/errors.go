package commands

import (
	"errors"
	"fmt"
	"strings"

	"github.com/offsetledger/offsetledger/ledger"
)

// The errors of a Manager. Match them with [errors.Is]. That somebody else has taken the group
// over is [ledger.ErrConflict].
var (
	// ErrClosed: the manager was closed.
	ErrClosed = errors.New("offset manager is closed")
	// ErrNotRunning: the strategy commits by itself, and nobody runs [Manager.Run].
	ErrNotRunning = errors.New("offset manager is not running")
	// ErrLogAway: the ledger cannot be written, and what the manager may hold meanwhile is full
	// or must not be held.
	ErrLogAway = errors.New("ledger is away")
	// ErrOutcomeUnknown: no answer came, so that what was to be written may be stored or not. The
	// manager finds out before it writes anything else.
	ErrOutcomeUnknown = errors.New("outcome is not known yet")
	// ErrBehind: an update goes back behind the committed offset. The detail is [*BehindError].
	ErrBehind = errors.New("behind the committed offset")
	// ErrInvalid: an argument that makes no sense.
	ErrInvalid = errors.New("invalid")
	// ErrNotOwned: the partition was given up by [Manager.Drop].
	ErrNotOwned = errors.New("partition is not owned")
	// ErrRefused: the broker refused rows of a commit. The detail is [*RefusedError].
	ErrRefused = errors.New("refused by the broker")
	// ErrNoBroker: commits go to Kafka and no client is bound yet.
	ErrNoBroker = errors.New("no Kafka client is bound to the offset manager")
	// ErrUnknown: what was asked for is not known here.
	ErrUnknown = errors.New("not known")
)

// BehindError says which update went back, and behind what.
type BehindError struct {
	Topic     string
	Partition int32
	Offset    int64 // of the update
	Committed int64 // or in a commit that is under way
}

func (e *BehindError) Error() string {
	return fmt.Sprintf("update %s/%d to %d: %d is committed; use ResetOffset to go back on purpose",
		e.Topic, e.Partition, e.Offset, e.Committed)
}

// Is makes the error match [ErrBehind].
func (e *BehindError) Is(target error) bool { return target == ErrBehind }

// RefusedError holds the rows of a commit that the broker refused. They stay pending; one is
// not sent again before an update changes it, unless its error is one that passes.
type RefusedError struct {
	Rows []ledger.Offset // with Kafka's error code
}

func (e *RefusedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "commit: broker refused %s:", ledger.Count(len(e.Rows), "row"))
	for i := range e.Rows {
		if i == 3 {
			b.WriteString(" …")
			break
		}
		r := &e.Rows[i]
		fmt.Fprintf(&b, " %s/%d at %d (error %d)", r.Topic, r.Partition, r.At, r.ErrorCode)
	}
	return b.String()
}

// Is makes the error match [ErrRefused].
func (e *RefusedError) Is(target error) bool { return target == ErrRefused }
