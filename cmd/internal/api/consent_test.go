package api_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/replay"
)

// Where somebody else has to agree it must be said who acts, and only the daemon's own clock and
// routes say when somebody agreed.
func TestNobodyAgreesForSomebodyElse(t *testing.T) {
	d := writer(t)
	p, err := d.Plan(t.Context(), api.PlanRequest{Command: replay.CommandRestore, Incident: "i19", Actor: "kim"})
	require.NoError(t, err)
	for _, who := range []struct{ actor, reason api.Text }{{"", "CHG-41"}, {" \t", "CHG-41"}, {"kim", ""}, {"kim", "  "}} {
		_, err := d.Apply(t.Context(), api.ApplyRequest{ID: p.ID, Actor: who.actor, Reason: who.reason})
		requireCode(t, err, api.CodeBadParameter)
	}
	_, err = d.Approve(t.Context(), api.ApproveRequest{ID: p.ID, Digest: p.Digest, Actor: " "})
	requireCode(t, err, api.CodeBadParameter)
	for _, action := range []string{replay.OperationApprove, replay.OperationAnnotate, "anything"} {
		_, err := api.RestoreLog{Client: d.Client}.Append(t.Context(), []ledger.Event{{
			Kind: ledger.KindOperator, Cluster: "prod", Time: ledger.AtTime(time.Now().Add(48 * time.Hour)), Source: ledger.Source{Kind: ledger.SourceOperator},
			Actor: "ben", Plan: p.ID, Operation: &ledger.Operation{Action: action, Target: p.ID, Body: []byte(`{}`)},
		}})
		requireCode(t, err, api.CodeBadParameter)
	}
}

// A plan from a file is not stored before it begins. About groups that need nobody's consent it can
// begin; about others nobody can have agreed to it.
func TestAPlanFromAFileBeginsWhereNobodyHasToAgree(t *testing.T) {
	d := writer(t)
	for group, free := range map[string]bool{"fraud": true, "billing": false} {
		p := &replay.Plan{Command: replay.CommandReset, Cluster: "prod", Point: "5", Groups: []replay.PlanGroup{{Group: group}}}
		p.Seal(nil)
		ev, err := p.Event(replay.By{Actor: "kim"})
		require.NoError(t, err)
		ev.Time = ledger.AtTime(time.Now())
		begin := ev
		begin.Operation = &ledger.Operation{Action: replay.OperationApply, Target: "r1", Body: []byte(`{}`)}
		_, err = api.RestoreLog{Client: d.Client}.Append(t.Context(), []ledger.Event{ev, begin})
		if free {
			require.NoError(t, err)
			continue
		}
		requireCode(t, err, api.CodeRefused)
		require.ErrorContains(t, err, "nobody can have agreed to it")
	}
}

// What cannot be read of the records is told, and not tried.
func TestRecordsThatCannotBeRead(t *testing.T) {
	d := writer(t)
	for _, body := range []string{`{"subjects":[]}`, `{"subjects":["", " "]}`, `{"subjects":["ol.>"],"from":18446744073709551615,"to":1}`} {
		resp, answer := d.post(t, "/api/v1/records/read", body, nil)
		requireProblem(t, resp, answer, http.StatusBadRequest, api.CodeBadParameter)
	}
	resp, answer := d.post(t, "/api/v1/records/read", `{"subjects":["ol.>"],"from":18446744073709551615}`, nil)
	require.Equal(t, http.StatusOK, resp.StatusCode, answer)
	require.Contains(t, answer, `"rows":[]`)
}

// What would take the daemon minutes is refused at once: more groups than any plan is for, and a
// partition that is listed twice, of which nobody knows where it is to go.
func TestPlansThatNobodyCanMean(t *testing.T) {
	d := writer(t)
	_, err := d.Plan(t.Context(), api.PlanRequest{Command: replay.CommandReset, Groups: slices.Repeat([]api.Text{"billing"}, 10_001), To: "earliest", AllTopics: true})
	requireCode(t, err, api.CodeTooLarge)
	resp, body := d.post(t, "/api/v1/plans", `{"command":"reset","cluster":"prod","groups":["billing"],"to":"file","rows":[`+
		`{"topic":"orders","partition":0,"offset":5},{"topic":"orders","partition":1,"offset":5},{"topic":"orders","partition":0,"offset":900}]}`, nil)
	requireProblem(t, resp, body, http.StatusBadRequest, api.CodeBadParameter)
	require.Contains(t, body, "orders/0 is listed twice")
}
