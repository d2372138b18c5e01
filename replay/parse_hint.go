package replay

import (
	"slices"
	"strings"
	"time"
)

// Examples of all that is read somewhere as a time or a place of the history, and as a target.
// Which of them are recommended at a place is asked of what reads that place, so that nothing is
// recommended that would be refused there.
var (
	pointExamples = []string{
		"2026-11-30T02:46:00Z", "02:46Z", "2026-11-30", "-10m", "P7D", "@1764470760", "seq:411", "before:412", "checkpoint:NAME",
	}
	targetExamples = []string{
		"earliest", "latest", "current", "700", "+50", "-50", "@2026-11-30T02:46:00Z", "commit-time:2026-11-30T02:46:00Z",
		"seq:411", "before:412", "checkpoint:NAME", "group:OTHER",
	}
)

// examplesPast is a moment at which all times of the examples are past.
var examplesPast = time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)

// TargetExamples are spellings of targets that [ParseTarget] takes, one of each kind.
func TargetExamples() []string { return slices.Clone(targetExamples) }

// hint completes an error about something that is none of what can be written at a place, with
// what can: what the text could have meant, else examples. read is what reads the place.
func (e *PointError) hint(examples []string, now time.Time, read func(s string, now time.Time) *PointError) *PointError {
	if e == nil || !e.open {
		return e
	}
	if now.Before(examplesPast) {
		now = examplesPast
	}
	taken := func(of []string) (out []string) {
		for _, s := range of {
			if read(s, now) == nil {
				out = append(out, s)
			}
		}
		return out
	}
	e.open = false
	if meant := taken(e.meant); len(meant) > 0 {
		e.Reason += "; write " + OneOf(meant)
		return e
	}
	e.Reason += "; write one as " + OneOf(taken(examples))
	return e
}

// OneOf joins words with commas, and the last with or.
func OneOf(words []string) string {
	if n := len(words) - 1; n > 0 {
		return strings.Join(words[:n], ", ") + " or " + words[n]
	}
	return strings.Join(words, "")
}
