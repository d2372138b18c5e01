package replay

// Action is what a step does. The zero Action is keep: nothing is touched.
type Action uint8

// The actions.
const (
	ActionKeep   Action = iota // nothing to do, or not to be done
	ActionSet                  // commit the target
	ActionDelete               // delete the committed offset
	ActionRefuse               // it cannot be done, and waiting does not help
)

var actionNames = [...]string{"keep", "set", "delete", "refuse"}

// String is the word that users see.
func (a Action) String() string { return actionNames[a] }

// Direction is a way that offsets are moved.
type Direction uint8

// The directions.
const (
	DirectionAny     Direction = iota // nothing was said
	DirectionForward                  // records are skipped
	DirectionBack                     // records are replayed
	DirectionBoth                     // some partitions forward and some back, and that is meant
)

var directionNames = [...]string{"", "forward", "back", "both"}

// String is the word that users see; empty for DirectionAny.
func (d Direction) String() string { return directionNames[d] }

// ParseDirection is the inverse of [Direction.String]. It is false for a word that is none.
func ParseDirection(s string) (Direction, bool) { return wordOf[Direction](directionNames[:], s) }

// Clock says by what the target of a plan was found.
type Clock uint8

// The clocks.
const (
	ClockNone     Clock = iota // no time is in it: offsets, shifts, ends of the log, files
	ClockCommit                // when offsets were committed
	ClockRecord                // when records were written
	ClockSequence              // the order of the ledger
)

var clockNames = [...]string{"", "commit time", "record time", "sequence"}

// String is the word that users see; empty for ClockNone.
func (c Clock) String() string { return clockNames[c] }

func wordOf[T ~uint8](names []string, s string) (T, bool) {
	for i, name := range names {
		if name == s {
			return T(i), true
		}
	}
	return 0, false
}
