package api_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/cmd/internal/api/apitest"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/replay"
)

// carriedOut records that a plan was carried out, as replay.Apply does around what it writes; not
// to its end if whole is false.
func (d *daemon) carriedOut(t *testing.T, id string, p *replay.Plan, undoes string, whole bool) {
	t.Helper()
	op := replay.Operation{Restore: id, Plan: p.ID, Digest: p.Digest, Undoes: undoes, Whole: whole}
	for _, action := range []string{replay.OperationApply, replay.OperationApplied} {
		body, err := json.Marshal(op)
		require.NoError(t, err)
		_, err = d.ledger.Append(t.Context(), []ledger.Event{{
			Kind: ledger.KindOperator, Cluster: "prod", Time: ledger.AtTime(nightEnds), Source: ledger.Source{Kind: ledger.SourceOperator},
			Actor: "kim", Reason: "CHG-41", Plan: p.ID, Operation: &ledger.Operation{Action: action, Target: id, Body: body},
		}})
		require.NoError(t, err)
	}
}

// Of an incident that a restore has put back it is told which, when, and by whom: by a plan of the
// incident, or one of the whole group to a moment before. A restore that was undone puts nothing
// back, until the undo is undone.
func TestAnIncidentIsToldAsPutBack(t *testing.T) {
	d := writer(t)
	putBack := func() *api.PutBackRow {
		t.Helper()
		shown, err := d.Incident(t.Context(), api.Query{ID: "i19"})
		require.NoError(t, err)
		list, err := d.Incidents(t.Context(), api.Query{})
		require.NoError(t, err)
		require.Equal(t, shown.Rows[0].PutBack, list.Rows[0].PutBack)
		for _, in := range list.Rows[1:] {
			require.Nil(t, in.PutBack, in.ID)
		}
		return shown.Rows[0].PutBack
	}
	require.Nil(t, putBack())
	of, err := d.Plan(t.Context(), api.PlanRequest{Command: replay.CommandRestore, Incident: "i19", Actor: "kim"})
	require.NoError(t, err)
	require.Nil(t, putBack(), "a plan alone does nothing")

	d.carriedOut(t, "r1", of, "", false)
	require.Equal(t, "r1", putBack().Restore)
	require.False(t, putBack().Whole)
	d.carriedOut(t, "r2", of, "", true)
	require.Equal(t, api.PutBackRow{
		Restore: "r2", Plan: of.ID, Time: api.Time{Time: ledger.AtTime(nightEnds)}, Whole: true, Actor: ptr(api.Text("kim")), Reason: ptr(api.Text("CHG-41")),
	}, *putBack())
	shown, err := d.Incident(t.Context(), api.Query{ID: "i19"})
	require.NoError(t, err)
	require.Contains(t, shown.Rows[0].Story, ", put back 03:12:40Z by r2")

	d.carriedOut(t, "r3", &replay.Plan{ID: "p3", Digest: "3"}, "r2", true)
	require.Equal(t, "r1", putBack().Restore)
	d.carriedOut(t, "r4", &replay.Plan{ID: "p4", Digest: "4"}, "r3", true)
	require.Equal(t, "r2", putBack().Restore)
}

// A restore of a whole group to a moment before an incident puts it back too, and one to a moment
// after it, of some of its topics, or of another group does not.
func TestARestoreToAMomentBeforePutsBack(t *testing.T) {
	for name, c := range map[string]struct {
		req  api.PlanRequest
		want bool
	}{
		"before":      {api.PlanRequest{Groups: []api.Text{"billing"}, To: "seq:18", Direction: "both"}, true},
		"by time":     {api.PlanRequest{Groups: []api.Text{"billing"}, To: "2026-11-30T02:46:00Z", Direction: "both"}, true},
		"after":       {api.PlanRequest{Groups: []api.Text{"billing"}, To: "seq:19", Direction: "both"}, false},
		"other group": {api.PlanRequest{Groups: []api.Text{"fraud"}, To: "seq:18", Direction: "both"}, false},
		"some of it": {api.PlanRequest{Groups: []api.Text{"billing"}, To: "seq:18", Direction: "both",
			Topics: []api.TopicSet{{Topic: "orders", Partitions: []int32{0}}}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := writer(t)
			c.req.Command, c.req.Actor = replay.CommandRestore, "kim"
			p, err := d.Plan(t.Context(), c.req)
			require.NoError(t, err)
			d.carriedOut(t, "r1", p, "", true)
			shown, err := d.Incident(t.Context(), api.Query{ID: "i19"})
			require.NoError(t, err)
			require.Equal(t, c.want, shown.Rows[0].PutBack != nil)
		})
	}
}

// What a restore did is an incident too, and undoing that restore is what puts it back.
func TestWhatARestoreDidIsPutBackByItsUndo(t *testing.T) {
	d := writer(t)
	p, err := d.Plan(t.Context(), api.PlanRequest{Command: replay.CommandRestore, Incident: "i10", Actor: "kim"})
	require.NoError(t, err)
	d.carriedOut(t, "r1", p, "", true)
	story := apitest.Begin(t, d.ledger, apitest.NightEnds)
	story.Append(ledger.Event{
		Kind: ledger.KindIntent, Group: "fraud", Source: ledger.Source{Kind: ledger.SourceOperator}, Actor: "kim", Plan: p.ID,
		Offsets: []ledger.Offset{{Topic: "refunds", At: 520}},
	})
	story.Commit("fraud", "refunds", "", 520)
	reset := func() api.IncidentRow {
		t.Helper()
		list, err := d.Incidents(t.Context(), api.Query{Group: ptr("fraud")})
		require.NoError(t, err)
		require.Equal(t, []string{"reset", "jump"}, []string{list.Rows[0].Kind, list.Rows[1].Kind})
		require.Equal(t, "r1", list.Rows[1].PutBack.Restore)
		return list.Rows[0]
	}
	require.Equal(t, "r1", *reset().Restore)
	require.Nil(t, reset().PutBack)
	d.carriedOut(t, "r2", &replay.Plan{ID: "p2", Digest: "2"}, "r1", true)
	list, err := d.Incidents(t.Context(), api.Query{Group: ptr("fraud")})
	require.NoError(t, err)
	require.Equal(t, "r2", list.Rows[0].PutBack.Restore)
	require.Nil(t, list.Rows[1].PutBack, "what put it back was undone")
}
