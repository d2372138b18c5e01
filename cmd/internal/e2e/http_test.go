package e2e

import (
	"io"
	"net/http"
	"strings"
)

// get asks the daemon for a path and returns status and body; the status is 0 when nobody
// answers.
func (d *daemon) get(path string) (int, string) {
	req, err := http.NewRequestWithContext(d.t.Context(), http.MethodGet, d.URL+path, nil)
	if err != nil {
		return 0, err.Error()
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, strings.TrimSpace(string(body))
}
