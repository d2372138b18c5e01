package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
)

const annotatePath = "/api/v1/incidents/annotate"

// Said twice, both reasons stay, the oldest first; the newest is the one of the incident, which
// itself stays as it was.
func TestAnIncidentIsAnnotatedTwice(t *testing.T) {
	d := writer(t)
	before, err := d.Incident(t.Context(), api.Query{ID: "i19"})
	require.NoError(t, err)
	require.Nil(t, before.Rows[0].Reason)
	for _, by := range [][2]string{{"kim", "the deploy of 02:46"}, {"ben", "CHG-41"}} {
		_, err := d.Annotate(t.Context(), api.AnnotateRequest{ID: "i19", Actor: api.Text(by[0]), Reason: api.Text(by[1])})
		require.NoError(t, err)
	}
	after, err := d.Incident(t.Context(), api.Query{ID: "i19"})
	require.NoError(t, err)
	row := after.Rows[0]
	require.Len(t, row.Annotations, 2)
	for i, want := range [][2]string{{"kim", "the deploy of 02:46"}, {"ben", "CHG-41"}} {
		require.Equal(t, want, [2]string{row.Annotations[i].Actor.String(), row.Annotations[i].Reason.String()})
		require.False(t, row.Annotations[i].ActorVerified)
	}
	require.Equal(t, "CHG-41", row.Reason.String())
	require.Nil(t, row.Actor)
	row.Annotations, row.Reason = nil, nil
	require.Equal(t, before.Rows[0], row)
}

// What is no annotation is refused, and nothing of it is stored.
func TestAnnotationsThatAreRefused(t *testing.T) {
	d := writer(t)
	last, err := d.ledger.Last(t.Context())
	require.NoError(t, err)
	body := func(change func(*api.AnnotateRequest)) string {
		req := api.AnnotateRequest{ID: "i19", Actor: "kim", Reason: "CHG-41"}
		change(&req)
		b, err := json.Marshal(req)
		require.NoError(t, err)
		return string(b)
	}
	good := body(func(*api.AnnotateRequest) {})
	for name, c := range map[string]struct {
		body   string
		header http.Header
		status int
		code   api.Code
		detail string
	}{
		"not JSON":       {"why=CHG-41", nil, http.StatusBadRequest, api.CodeBadParameter, ""},
		"two documents":  {good + good, nil, http.StatusBadRequest, api.CodeBadParameter, ""},
		"unknown field":  {`{"id":"i19","actor":"kim","reason":"x","note":"y"}`, nil, http.StatusBadRequest, api.CodeBadParameter, "note"},
		"a form":         {good, http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, http.StatusUnsupportedMediaType, api.CodeNotJSON, ""},
		"foreign site":   {good, http.Header{"Sec-Fetch-Site": {"cross-site"}}, http.StatusForbidden, api.CodeHost, "origin"},
		"foreign origin": {good, http.Header{"Origin": {"http://evil.example"}}, http.StatusForbidden, api.CodeHost, "origin"},
		"foreign host":   {good, http.Header{"Host": {"evil.example"}}, http.StatusForbidden, api.CodeHost, "evil.example"},
		"no reason":      {body(func(r *api.AnnotateRequest) { r.Reason = "" }), nil, http.StatusBadRequest, api.CodeBadParameter, "reason"},
		"only blanks":    {body(func(r *api.AnnotateRequest) { r.Reason = " \t\n\u00a0" }), nil, http.StatusBadRequest, api.CodeBadParameter, "reason"},
		"nobody":         {body(func(r *api.AnnotateRequest) { r.Actor = " " }), nil, http.StatusBadRequest, api.CodeBadParameter, "actor"},
		"too long": {body(func(r *api.AnnotateRequest) { r.Reason = api.Text(strings.Repeat("x", 16<<10+1)) }), nil,
			http.StatusRequestEntityTooLarge, api.CodeTooLarge, "16385 bytes, and 16384 are the most"},
		"no incident":     {body(func(r *api.AnnotateRequest) { r.ID = "i4" }), nil, http.StatusNotFound, api.CodeUnknownIncident, ""},
		"another cluster": {body(func(r *api.AnnotateRequest) { r.Cluster = "test" }), nil, http.StatusNotFound, api.CodeUnknownIncident, "not of test"},
	} {
		t.Run(name, func(t *testing.T) {
			resp, answer := d.post(t, annotatePath, c.body, c.header)
			p := requireProblem(t, resp, answer, c.status, c.code)
			require.Contains(t, p.Detail, c.detail)
		})
	}
	now, err := d.ledger.Last(t.Context())
	require.NoError(t, err)
	require.Equal(t, last, now)
	longest := body(func(r *api.AnnotateRequest) { r.Reason = api.Text(strings.Repeat("x", 16<<10)) })
	resp, answer := d.post(t, annotatePath, longest, nil)
	require.Equal(t, http.StatusOK, resp.StatusCode, answer)
	resp, answer = d.get(t, annotatePath)
	requireProblem(t, resp, answer, http.StatusMethodNotAllowed, api.CodeMethod)
}
