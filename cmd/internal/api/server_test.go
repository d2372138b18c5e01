package api_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/cmd/internal/api/apitest"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/ledgertest"
	"github.com/offsetledger/offsetledger/projection"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var nightEnds = func() time.Time {
	t, err := time.Parse(time.RFC3339, apitest.NightEnds)
	if err != nil {
		panic(err)
	}
	return t
}()

// daemon is a handler over a real ledger, with a client of it.
type daemon struct {
	*api.Client
	ledger  *ledgertest.Ledger
	handler http.Handler
}

// keepsUp is the status of a capture that is close to the present.
func keepsUp() api.Status {
	return api.Status{Capturing: true, Ready: true, Behind: 300 * time.Millisecond, BehindKnown: true}
}

// start answers from a ledger until the test ends. What change leaves alone of the Config is
// that of a daemon at the end of the night whose capture keeps up.
func start(t *testing.T, change func(*api.Config)) *daemon {
	t.Helper()
	l := ledgertest.New(t)
	view := projection.NewView()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		view.Run(ctx, l.Follow(ctx, 1, ledger.Filter{}))
	}()
	cfg := api.Config{
		Log: l, View: view, Status: keepsUp, Now: func() time.Time { return nightEnds },
		Hosts: api.LoopbackHosts, Heartbeat: 50 * time.Millisecond,
	}
	if change != nil {
		change(&cfg)
	}
	h := api.NewHandler(cfg)
	server := httptest.NewServer(h)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		cancel()
		<-done
	})
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &daemon{Client: &api.Client{URL: server.URL, Transport: transport}, ledger: l, handler: h}
}

// get asks a path as any HTTP client does.
func (d *daemon) get(t *testing.T, path string) (*http.Response, string) {
	t.Helper()
	return d.request(t, http.MethodGet, path)
}

func (d *daemon) request(t *testing.T, method, path string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, d.URL+path, nil)
	require.NoError(t, err)
	c := http.Client{Transport: d.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := c.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, string(body)
}

// requireProblem checks that an answer is a problem document with a code.
func requireProblem(t *testing.T, resp *http.Response, body string, status int, code api.Code) api.Problem {
	t.Helper()
	require.Equal(t, status, resp.StatusCode, body)
	require.Equal(t, "application/problem+json", resp.Header.Get("Content-Type"))
	var p api.Problem
	require.NoError(t, json.Unmarshal([]byte(body), &p))
	require.Equal(t, code, p.Code)
	require.Equal(t, status, p.Status)
	require.NotEmpty(t, p.Detail)
	return p
}

func ptr[T any](v T) *T { return &v }

// CLI-01: group ids with slashes, hashes, percent signs, control characters or bytes that are
// no text were cut off, redirected or decoded twice by other tools. Each is reached under its
// own name, and no other.
func TestCLI01EveryGroupIdIsReachedUnderItsOwnName(t *testing.T) {
	d := start(t, nil)
	apitest.Names(t, d.ledger)
	list, err := d.Groups(t.Context(), api.Query{})
	require.NoError(t, err)
	require.Len(t, list.Rows, len(apitest.OddNames))
	for i, name := range apitest.OddNames {
		for _, ask := range []*api.Client{d.Client, {URL: "http://localhost", Transport: api.Local(d.handler)}} {
			g, err := ask.Group(t.Context(), api.Query{Group: &name})
			require.NoError(t, err, "%q", name)
			require.Equal(t, api.Text(name), g.Group, "%q", name)
			require.Len(t, g.Rows, 1)
			require.Equal(t, int64(100+i), *g.Rows[0].CommittedOffset)
			h, err := ask.History(t.Context(), api.Query{Group: &name})
			require.NoError(t, err, "%q", name)
			require.Equal(t, 1, h.TotalEvents)
			require.Equal(t, api.Text(name), h.Rows[0].Group)
		}
	}
	// Escaped by hand, as a script would.
	_, body := d.get(t, "/api/v1/group?group="+url.QueryEscape("a%2Fb"))
	require.Contains(t, body, `"group":"a%2Fb"`)
	_, body = d.get(t, "/api/v1/group?group=%FF%FE")
	require.Contains(t, body, `"group":"\"\\xff\\xfe\""`)
}

// CLI-01: errors are JSON, nothing redirects, and no path leads to another resource.
func TestCLI01NoRedirectAndNoHTML(t *testing.T) {
	d := start(t, nil)
	for _, path := range []string{
		"/", "/api", "/api/v1", "/api/v1/groups/", "//api/v1/groups", "/api/v1/../v1/groups", "/api/v1/group/billing",
		"/api/v1/group/..", "/favicon.ico", "/api/v1/groups%2F",
	} {
		resp, body := d.get(t, path)
		requireProblem(t, resp, body, http.StatusNotFound, api.CodeNotFound)
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions} {
		resp, body := d.request(t, method, "/api/v1/groups")
		requireProblem(t, resp, body, http.StatusMethodNotAllowed, api.CodeMethod)
		require.Equal(t, "GET, HEAD", resp.Header.Get("Allow"))
	}
	resp, body := d.request(t, http.MethodHead, "/api/v1/groups")
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Empty(t, body)
}

// CAP-12: the empty group id is legal. It is a group like any other, and not the absence of
// a group.
func TestCAP12EmptyGroupIdIsNotNoGroup(t *testing.T) {
	d := start(t, nil)
	apitest.Names(t, d.ledger)
	resp, body := d.get(t, "/api/v1/group?group=")
	require.Equal(t, http.StatusOK, resp.StatusCode, body)
	require.Contains(t, body, `"group":"","state":"Empty"`)
	resp, body = d.get(t, "/api/v1/group")
	requireProblem(t, resp, body, http.StatusBadRequest, api.CodeBadParameter)

	one, err := d.History(t.Context(), api.Query{Group: ptr("")})
	require.NoError(t, err)
	require.Equal(t, 1, one.TotalEvents)
	all, err := d.History(t.Context(), api.Query{})
	require.NoError(t, err)
	require.Equal(t, len(apitest.OddNames), all.TotalEvents)
}

// CLI-07: unknown, empty, deleted, still catching up and asked of the wrong cluster are five
// different answers, told apart without reading prose.
func TestCLI07FiveAnswersThatAreNotAnOffset(t *testing.T) {
	var status atomic.Value
	status.Store(keepsUp())
	d := start(t, func(c *api.Config) {
		c.Status = func() api.Status { return status.Load().(api.Status) }
		c.Now = func() time.Time { return nightEnds.Add(88 * time.Second) }
	})
	apitest.Night(t, d.ledger)
	s := apitest.Begin(t, d.ledger, apitest.NightEnds)
	s.Members("joined", 1, "somebody")

	resp, body := d.get(t, "/api/v1/group?group=bilingl")
	p := requireProblem(t, resp, body, http.StatusNotFound, api.CodeUnknownGroup)
	require.Equal(t, []api.Text{"billing"}, p.Near)

	g, err := d.Group(t.Context(), api.Query{Group: ptr("joined")})
	require.NoError(t, err)
	require.Empty(t, g.Rows)
	require.Equal(t, 1, g.Members)
	require.Nil(t, g.TotalLag)

	g, err = d.Group(t.Context(), api.Query{Group: ptr("mailer-old")})
	require.NoError(t, err)
	require.Equal(t, "Deleted", g.State)
	require.Equal(t, "2026-11-30T02:11:00.000Z", g.DeletedAt.String())
	require.Equal(t, "none", g.Rows[0].Known)
	require.Equal(t, int64(40), *g.Rows[0].Before)

	status.Store(api.Status{Capturing: true, Behind: 90 * time.Second, BehindKnown: true})
	resp, body = d.get(t, "/api/v1/group?group=bilingl")
	p = requireProblem(t, resp, body, http.StatusServiceUnavailable, api.CodeCatchingUp)
	require.Equal(t, 90.0, *p.Progress.BehindSeconds)
	g, err = d.Group(t.Context(), api.Query{Group: ptr("billing")})
	require.NoError(t, err)
	require.False(t, g.Coverage.Complete)
	require.Equal(t, 90.0, *g.Coverage.BehindSeconds)
	require.Equal(t, "stale", g.Rows[0].Known)
	require.Equal(t, "2026-11-30T03:12:38.000Z", g.Rows[0].KnownUntil.String())

	resp, body = d.get(t, "/api/v1/groups?cluster=staging")
	p = requireProblem(t, resp, body, http.StatusNotFound, api.CodeUnknownCluster)
	require.Equal(t, []api.Text{"prod"}, p.Near)
}

func TestAClusterIsNeededOnlyWhereThereAreSeveral(t *testing.T) {
	d := start(t, nil)
	apitest.Night(t, d.ledger)
	resp, body := d.get(t, "/api/v1/groups")
	require.Equal(t, http.StatusOK, resp.StatusCode, body)
	s := apitest.Begin(t, d.ledger, apitest.NightEnds)
	s.Append(ledger.Event{
		Kind: ledger.KindCommitted, Cluster: "staging", Group: "billing", Source: ledger.Source{Kind: ledger.SourceTail},
		Offsets: []ledger.Offset{{Topic: "orders", At: 1, Effective: ledger.AtTime(nightEnds)}},
	})
	resp, body = d.get(t, "/api/v1/groups")
	p := requireProblem(t, resp, body, http.StatusBadRequest, api.CodeClusterNeeded)
	require.Equal(t, []api.Text{"prod", "staging"}, p.Near)
	g, err := d.Group(t.Context(), api.Query{Cluster: "staging", Group: ptr("billing")})
	require.NoError(t, err)
	require.Equal(t, int64(1), *g.Rows[0].CommittedOffset)
}

// CLI-06: describing a group failed as a whole because one of its topics had been deleted.
func TestCLI06ADeletedTopicHidesNothingElse(t *testing.T) {
	d := start(t, nil)
	s := apitest.Begin(t, d.ledger, apitest.NightBegins)
	s.Cursor()
	s.Topic("t1", 1)
	s.Topic("t2", 1)
	s.Commit("g", "t1", "", 10)
	s.Commit("g", "t2", "", 20)
	s.Watermarks("t2", 0, 25)
	s.At("2026-11-30T02:00:00Z").Topic("t1", 0)
	g, err := d.Group(t.Context(), api.Query{Group: ptr("g")})
	require.NoError(t, err)
	require.Len(t, g.Rows, 2)
	require.Equal(t, int64(10), *g.Rows[0].CommittedOffset)
	require.Nil(t, g.Rows[0].Lag)
	require.Equal(t, "topic gone since 2026-11-30T02:00:00.000Z", g.Rows[0].Note)
	require.Equal(t, int64(20), *g.Rows[1].CommittedOffset)
	require.Equal(t, int64(5), *g.Rows[1].Lag)
	require.Equal(t, int64(5), *g.TotalLag)
	require.Equal(t, 1, g.Unknown)
}

func TestParametersThatCannotBeAreRefused(t *testing.T) {
	d := start(t, nil)
	rewind := apitest.Night(t, d.ledger)
	require.Equal(t, uint64(19), rewind)
	for query, code := range map[string]api.Code{
		"groups?gruop=billing":                     api.CodeUnknownParameter,
		"groups?at=25:00":                          api.CodeBadParameter,
		"groups?at=2026-11-30T02:46:00":            api.CodeBadParameter,
		"groups?at=2026-11-30T03:12:41Z":           api.CodeBadParameter,
		"groups?sort=age":                          api.CodeBadParameter,
		"groups?limit=-1":                          api.CodeBadParameter,
		"groups?next=x":                            api.CodeBadParameter,
		"groups?at=-1h&at=-2h":                     api.CodeBadParameter,
		"groups?at=%zz":                            api.CodeBadParameter,
		"groups?at=-1h;-2h":                        api.CodeBadParameter,
		"groups?limit=":                            api.CodeBadParameter,
		"groups?cluster=":                          api.CodeBadParameter,
		"groups?limit=1e3":                         api.CodeBadParameter,
		"groups?limit=9223372036854775808":         api.CodeBadParameter,
		"history?around=0":                         api.CodeBadParameter,
		"history?around=-1":                        api.CodeBadParameter,
		"history?around=24":                        api.CodeUnknownSequence,
		"history?partition=-1":                     api.CodeBadParameter,
		"history?partition=2147483648":             api.CodeBadParameter,
		"group?group=%22a":                         api.CodeBadParameter,
		"history?movement=rewound":                 api.CodeBadParameter,
		"history?partition=x":                      api.CodeBadParameter,
		"history?follow=perhaps":                   api.CodeBadParameter,
		"history?since=02:50Z&until=02:40Z":        api.CodeBadParameter,
		"history?until=02:40Z&follow=1":            api.CodeBadParameter,
		"events?until=seq:3&follow=1":              api.CodeBadParameter,
		"history?at=02:50Z":                        api.CodeUnknownParameter,
		"events?kind=commit":                       api.CodeBadParameter,
		"incidents/show?id=412x":                   api.CodeBadParameter,
		"group?group=billing&at=checkpoint:deploy": api.CodeUnknownSequence,
		"groups?at=seq:24":                         api.CodeUnknownSequence,
		"incidents/show?id=i1":                     api.CodeUnknownIncident,
	} {
		resp, body := d.get(t, "/api/v1/"+query)
		p := requireProblem(t, resp, body, resp.StatusCode, code)
		require.Contains(t, []int{http.StatusBadRequest, http.StatusNotFound}, p.Status, query)
		// What is wrong is said in words of this API: the parameter, what was given, what would be right.
		for _, leaked := range []string{"strconv", "parsing", "invalid", "time:", "EOF", "separator"} {
			require.NotContains(t, p.Detail, leaked, query)
		}
	}
}

// A page of somebody else must not make a browser ask a daemon on loopback in its name.
func TestAListenerOnLoopbackAnswersToItsOwnNamesOnly(t *testing.T) {
	d := start(t, nil)
	for host, status := range map[string]int{
		"localhost:8642": 200, "127.0.0.1": 200, "[::1]:8642": 200, "LOCALHOST": 200,
		"evil.example": 403, "127.0.0.1.evil.example:8642": 403, "": 403,
	} {
		r := httptest.NewRequest(http.MethodGet, "/healthz", nil)
		r.Host = host
		w := httptest.NewRecorder()
		d.handler.ServeHTTP(w, r)
		require.Equal(t, status, w.Code, host)
	}
}

func TestHealthAndReadiness(t *testing.T) {
	var status atomic.Value
	status.Store(api.Status{Capturing: true})
	d := start(t, func(c *api.Config) { c.Status = func() api.Status { return status.Load().(api.Status) } })
	resp, body := d.get(t, "/healthz")
	require.Equal(t, http.StatusOK, resp.StatusCode, body)
	resp, body = d.get(t, "/readyz")
	requireProblem(t, resp, body, http.StatusServiceUnavailable, api.CodeNotReady)
	require.Equal(t, "1", resp.Header.Get("Retry-After"))

	status.Store(api.Status{Capturing: true, Ready: true, Problem: "Kafka is away since 03:00:00Z"})
	resp, body = d.get(t, "/healthz")
	p := requireProblem(t, resp, body, http.StatusServiceUnavailable, api.CodeUnhealthy)
	require.Contains(t, p.Detail, "Kafka is away")
	resp, body = d.get(t, "/readyz")
	require.Equal(t, http.StatusOK, resp.StatusCode, body) // questions are still answered
	resp, body = d.get(t, "/api/v1/groups")
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Contains(t, body, `"problem":"Kafka is away since 03:00:00Z"`)
}

// What is no answer of a daemon is not taken for one.
func TestAnotherServerIsNotADaemon(t *testing.T) {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "<html>hello</html>")
	}))
	defer page.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	c := &api.Client{URL: page.URL, Transport: transport}
	_, err := c.Groups(t.Context(), api.Query{})
	require.ErrorContains(t, err, "not as offsetledger does")
	_, err = c.FollowHistory(t.Context(), api.Query{})
	require.ErrorContains(t, err, "not as offsetledger does")
	_, err = (&api.Client{URL: "127.0.0.1:8642"}).Groups(t.Context(), api.Query{})
	require.ErrorContains(t, err, "write one as http://127.0.0.1:8642")
}

// limited serves a handler by a server that cuts answers off after some time.
func limited(t *testing.T, h http.Handler, timeout time.Duration) string {
	server := httptest.NewUnstartedServer(h)
	server.Config.WriteTimeout = timeout
	server.Start()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// A ledger of which nothing was captured knows nothing, also where capture keeps up: its empty
// answers are not exact.
func TestAnEmptyLedgerKnowsNothing(t *testing.T) {
	for name, status := range map[string]func() api.Status{"captured": keepsUp, "read": nil} {
		d := start(t, func(c *api.Config) { c.Status = status })
		for _, path := range []string{"groups", "groups?at=-1h", "history", "events", "incidents?since=-2h"} {
			resp, body := d.get(t, "/api/v1/"+path)
			require.Equal(t, http.StatusOK, resp.StatusCode, body)
			var e api.Envelope
			require.NoError(t, json.Unmarshal([]byte(body), &e))
			require.Equal(t, "unknown", e.Known, "%s: %s", name, path)
			require.Equal(t, "nothing was captured yet", e.Why)
			require.Equal(t, "none", e.Coverage.Source)
			require.False(t, e.Coverage.Complete)
			require.Contains(t, body, `"rows":[]`)
		}
		resp, body := d.get(t, "/api/v1/group?group=g")
		p := requireProblem(t, resp, body, http.StatusNotFound, api.CodeUnknownGroup)
		require.Equal(t, "group g was never seen: nothing was captured yet", p.Detail)
		resp, body = d.get(t, "/api/v1/groups?cluster=prod")
		p = requireProblem(t, resp, body, http.StatusNotFound, api.CodeUnknownCluster)
		require.Equal(t, "the ledger holds no cluster prod: nothing was captured yet", p.Detail)
	}
}
