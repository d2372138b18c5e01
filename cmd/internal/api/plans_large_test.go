package api_test

import (
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/replay"
)

// randomRows asks for a plan about topics with random names of so many bytes, which no compression
// makes much shorter.
func randomRows(topics, bytes int) api.PlanRequest {
	random := rand.New(rand.NewPCG(3, 4))
	rows := make([]replay.FileRow, topics)
	for i := range rows {
		name := make([]byte, bytes/2)
		for j := range name {
			name[j] = byte(random.Uint32())
		}
		rows[i] = replay.FileRow{Topic: hex.EncodeToString(name)}
	}
	return api.PlanRequest{Command: replay.CommandReset, Groups: []api.Text{"billing"}, To: "file", Rows: api.FileRows(rows)}
}

// A plan that does not fit into one event, packed as it is, is stored in parts, and comes back whole.
func TestPlanLargerThanOneEvent(t *testing.T) {
	d := planner(t, nil)
	p, err := d.Plan(t.Context(), randomRows(400, 8<<10))
	require.NoError(t, err)
	ev, err := p.Event(replay.By{})
	require.NoError(t, err)
	require.Greater(t, len(ev.Operation.Body), 1<<20)
	again, err := d.ShowPlan(t.Context(), api.Query{ID: p.ID})
	require.NoError(t, err)
	want, err := json.Marshal(p)
	require.NoError(t, err)
	got, err := json.Marshal(again)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

// A plan that cannot be stored at once is refused, and it is said what can be done.
func TestPlanThatIsTooLarge(t *testing.T) {
	d := planner(t, nil)
	_, err := d.Plan(t.Context(), randomRows(2400, 8<<10))
	var p *api.Problem
	require.ErrorAs(t, err, &p)
	require.Equal(t, api.CodeTooLarge, p.Code)
	require.Contains(t, p.Detail, "plan for fewer groups or partitions")
	list, err := d.Plans(t.Context(), api.Query{})
	require.NoError(t, err)
	require.Empty(t, list.Rows)
}
