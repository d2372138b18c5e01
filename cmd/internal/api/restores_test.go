package api_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/cmd/internal/api/apitest"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/replay"
)

// writer is a daemon that records restores, of which those of billing need somebody's consent,
// and reaches no Kafka.
func writer(t *testing.T) *daemon {
	t.Helper()
	d := start(t, func(c *api.Config) {
		log := c.Log.(replay.Log)
		c.Append = func(ctx context.Context, events []ledger.Event) error {
			_, err := log.Append(ctx, events)
			return err
		}
		c.Writes = &api.Writes{
			Log:           log,
			Broker:        func(string) (replay.Broker, error) { return nil, errors.New("it only reads") },
			NeedsApproval: func(cluster, group string) bool { return cluster == "prod" && group == "billing" },
		}
	})
	apitest.Night(t, d.ledger)
	return d
}

func requireCode(t *testing.T, err error, code api.Code) {
	t.Helper()
	var p *api.Problem
	require.ErrorAs(t, err, &p)
	require.Equal(t, code, p.Code, p.Detail)
}

// Who carries a plan out by itself records through the daemon: in order, on conditions, and only
// what an operator does.
func TestOnlyWhatAnOperatorDoesIsAppended(t *testing.T) {
	d := writer(t)
	log := api.RestoreLog{Client: d.Client}
	group := ledger.GroupSubjects("prod", "fraud")
	last, err := log.LastOf(t.Context(), group)
	require.NoError(t, err)
	require.NotZero(t, last)
	now := ledger.AtTime(time.Now())
	intent := ledger.Event{
		Kind: ledger.KindIntent, Cluster: "prod", Group: "fraud", Time: now, Source: ledger.Source{Kind: ledger.SourceOperator},
		Actor: "kim", Plan: "p12345", Offsets: []ledger.Offset{{Topic: "payments", At: 7}},
	}
	receipt, err := log.Append(t.Context(), []ledger.Event{intent}, ledger.Expect{Filter: group, Seq: last})
	require.NoError(t, err)
	_, err = log.Append(t.Context(), []ledger.Event{intent}, ledger.Expect{Filter: group, Seq: last})
	require.ErrorIs(t, err, ledger.ErrConflict)

	var read []ledger.Record
	for rec, err := range log.Read(t.Context(), 1, 0, ledger.Filter{Subjects: []string{ledger.GroupSubject("prod", "fraud", ledger.KindIntent)}}) {
		require.NoError(t, err)
		read = append(read, rec)
	}
	require.Len(t, read, 1)
	require.Equal(t, receipt.Last, read[0].Seq)
	require.Equal(t, "kim", read[0].Event.Actor)
	require.Equal(t, int64(7), read[0].Event.Offsets[0].At)

	forged := intent
	forged.Kind, forged.Source.Kind = ledger.KindCommitted, ledger.SourceTail
	forged.Offsets = []ledger.Offset{{Topic: "payments", At: 7, Effective: now}}
	_, err = log.Append(t.Context(), []ledger.Event{forged})
	requireCode(t, err, api.CodeBadParameter)
	proved := intent
	proved.ActorVerified = true
	_, err = log.Append(t.Context(), []ledger.Event{proved})
	requireCode(t, err, api.CodeBadParameter)
}

// A daemon without the leave to write says so; one that wants consent wants it from somebody
// else, for the plan as it is, also from a program that writes by itself.
func TestAPlanWaitsForLeaveAndConsent(t *testing.T) {
	d := writer(t)
	p, err := d.Plan(t.Context(), api.PlanRequest{Command: replay.CommandRestore, Incident: "i19", Actor: "kim", Reason: "a rewind"})
	require.NoError(t, err)
	_, err = d.Apply(t.Context(), api.ApplyRequest{ID: p.ID, Actor: "kim", Reason: "CHG-41"})
	requireCode(t, err, api.CodeReadOnly)
	_, err = d.Apply(t.Context(), api.ApplyRequest{ID: p.ID, Actor: "kim"})
	requireCode(t, err, api.CodeBadParameter)
	_, err = d.Apply(t.Context(), api.ApplyRequest{ID: "p00000", Actor: "kim", Reason: "CHG-41"})
	requireCode(t, err, api.CodeUnknownPlan)

	begin := func(actor string) error {
		_, err := api.RestoreLog{Client: d.Client}.Append(t.Context(), []ledger.Event{{
			Kind: ledger.KindOperator, Cluster: "prod", Time: ledger.AtTime(time.Now()), Source: ledger.Source{Kind: ledger.SourceOperator},
			Actor: actor, Plan: p.ID, Operation: &ledger.Operation{Action: replay.OperationApply, Target: "r1", Body: []byte(`{}`)},
		}})
		return err
	}
	requireCode(t, begin("kim"), api.CodeRefused)
	_, err = d.Approve(t.Context(), api.ApproveRequest{ID: p.ID, Digest: "another", Actor: "ben"})
	requireCode(t, err, api.CodeStale)
	done, err := d.Approve(t.Context(), api.ApproveRequest{ID: p.ID, Digest: p.Digest, Actor: "ben"})
	require.NoError(t, err)
	require.Equal(t, api.Approval{Kind: "approval", Version: 1, Plan: p.ID, Digest: p.Digest, Actor: "ben"}, done)
	requireCode(t, begin("ben"), api.CodeRefused)
	require.NoError(t, begin("kim"))

	restores, err := d.Restores(t.Context(), api.Query{})
	require.NoError(t, err)
	require.Empty(t, restores.Rows, "what is no restore of ours is not shown as one")
}

// A program that carries a plan out by itself hears from Kafka, and from the ledger what Kafka does
// not tell: since when a group is empty, and which never had a member.
func TestWhoAsksKafkaItselfLearnsFromTheLedger(t *testing.T) {
	d := writer(t)
	apitest.Begin(t, d.ledger, apitest.NightEnds).Members("fraud", 2)
	facts := replay.Facts{At: ledger.AtTime(nightEnds), Groups: []replay.GroupFacts{
		{Name: "fraud", Exists: true, State: "Empty", Rows: []ledger.Offset{{Topic: "refunds", At: 52830}}},
		{Name: "mailer-old", Exists: true, State: "Empty"},
		{Name: "never-seen", Exists: true, State: "Empty"},
	}}
	require.NoError(t, d.Learn(t.Context(), "prod", &facts))
	require.Equal(t, ledger.AtTime(nightEnds), facts.Group("fraud").EmptySince)
	require.False(t, facts.Group("fraud").Simple)
	require.Len(t, facts.Group("fraud").Rows, 1)
	require.True(t, facts.Group("mailer-old").Simple)
	require.False(t, facts.Group("never-seen").EmptySince.Known())
	requireCode(t, d.Learn(t.Context(), "nowhere", &facts), api.CodeUnknownCluster)
}

// ben agrees to a plan, kim carries it out, and its rows say both; what kim agreed to alone, nobody
// else has.
func TestRowsSayWhoAgreedToTheirPlan(t *testing.T) {
	d := writer(t)
	story := apitest.Begin(t, d.ledger, apitest.NightEnds)
	carryOut := func(plan string, to int64) {
		intent := ledger.Event{
			Kind: ledger.KindIntent, Cluster: "prod", Group: "fraud", Time: ledger.AtTime(nightEnds), Source: ledger.Source{Kind: ledger.SourceOperator},
			Actor: "kim", Reason: "CHG-41", Plan: plan, Offsets: []ledger.Offset{{Topic: "refunds", At: to}},
		}
		_, err := api.RestoreLog{Client: d.Client}.Append(t.Context(), []ledger.Event{intent})
		require.NoError(t, err)
		story.Commit("fraud", "refunds", "", to)
	}
	var plans []string
	for _, agrees := range [][]string{{"eve", "ben", "kim"}, {"kim"}} {
		p, err := d.Plan(t.Context(), api.PlanRequest{Command: replay.CommandRestore, Incident: "i19", Actor: "kim"})
		require.NoError(t, err)
		plans = append(plans, p.ID)
		for _, actor := range agrees {
			_, err = d.Approve(t.Context(), api.ApproveRequest{ID: p.ID, Digest: p.Digest, Actor: api.Text(actor)})
			require.NoError(t, err)
		}
		carryOut(p.ID, 500-int64(len(plans)))
	}
	story.Commit("fraud", "refunds", "", 600)

	h, err := d.History(t.Context(), api.Query{Group: ptr("fraud"), Since: "-1s", Not: []projection.Movement{projection.MovementNone}})
	require.NoError(t, err)
	require.Len(t, h.Rows, 3)
	require.Equal(t, plans[0], *h.Rows[0].Plan)
	require.Equal(t, "ben", h.Rows[0].ApprovedBy.String())
	require.Equal(t, plans[1], *h.Rows[1].Plan)
	require.Nil(t, h.Rows[1].ApprovedBy)
	require.Nil(t, h.Rows[2].ApprovedBy)
	shown, err := d.Incident(t.Context(), api.Query{ID: fmt.Sprint(h.Rows[0].Seq)})
	require.NoError(t, err)
	require.Equal(t, "ben", shown.Rows[0].Changes[0].ApprovedBy.String())
}
