package ledger

import (
	"errors"
	"fmt"
)

// The errors that packages share. Match them with [errors.Is]; the typed detail, where there
// is one, with [errors.As].
var (
	// ErrConflict: somebody else wrote first. The detail is [*ConflictError].
	ErrConflict = errors.New("conflict")
	// ErrTooLarge: events that do not fit into one atomic batch, or an event that does not fit
	// into one message; the caller has to cut.
	ErrTooLarge = errors.New("too large")
	// ErrDamaged: stored bytes are not an event. The detail is [*DamagedError].
	ErrDamaged = errors.New("damaged")
	// ErrMissing: a sequence that must be there is not: history was lost or removed.
	ErrMissing = errors.New("missing")
	// ErrInvalid: an event that must not be stored, because it says less or more than its kind.
	ErrInvalid = errors.New("invalid")
)

// ConflictError says which expectation failed.
type ConflictError struct {
	Filter string // subjects that the expectation was about
	Wanted uint64 // last sequence that was expected; 0 is none
	Found  uint64 // last sequence that is there; 0 is none
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("conflict on %s: expected last sequence %d, found %d", e.Filter, e.Wanted, e.Found)
}

// Is makes the error match [ErrConflict].
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// DamagedError says where bytes stopped making sense.
type DamagedError struct {
	Field  string // field of docs/event.proto, or what was being read
	Detail string
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("damaged event: %s: %s", e.Field, e.Detail)
}

// Is makes the error match [ErrDamaged].
func (e *DamagedError) Is(target error) bool { return target == ErrDamaged }
