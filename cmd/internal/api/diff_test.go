package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/cmd/internal/api/apitest"
	"github.com/offsetledger/offsetledger/projection"
)

// The night in one table: who lost offsets, who was moved back, who skipped, who is new.
func TestDiffOfTheNight(t *testing.T) {
	d := start(t, nil)
	apitest.Night(t, d.ledger)
	answer, err := d.Diff(t.Context(), api.Query{FromPoint: "2026-11-30T02:10:30Z", To: "2026-11-30T02:47:10Z"})
	require.NoError(t, err)
	require.Equal(t, "diff", answer.Kind)
	require.True(t, answer.Coverage.Complete)
	require.Equal(t, []int{4, 3, 0}, []int{answer.Groups, answer.Moved, answer.Advanced})
	require.EqualValues(t, 11, answer.FromSeq)
	require.EqualValues(t, 19, answer.Seq)
	names := make([]string, len(answer.Rows))
	for i, r := range answer.Rows {
		names[i] = string(r.Group)
	}
	require.Equal(t, []string{"mailer-old", "billing", "billing-v2"}, names)

	gone, billing, added := answer.Rows[0], answer.Rows[1], answer.Rows[2]
	require.Equal(t, "gone: expired i12 (inferred)", gone.Note)
	require.Equal(t, []int{2, 2, 0}, []int{gone.Partitions, gone.Gone, *gone.Appeared})
	require.Nil(t, gone.LagTo)
	require.Nil(t, gone.LagDelta)
	require.Equal(t, []int64{96, 2100268, 0}, []int64{billing.Advanced, billing.Replayed, billing.Skipped})
	require.Equal(t, "rewind i19", billing.Note)
	require.Equal(t, []string{"i19"}, billing.Incidents)
	require.Equal(t, []string{"advance", "rewind"}, billing.Movements)
	require.Equal(t, 3, *billing.Appeared)
	require.Nil(t, billing.PartitionRows)
	require.Equal(t, "new", added.Note)

	// One group, partition by partition, by sequence and up to now.
	answer, err = d.Diff(t.Context(), api.Query{Groups: []string{"billing"}, FromPoint: "seq:18", PerPartition: true})
	require.NoError(t, err)
	require.Len(t, answer.Rows, 1)
	billing = answer.Rows[0]
	require.Equal(t, []int64{160630, 2100268}, []int64{billing.Advanced, billing.Replayed})
	require.EqualValues(t, 242, *billing.LagFrom)
	require.EqualValues(t, 1940172, *billing.LagTo)
	require.EqualValues(t, 1939930, *billing.LagDelta)
	require.Len(t, billing.PartitionRows, 3)
	require.EqualValues(t, []int64{701204, 158630}, []int64{*billing.PartitionRows[0].From, *billing.PartitionRows[0].To})

	// Several groups, and one movement.
	answer, err = d.Diff(t.Context(), api.Query{Groups: []string{"billing", "fraud"}, FromPoint: "2026-11-30T01:58:40Z", Movements: []projection.Movement{projection.MovementJump}})
	require.NoError(t, err)
	require.Equal(t, []int{2, 2}, []int{answer.Groups, answer.Moved})
	require.Len(t, answer.Rows, 1)
	require.EqualValues(t, "fraud", answer.Rows[0].Group)
	require.EqualValues(t, 52310, answer.Rows[0].Skipped)
	require.Equal(t, "jump i10", answer.Rows[0].Note)
}

// Of a moment before history nobody knows what there was, so nothing is said to have appeared,
// and the answer is not complete.
func TestDiffFromBeforeHistory(t *testing.T) {
	d := start(t, nil)
	apitest.Night(t, d.ledger)
	answer, err := d.Diff(t.Context(), api.Query{FromPoint: "2026-11-29T00:00:00Z"})
	require.NoError(t, err)
	require.False(t, answer.Coverage.Complete)
	for _, r := range answer.Rows {
		require.Nil(t, r.Appeared)
		require.NotEqual(t, "new", r.Note)
	}
}

// Up to now a comparison is as complete as every other answer about the present: what is stored of
// a quiet cluster lags behind, since nothing comes, but capture is close to the present.
func TestDiffUpToNowIsCompleteWhileCaptureKeepsUp(t *testing.T) {
	behind := 300 * time.Millisecond
	d := start(t, func(c *api.Config) {
		c.Now = func() time.Time { return nightEnds.Add(9 * time.Second) }
		c.Status = func() api.Status {
			return api.Status{Capturing: true, Ready: true, Behind: behind, BehindKnown: true}
		}
	})
	apitest.Night(t, d.ledger)
	for _, q := range []api.Query{{}, {Groups: []string{"billing"}}, {To: "now"}} {
		q.FromPoint, behind = "2026-11-30T02:00:00Z", 300*time.Millisecond
		answer, err := d.Diff(t.Context(), q)
		require.NoError(t, err)
		require.Equal(t, "exact", answer.Known)
		require.True(t, answer.Coverage.Complete)
		behind = 20 * time.Second
		answer, err = d.Diff(t.Context(), q)
		require.NoError(t, err)
		require.Equal(t, "stale", answer.Known)
		require.False(t, answer.Coverage.Complete)
	}
}

func TestDiffsThatCannotBeTold(t *testing.T) {
	d := start(t, nil)
	apitest.Night(t, d.ledger)
	for query, want := range map[string]struct {
		code   api.Code
		detail string
	}{
		"":                                    {api.CodeBadParameter, "from: say since when"},
		"from=now":                            {api.CodeBadParameter, "nothing has happened since now"},
		"from=seq:9&to=seq:3":                 {api.CodeBadParameter, "from (seq:9) lies after to (seq:3)"},
		"from=-1h&to=-2h":                     {api.CodeBadParameter, "lies after to"},
		"from=seq:19&to=2026-11-30T01:00:30Z": {api.CodeBadParameter, "lies after to"},
		"from=yesterday":                      {api.CodeBadParameter, "from: "},
		"from=-1h&to=seq:9999":                {api.CodeUnknownSequence, "to: the ledger ends at"},
		"from=-1h&group=biling":               {api.CodeUnknownGroup, "never seen"},
		"from=-1h&since=-1h":                  {api.CodeUnknownParameter, "since"},
		"from=-1h&partitions=maybe":           {api.CodeBadParameter, "partitions: "},
	} {
		t.Run(query, func(t *testing.T) {
			resp, body := d.get(t, "/api/v1/diff?"+query)
			require.NotEqual(t, http.StatusOK, resp.StatusCode)
			p := requireProblem(t, resp, body, resp.StatusCode, want.code)
			require.Contains(t, p.Detail, want.detail)
		})
	}
}
