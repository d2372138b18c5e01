package api

import (
	"fmt"
	"net/http"
)

// Code says what kind of problem it is. Codes do not change; the words around them may.
type Code string

// The codes.
const (
	CodeUnknownGroup     Code = "unknown-group"     // the ledger never saw it
	CodeUnknownTopic     Code = "unknown-topic"     // likewise
	CodeUnknownCluster   Code = "unknown-cluster"   // the ledger holds others
	CodeClusterNeeded    Code = "cluster-needed"    // the ledger holds several
	CodeUnknownIncident  Code = "unknown-incident"  // no event of that sequence is part of one
	CodeUnknownSequence  Code = "unknown-sequence"  // the ledger does not reach so far
	CodeUnknownPlan      Code = "unknown-plan"      // no plan of that id is stored
	CodeUnknownSnapshot  Code = "unknown-snapshot"  // none of that id can be used, or is stored
	CodeUnknownRestore   Code = "unknown-restore"   // no finished restore of that id is stored
	CodeBlocked          Code = "blocked"           // a plan cannot be carried out now: somebody is in the group
	CodeStale            Code = "stale"             // a plan is not true any more
	CodeRefused          Code = "refused"           // a plan can never be carried out, or somebody has to agree first; an incident has a reason of its own
	CodeConflict         Code = "conflict"          // others wrote first
	CodeReadOnly         Code = "read-only"         // nothing can be written here, and how it can be
	CodeCatchingUp       Code = "catching-up"       // the answer is still being read; Progress says how far
	CodeNotReady         Code = "not-ready"         // capture has not caught up since the start
	CodeUnhealthy        Code = "unhealthy"         // capture is not well
	CodeBadParameter     Code = "bad-parameter"     // a value that cannot be
	CodeUnknownParameter Code = "unknown-parameter" // probably misspelled
	CodeNotFound         Code = "not-found"         // no such route
	CodeMethod           Code = "method-not-allowed"
	CodeBusy             Code = "busy"             // too many read the log already
	CodeHost             Code = "host-not-allowed" // the Host header is not one of this listener
	CodeNotJSON          Code = "not-json"         // of what is posted
	CodeTooLarge         Code = "too-large"        // what is posted, or what comes of it
	CodeInternal         Code = "internal"
)

var statusOf = map[Code]int{
	CodeUnknownGroup:     http.StatusNotFound,
	CodeUnknownTopic:     http.StatusNotFound,
	CodeUnknownCluster:   http.StatusNotFound,
	CodeClusterNeeded:    http.StatusBadRequest,
	CodeUnknownIncident:  http.StatusNotFound,
	CodeUnknownSequence:  http.StatusNotFound,
	CodeUnknownPlan:      http.StatusNotFound,
	CodeUnknownSnapshot:  http.StatusNotFound,
	CodeUnknownRestore:   http.StatusNotFound,
	CodeBlocked:          http.StatusConflict,
	CodeStale:            http.StatusConflict,
	CodeRefused:          http.StatusConflict,
	CodeConflict:         http.StatusConflict,
	CodeReadOnly:         http.StatusForbidden,
	CodeNotJSON:          http.StatusUnsupportedMediaType,
	CodeTooLarge:         http.StatusRequestEntityTooLarge,
	CodeCatchingUp:       http.StatusServiceUnavailable,
	CodeNotReady:         http.StatusServiceUnavailable,
	CodeUnhealthy:        http.StatusServiceUnavailable,
	CodeBadParameter:     http.StatusBadRequest,
	CodeUnknownParameter: http.StatusBadRequest,
	CodeNotFound:         http.StatusNotFound,
	CodeMethod:           http.StatusMethodNotAllowed,
	CodeBusy:             http.StatusServiceUnavailable,
	CodeHost:             http.StatusForbidden,
	CodeInternal:         http.StatusInternalServerError,
}

// Problem is why a question has no answer: the problem details of RFC 9457, with a code. It
// is the error that [Client] returns for one.
type Problem struct {
	Type   string `json:"type"` // always about:blank: Code says it
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Code   Code   `json:"code"`
	// Near are the names most like the unknown one, best first; or, of a cluster, all.
	Near     []Text    `json:"near,omitempty"`
	Progress *Progress `json:"progress,omitempty"` // of catching-up
}

// Progress is how far reading has come.
type Progress struct {
	Seq           uint64   `json:"seq"`
	Last          uint64   `json:"last"`
	BehindSeconds *float64 `json:"behind_seconds"` // how far capture is behind; null if that is not known, or not what is waited for
}

func (p *Problem) Error() string { return p.Detail }

// problem makes a Problem.
func problem(code Code, format string, args ...any) *Problem {
	status := statusOf[code]
	return &Problem{
		Type: "about:blank", Title: http.StatusText(status), Status: status,
		Detail: fmt.Sprintf(format, args...), Code: code,
	}
}

// write answers with the problem.
func (p *Problem) write(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Del("ETag")
	if p.Status == http.StatusServiceUnavailable {
		h.Set("Retry-After", "1")
	}
	body, _ := encode(p) // nothing in it cannot be encoded
	w.WriteHeader(p.Status)
	w.Write(append(body, '\n')) //nolint:errcheck // the client is gone
}
