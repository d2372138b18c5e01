package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/cmd/internal/api/apitest"
)

// The lag of the night: not known until the log was looked at, then small, then all of it.
func TestLagOfTheNight(t *testing.T) {
	d := start(t, nil)
	apitest.Night(t, d.ledger)
	billing := "billing"
	answer, err := d.Lag(t.Context(), api.Query{Group: &billing, Since: "2026-11-30T02:44:00Z", Partitions: []int32{0}})
	require.NoError(t, err)
	require.Equal(t, "lag", answer.Kind)
	require.True(t, answer.Coverage.Complete)
	var times []string
	var lags []any
	for _, r := range answer.Rows {
		require.EqualValues(t, 0, r.Partition)
		times = append(times, r.Time.String()[11:19])
		if r.Lag == nil {
			require.Equal(t, "the log was not observed", r.Why)
			lags = append(lags, nil)
			continue
		}
		lags = append(lags, *r.Lag)
	}
	require.Equal(t, []string{"02:44:20", "02:44:50", "02:45:50", "02:46:58", "02:50:00", "03:12:38"}, times)
	require.Equal(t, []any{nil, nil, int64(106), int64(701310), int64(542680), int64(542772)}, lags)

	// One point keeps the least, the greatest and the last.
	one := int64(1)
	answer, err = d.Lag(t.Context(), api.Query{Group: &billing, Since: "2026-11-30T02:44:00Z", Partitions: []int32{0}, Points: &one})
	require.NoError(t, err)
	require.Len(t, answer.Rows, 4)

	for query, want := range map[string]string{
		"":                                  "group: say which group",
		"group=billing&points=0":            "points: 0 is not a number from 1 to",
		"group=billing&points=10001":        "points: 10001 is not a number from 1 to",
		"group=billing&points=x":            "points: ",
		"group=billing&since=-1h&until=-2h": "lies after until",
	} {
		resp, body := d.get(t, "/api/v1/lag?"+query)
		require.Contains(t, requireProblem(t, resp, body, resp.StatusCode, api.CodeBadParameter).Detail, want)
	}
}
