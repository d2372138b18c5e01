package api_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/cmd/internal/api/apitest"
)

// An answer that is copied is the one that is read, with what it says about itself; and what
// HTML would have escaped stands for itself in it, as everywhere.
func TestAnAnswerIsCopiedAsItIs(t *testing.T) {
	d := start(t, nil)
	apitest.Night(t, d.ledger)
	s := apitest.Begin(t, d.ledger, apitest.NightEnds)
	s.Commit("a<b>&c", "orders", "", 1)
	for path, copied := range map[string]func(io.Writer) (api.Envelope, error){
		"/api/v1/history":      func(w io.Writer) (api.Envelope, error) { return d.CopyHistory(t.Context(), api.Query{}, w) },
		"/api/v1/events":       func(w io.Writer) (api.Envelope, error) { return d.CopyEvents(t.Context(), api.Query{}, w) },
		"/api/v1/events?limit": func(w io.Writer) (api.Envelope, error) { return d.CopyEvents(t.Context(), api.Query{Limit: ptr(0)}, w) },
	} {
		var got bytes.Buffer
		e, err := copied(&got)
		require.NoError(t, err)
		var whole struct{ api.Envelope }
		require.NoError(t, json.Unmarshal(got.Bytes(), &whole))
		require.Equal(t, whole.Envelope, e)
		if strings.HasSuffix(path, "limit") {
			continue
		}
		_, body := d.get(t, path)
		require.Equal(t, body, got.String())
		require.Contains(t, body, `"group":"a<b>&c"`)
	}
	_, body := d.get(t, "/api/v1/group?group=a%3Cb%3E")
	require.Contains(t, body, `group a<b> was never seen`)

	_, err := d.CopyHistory(t.Context(), api.Query{Group: ptr("nobody")}, io.Discard)
	var p *api.Problem
	require.ErrorAs(t, err, &p)
	require.Equal(t, api.CodeUnknownGroup, p.Code)
	_, err = d.CopyHistory(t.Context(), api.Query{}, full{})
	require.ErrorIs(t, err, errFull)
}

var errFull = errors.New("full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

// A copy that broke off is an error, wherever it did.
func TestACopyThatBrokeOffIsAnError(t *testing.T) {
	body := `{"kind":"history","version":1,"coverage":{"gaps":[]},"rows":[{"seq":1},{"seq":2}],"events":2}`
	for cut := range len(body) {
		c := &api.Client{URL: "http://localhost", Transport: api.Local(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, body[:cut])
			panic(http.ErrAbortHandler)
		}))}
		_, err := c.CopyHistory(t.Context(), api.Query{}, io.Discard)
		require.ErrorContains(t, err, "read the answer of http://localhost", "cut after %d bytes", cut)
	}
}
