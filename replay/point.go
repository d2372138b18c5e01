package replay

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/offsetledger/offsetledger/ledger"
)

// Point is a place in the history. At most one of its fields is set; the zero Point is now.
//
// Seq and Time can be answered as they are. Appended and Checkpoint name a place that only
// the log can find: they have to be resolved to a sequence first, see [Point.Resolved].
type Point struct {
	Seq uint64 // the state after this sequence
	// Time is an effective time: the state of all rows whose effective time is not later.
	Time ledger.Time
	// Appended is an append time: the state after the last sequence stored by then.
	Appended ledger.Time
	// Checkpoint is the name of an application's mark: the state at its sequence.
	Checkpoint string
}

// IsNow reports whether p is the present.
func (p Point) IsNow() bool { return p == Point{} }

// Resolved reports whether p can be answered without looking in the log for what it names.
func (p Point) Resolved() bool { return !p.Appended.Known() && p.Checkpoint == "" }

// String is a spelling of p that [ParsePoint] takes: "now", "seq:N", RFC 3339,
// "appended:T" or "checkpoint:NAME".
func (p Point) String() string {
	switch {
	case p.Seq != 0:
		return "seq:" + strconv.FormatUint(p.Seq, 10)
	case p.Time.Known():
		return p.Time.String()
	case p.Appended.Known():
		return "appended:" + p.Appended.String()
	case p.Checkpoint != "":
		return "checkpoint:" + p.Checkpoint
	}
	return "now"
}

// PointError says why a text is no point of the history, and how to mend it.
type PointError struct {
	Text   string // as it was given
	Reason string

	open  bool     // what can be written instead is still to be said, see hint
	meant []string // what the text could have meant
}

func (e *PointError) Error() string { return fmt.Sprintf("%q: %s", e.Text, e.Reason) }

// pointError makes an error without its text, which [ParsePoint] fills in.
func pointError(format string, args ...any) *PointError {
	return &PointError{Reason: fmt.Sprintf(format, args...)}
}

// parseSeq reads the N of "seq:N" or "before:N". before counts one back.
func parseSeq(digits string, before bool) (Point, *PointError) {
	n, err := strconv.ParseUint(digits, 10, 64)
	switch {
	case err != nil:
		return Point{}, pointError("%q is not a sequence; write a whole number, as in seq:411", digits)
	case n == 0:
		return Point{}, pointError("sequences start at 1")
	case before && n == 1:
		return Point{}, pointError("nothing was recorded before sequence 1")
	case before:
		n--
	}
	return Point{Seq: n}, nil
}

// cutWord splits "word:rest"; ok only for the words that points begin with, so that the
// colon of a time of day is left alone.
func cutWord(s string) (word, rest string, ok bool) {
	word, rest, ok = strings.Cut(s, ":")
	switch word {
	case "seq", "before", "appended", "checkpoint":
		return word, rest, ok
	}
	return "", s, false
}
