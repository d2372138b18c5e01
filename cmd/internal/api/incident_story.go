package api

import (
	"fmt"
	"strings"
	"time"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// storyVerbs say what an act did, where its kind is not simply that offsets moved.
var storyVerbs = map[projection.Movement]string{
	projection.MovementReset: "reset", projection.MovementDeleted: "deleted", projection.MovementExpired: "expired",
	projection.MovementRecreated: "topic made again", projection.MovementAfterLoss: "committed again after a loss",
	projection.MovementRolledBack: "rolled back by the broker",
}

// storyOf tells in one sentence what is known of an act and of what came after.
func (f *frame) storyOf(in *projection.Incident) string {
	var parts []string
	if in.EmptySince.Known() {
		parts = append(parts, "empty "+f.clock(in.EmptySince))
	}
	verb := storyVerbs[in.Kind]
	if verb == "" {
		verb = "moved"
	}
	parts = append(parts, verb+" "+f.clock(in.Time))
	if in.ReadingSince.Known() {
		parts = append(parts, "reading since "+f.clock(in.ReadingSince))
	}
	story := Shown(in.Group) + ": " + strings.Join(parts, ", ")
	if in.Replayed > 0 {
		story += fmt.Sprintf("; %d of %d read again", in.ReadAgain, in.Replayed)
	}
	if in.Skipped > 0 {
		story += fmt.Sprintf("; %d skipped", in.Skipped)
	}
	return story
}

// clock is a moment as a story tells it.
func (f *frame) clock(t ledger.Time) string {
	now := time.Time{}
	if std, ok := f.now.Std(); ok {
		now = std
	}
	return Time{t}.Clock(now, "15:04:05Z")
}
