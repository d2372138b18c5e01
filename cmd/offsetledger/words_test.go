package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/ledger"
)

// At five past midnight, what happened ten minutes ago was on another day and is shown with
// it; programs get the same shape of every moment.
func TestATimeOfAnotherDayIsShownWithItsDate(t *testing.T) {
	now := time.Date(2026, 12, 1, 1, 5, 0, 0, time.FixedZone("CET", 3600))
	people, programs := app{now: func() time.Time { return now }}, app{now: func() time.Time { return now }, output: outAWK}
	at := func(ago time.Duration) api.Time { return api.Time{Time: ledger.AtTime(now.Add(-ago))} }
	for _, c := range []struct {
		t            api.Time
		shown, whole string
	}{
		{at(time.Minute), "00:04:00Z", "2026-12-01T00:04:00.000Z"},
		{at(10 * time.Minute), "2026-11-30T23:55:00Z", "2026-11-30T23:55:00.000Z"},
		{at(30 * 24 * time.Hour), "2026-11-01T00:05:00Z", "2026-11-01T00:05:00.000Z"},
		{at(-24 * time.Hour), "2026-12-02T00:05:00Z", "2026-12-02T00:05:00.000Z"},
		{api.Time{Time: ledger.AtMillis(1 << 60)}, "1152921504606846976ms", "1152921504606846976ms"},
		{api.Time{}, "", ""},
	} {
		require.Equal(t, c.shown, people.clock(c.t, seconds))
		require.Equal(t, c.whole, programs.clock(c.t, seconds))
		require.Equal(t, c.whole, programs.clock(c.t, millis))
	}
}
