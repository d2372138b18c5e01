package replay

import (
	"errors"
	"fmt"

	"github.com/offsetledger/offsetledger/ledger"
)

// ErrWish is a plan that was asked for in a way that does not say what is meant.
var ErrWish = errors.New("the plan does not say what it is to do")

// ErrUnknown is a group or topic that neither the ledger nor Kafka knows: [UnknownError] says
// which.
var ErrUnknown = errors.New("it does not exist")

// UnknownError names a group or topic that is neither in the ledger nor in Kafka: most likely it
// is misspelled. It matches [ErrUnknown].
type UnknownError struct {
	What string // group, topic, or [UnknownCopied]
	Name string
}

// UnknownCopied is the What of a group whose offsets were to be taken over.
const UnknownCopied = "group to copy"

func (e *UnknownError) Error() string {
	return fmt.Sprintf("%s %s was never seen", e.What, shown(e.Name))
}

// Is makes the error match [ErrUnknown].
func (e *UnknownError) Is(target error) bool { return target == ErrUnknown }

// validate returns everything that is wrong with a wish.
func (w *Wish) validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if w.Command != CommandRestore && w.Command != CommandReset {
		fault("%q is neither restore nor reset", w.Command)
	}
	if len(w.Groups) == 0 {
		fault("no group is named")
	}
	for _, p := range w.Picks {
		switch {
		case p.Topic == "":
			fault("a topic without a name")
		case !p.All && len(p.Partitions) == 0:
			fault("of topic %s no partition is named", ledger.Spell(p.Topic))
		case p.All && len(p.Partitions) > 0:
			fault("of topic %s all partitions are named, and some", ledger.Spell(p.Topic))
		}
	}
	listed := w.Target.Kind == TargetRows
	switch {
	case w.AllTopics && len(w.Picks) > 0:
		fault("all topics are named, and some")
	case w.Command == CommandReset && !w.AllTopics && len(w.Picks) == 0 && !listed:
		fault("no topic is named")
	}
	if err := CheckRows(w.Target.Rows, w.Groups); err != nil {
		faults = append(faults, err)
	}
	if !w.Target.Point.Resolved() {
		fault("the point %s is not resolved to a sequence", w.Target.Point)
	}
	if len(faults) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrWish, errors.Join(faults...))
}
