package api_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/cmd/internal/api/apitest"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/replay"
)

// planner is a daemon that stores plans of the night and, if facts is set, can ask Kafka.
func planner(t *testing.T, facts func(context.Context, string, replay.Inquiry) (replay.Facts, error)) *daemon {
	t.Helper()
	d := emptyPlanner(t, facts)
	apitest.Night(t, d.ledger)
	return d
}

// emptyPlanner is a planner that nothing was recorded for.
func emptyPlanner(t *testing.T, facts func(context.Context, string, replay.Inquiry) (replay.Facts, error)) *daemon {
	t.Helper()
	return start(t, func(c *api.Config) {
		log := c.Log.(interface {
			Append(context.Context, []ledger.Event, ...ledger.Expect) (ledger.Receipt, error)
		})
		c.Append = func(ctx context.Context, events []ledger.Event) error {
			_, err := log.Append(ctx, events)
			return err
		}
		c.Facts = facts
	})
}

// post posts a body as any HTTP client does.
func (d *daemon) post(t *testing.T, path, body string, header http.Header) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.URL+path, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	for name, values := range header {
		req.Header[name] = values
	}
	req.Host = header.Get("Host")
	resp, err := (&http.Client{Transport: d.Transport}).Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, string(answer)
}

const repairNight = `{"command":"restore","cluster":"prod","incident":"i19","actor":"kim","reason":"a rewind"}`

// A plan is made, stored under its id, and comes back as it was made. No Kafka can be asked here,
// which it says.
func TestPlanIsMadeAndStored(t *testing.T) {
	d := planner(t, nil)
	p, err := d.Plan(t.Context(), api.PlanRequest{Command: replay.CommandRestore, Incident: "i19", Actor: "kim", Reason: "a rewind"})
	require.NoError(t, err)
	require.True(t, p.FromLedger)
	require.Equal(t, "seq:18", p.Point)
	require.Equal(t, []string{replay.BlockedActive}, p.Blocked())
	require.Equal(t, replay.Sums{Set: 3, Skips: 1939638}, p.Sums())

	again, err := d.ShowPlan(t.Context(), api.Query{ID: p.ID})
	require.NoError(t, err)
	require.Equal(t, p, again)
	list, err := d.Plans(t.Context(), api.Query{})
	require.NoError(t, err)
	require.Len(t, list.Rows, 1)
	row := list.Rows[0]
	require.Equal(t, p.ID, row.ID)
	require.Equal(t, []api.Text{"billing"}, row.Groups)
	require.Equal(t, "kim", row.Actor.String())
	require.False(t, row.ActorVerified)
	require.Equal(t, "a rewind", row.Reason.String())

	// The same body as JSON, by hand.
	resp, body := d.post(t, "/api/v1/plans", repairNight, nil)
	require.Equal(t, http.StatusOK, resp.StatusCode, body)
	require.Contains(t, body, `"kind":"plan"`)
}

// What Kafka says is asked for with the inquiry of the plan; whoever can ask it sends the facts
// along. If it does not answer, the ledger does.
func TestPlanRestsOnWhatKafkaSays(t *testing.T) {
	var asked replay.Inquiry
	var broken error
	d := planner(t, func(_ context.Context, cluster string, q replay.Inquiry) (replay.Facts, error) {
		require.Equal(t, "prod", cluster)
		asked = q
		return nightFacts(), broken
	})
	req := api.PlanRequest{Command: replay.CommandRestore, Incident: "i19"}
	p, err := d.Plan(t.Context(), req)
	require.NoError(t, err)
	require.False(t, p.FromLedger)
	require.True(t, p.Executable())
	require.EqualValues(t, 700_000, p.Groups[0].Steps[0].Current.At)
	q, err := d.PlanInquiry(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, asked, q)
	require.Equal(t, []string{"billing"}, q.Groups)

	broken = errors.New("no broker answers")
	p, err = d.Plan(t.Context(), req)
	require.NoError(t, err)
	require.True(t, p.FromLedger)
	require.Equal(t, "no broker answers", p.FactsProblem)

	facts := nightFacts()
	facts.Groups[0].Rows[0].At = 5
	req.Facts = &facts
	p, err = d.Plan(t.Context(), req)
	require.NoError(t, err)
	require.EqualValues(t, 5, p.Groups[0].Steps[0].Current.At)
}

// nightFacts are of a Kafka after the night, in which billing has been stopped.
func nightFacts() replay.Facts {
	g := replay.GroupFacts{Name: "billing", Exists: true, State: "Empty", Type: ledger.GroupTypeClassic}
	topic := replay.TopicFacts{Name: "orders", Exists: true}
	for n := range int32(3) {
		g.Rows = append(g.Rows, ledger.Offset{Topic: "orders", Partition: n, At: 700_000 - 10_000*int64(n)})
		topic.Partitions = append(topic.Partitions, replay.PartitionFacts{Partition: n, Log: &replay.Bounds{End: 710_000, LastStable: 710_000}})
	}
	return replay.Facts{At: ledger.AtTime(nightEnds), Groups: []replay.GroupFacts{g}, Topics: []replay.TopicFacts{topic}}
}

// Requests that do not say what is meant, or come from where they may not, are refused.
func TestPlanRequestsThatAreRefused(t *testing.T) {
	d := planner(t, nil)
	for body, c := range map[string]struct {
		status int
		code   api.Code
		says   string
	}{
		`{`: {400, api.CodeBadParameter, "cannot be read"},
		`{"command":"restore","cluster":"prod","incident":"i19"} {}`:                                                            {400, api.CodeBadParameter, "something follows"},
		`{"command":"restore","cluster":"prod","incidnet":"i19"}`:                                                               {400, api.CodeBadParameter, "incidnet"},
		`{"command":"undo","cluster":"prod","incident":"i19"}`:                                                                  {400, api.CodeBadParameter, "neither restore nor reset"},
		`{"command":"restore","cluster":"prod"}`:                                                                                {400, api.CodeBadParameter, "it is not said where to"},
		`{"command":"restore","cluster":"prod","to":"seq:3"}`:                                                                   {400, api.CodeBadParameter, "no group is named"},
		`{"command":"restore","cluster":"prod","groups":["billing"],"to":"seq:9999"}`:                                           {404, api.CodeUnknownSequence, "the ledger ends at"},
		`{"command":"restore","cluster":"prod","groups":["billing"],"to":"02:46Z"}`:                                             {400, api.CodeBadParameter, "the date is missing"},
		`{"command":"restore","cluster":"prod","groups":["bilings"],"to":"seq:3"}`:                                              {404, api.CodeUnknownGroup, "bilings"},
		`{"command":"restore","cluster":"prud","groups":["billing"],"to":"seq:3"}`:                                              {404, api.CodeUnknownCluster, "prud"},
		`{"command":"reset","cluster":"prod","groups":["billing"],"to":"earliest"}`:                                             {400, api.CodeBadParameter, "no topic is named"},
		`{"command":"reset","cluster":"prod","groups":["billing"],"to":"file","all_topics":true}`:                               {400, api.CodeBadParameter, "rows of a file"},
		`{"command":"reset","cluster":"prod","groups":["billing"],"to":"latest","topics":[{"topic":"order","partitions":[0]}]}`: {404, api.CodeUnknownTopic, "order"},
		`{"command":"reset","cluster":"prod","groups":["billing"],"to":"latest","direction":"up","all_topics":true}`:            {400, api.CodeBadParameter, "direction"},
		`{"command":"restore","cluster":"prod","incident":"i4"}`:                                                                {404, api.CodeUnknownIncident, "part of no incident"},
	} {
		resp, answer := d.post(t, "/api/v1/plans", body, nil)
		p := requireProblem(t, resp, answer, c.status, c.code)
		require.Contains(t, p.Detail, c.says, body)
	}
	file := func(rows string) string {
		return `{"command":"reset","cluster":"prod","groups":["billing"],"to":"file","rows":[` + rows + `]}`
	}
	for body, says := range map[string]string{
		file(`{"topic":"orders","partition":0}`):                                              "rows[0].offset: it is missing",
		file(`{"topic":"orders","offset":5}`):                                                 "rows[0].partition: it is missing",
		file(`{"partition":0,"offset":5}`):                                                    "rows[0].topic: it is missing",
		file(`{"topic":"orders","partition":0,"offset":"5"}`):                                 `rows[0].offset: "5" was given, and a whole number is expected`,
		file(`{"topic":"orders","partition":0,"offset":5,"group":"mailer"}`):                  "rows[0]: it is about group mailer, and the plan is for billing",
		file(`{"topic":"o","partition":0,"offset":5},{"topic":"o","partition":0,"offset":6}`): "rows[1]: o/0 is listed twice",
		`{"command":"restore","groups":"billing"}`:                                            `groups: "billing" was given, and a list is expected`,
		`{"command":"restore","facts":{"groups":[{"type":"x"}]}}`:                             "facts",
		`{"command":"reset","groups":["billing"],"all_topics":true,"to":"file:offsets.csv"}`:  "a file is read where it lies",
	} {
		resp, answer := d.post(t, "/api/v1/plans", body, nil)
		p := requireProblem(t, resp, answer, http.StatusBadRequest, api.CodeBadParameter)
		require.Contains(t, p.Detail, says, body)
		require.NotContains(t, p.Detail, "json", body)
	}
	for _, path := range []string{"/api/v1/plans", "/api/v1/plans/inquiry", "/api/v1/incidents/annotate"} {
		resp, answer := d.post(t, path, `{"cluster":"prod","wrong":1}`, nil)
		p := requireProblem(t, resp, answer, http.StatusBadRequest, api.CodeBadParameter)
		require.Regexp(t, `^(wrong|cluster): there is no such field$`, p.Detail, path)
	}
	resp, answer := d.post(t, "/api/v1/plans", repairNight, http.Header{"Content-Type": {"text/plain"}})
	requireProblem(t, resp, answer, http.StatusUnsupportedMediaType, api.CodeNotJSON)
	resp, answer = d.post(t, "/api/v1/plans", repairNight, http.Header{"Sec-Fetch-Site": {"cross-site"}})
	requireProblem(t, resp, answer, http.StatusForbidden, api.CodeHost)
	resp, answer = d.post(t, "/api/v1/plans", repairNight, http.Header{"Origin": {"http://evil.example"}})
	requireProblem(t, resp, answer, http.StatusForbidden, api.CodeHost)
	resp, answer = d.post(t, "/api/v1/groups", repairNight, nil)
	requireProblem(t, resp, answer, http.StatusMethodNotAllowed, api.CodeMethod)
	require.Equal(t, "GET, HEAD", resp.Header.Get("Allow"))
	resp, answer = d.get(t, "/api/v1/plans/inquiry")
	requireProblem(t, resp, answer, http.StatusMethodNotAllowed, api.CodeMethod)
	resp, answer = d.get(t, "/api/v1/plans/show?id=p12345")
	requireProblem(t, resp, answer, http.StatusNotFound, api.CodeUnknownPlan)
	resp, answer = d.get(t, "/api/v1/plans/show?id=12345")
	requireProblem(t, resp, answer, http.StatusBadRequest, api.CodeBadParameter)
	list, err := d.Plans(t.Context(), api.Query{})
	require.NoError(t, err)
	require.Empty(t, list.Rows, "nothing of that was stored")
}
