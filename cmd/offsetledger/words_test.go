package main

import (
	"strings"
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

// All that is known of an offset manager is the id of its process, which would not say what it is.
func TestWhoSaysThatItIsAManager(t *testing.T) {
	for want, who := range map[string]api.Who{
		"manager 01a22fe2":     {Kind: "manager", ClientID: "01a22fe2"},
		"manager":              {Kind: "manager"},
		"billing-app 10.0.0.1": {Kind: "member", ClientID: "billing-app", MemberID: "billing-app-7", Host: "/10.0.0.1"},
		"kgo-7 10.0.0.1":       {Kind: "member", MemberID: "kgo-7", Host: "/10.0.0.1"},
		"member":               {Kind: "member"},
	} {
		require.Equal(t, want, whoWords(&who))
	}
}

// A ledger that had begun and had heard nothing of the group yet knows that there was nothing; what
// lies before history is not known.
func TestOnlyWhatIsNotKnownIsBeforeHistory(t *testing.T) {
	for known, want := range map[string]string{"exact": "(seq 0, exact)", "unknown": "(before history, unknown)"} {
		var out strings.Builder
		a := app{now: time.Now, stdout: &out}
		a.groupHeader(&api.Group{Envelope: api.Envelope{Cluster: "prod", Known: known}})
		require.Contains(t, out.String(), want)
	}
}

// What an operator did is told with the name that was given, in a history as in a list of incidents.
func TestHistoryNamesTheOperator(t *testing.T) {
	actor := api.Text("ci-bot")
	a := app{now: time.Now}
	rows := []api.ChangeRow{{Seq: 7, Movement: "reset", Who: api.Who{Kind: "operator"}, Actor: &actor}}
	require.Contains(t, a.historyLine(rows, false, false), "ci-bot")
}
