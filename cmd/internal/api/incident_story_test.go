package api

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// A story says on which day it was if that was not today, and spells the group as all answers do.
func TestTheStoryOfAnIncident(t *testing.T) {
	moment := func(text string) ledger.Time {
		at, err := time.Parse(time.RFC3339, text)
		require.NoError(t, err)
		return ledger.AtTime(at)
	}
	in := &projection.Incident{
		Group: "billing", Kind: projection.MovementRewind, Replayed: 2500, ReadAgain: 1900,
		EmptySince: moment("2026-11-29T23:59:51Z"), Time: moment("2026-11-30T00:00:58Z"), ReadingSince: moment("2026-11-30T00:01:20Z"),
	}
	for now, want := range map[string]string{
		"2026-11-30T09:00:00Z": "billing: empty 2026-11-29T23:59:51Z, moved 00:00:58Z, reading since 00:01:20Z; 1900 of 2500 read again",
		"2026-12-01T00:00:01Z": "billing: empty 2026-11-29T23:59:51Z, moved 2026-11-30T00:00:58Z, reading since 2026-11-30T00:01:20Z; 1900 of 2500 read again",
	} {
		require.Equal(t, want, (&frame{now: moment(now)}).storyOf(in))
	}
	in = &projection.Incident{Group: "a\x1b", Kind: projection.MovementJump, Skipped: 7, Time: ledger.AtMillis(1 << 60)}
	require.Equal(t, `"a\x1b": moved 1152921504606846976ms; 7 skipped`, (&frame{}).storyOf(in))
	in = &projection.Incident{Kind: projection.MovementDeleted, Time: moment("2026-11-30T00:00:58Z")}
	require.Equal(t, `"": deleted 2026-11-30T00:00:58Z`, (&frame{}).storyOf(in))
}

// Where incidents of long ago were let go, a list that reaches back to them says from when it is
// complete.
func TestAListOfIncidentsSaysFromWhenItIsComplete(t *testing.T) {
	at := func(ms int64) Time { return Time{ledger.AtMillis(ms)} }
	for from, want := range map[int64]Coverage{
		1000: {From: at(2000)}, 2000: {From: at(2000)}, 2001: {From: at(2001), Complete: true},
	} {
		c := Coverage{From: at(from), Complete: true}
		c.reachesTo(ledger.AtMillis(2000))
		require.Equal(t, want, c)
		c = Coverage{From: at(from), Complete: true}
		c.reachesTo(ledger.Time{})
		require.Equal(t, Coverage{From: at(from), Complete: true}, c)
	}
}
