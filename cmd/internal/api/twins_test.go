package api_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/cmd/internal/api/apitest"
	"github.com/offsetledger/offsetledger/ledger"
)

// reported is a manager's telling of a commit, which it makes a second after what came before.
func reported(s *apitest.Story, group string, offsets ...int64) uint64 {
	before, _ := s.Now().Std()
	s.AtTime(before.Add(time.Second))
	ev := ledger.Event{
		Kind: ledger.KindCommitted, Group: group, NotBefore: s.Now(),
		Source: ledger.Source{Kind: ledger.SourceManager, Instance: "m1"},
	}
	for p, at := range offsets {
		ev.Offsets = append(ev.Offsets, ledger.Offset{Topic: "orders", Partition: int32(p), At: at, CommitTime: s.Now(), Effective: s.Now()})
	}
	return s.Append(ev)
}

// Six commits of a managed group, told by the manager and by the tail in either order, with other
// groups in between: each is one row in order, and names both. One that the tail has not seen yet
// names the manager alone, and so does a row behind which more came than is waited for.
func TestACommitToldTwiceNamesBothSources(t *testing.T) {
	d := start(t, nil)
	s := apitest.Begin(t, d.ledger, apitest.NightEnds)
	s.Began()
	both, manager := []string{"manager", "tail"}, []string{"tail", "manager"}
	type told struct {
		seq     uint64
		sources []string
	}
	var want []told
	add := func(seq uint64, sources []string) {
		want = append(want, told{seq, sources}, told{seq, sources})
	}
	first := reported(s, "billing", 1, 1)
	add(first, both)
	s.Commit("other", "orders", "", 5, 5)
	s.Commit("billing", "orders", "", 1, 1)
	second := s.Commit("billing", "orders", "", 2, 2)
	add(second, manager)
	third := s.Commit("billing", "orders", "", 3, 3)
	add(third, manager)
	reported(s, "billing", 2, 2)
	reported(s, "billing", 3, 3)
	fourth := reported(s, "billing", 4, 4)
	want = append(want, told{fourth, both}, told{fourth, nil})
	s.Commit("billing", "orders", "", 4) // of the second partition the tail has nothing yet
	s.Commit("other", "orders", "", 6, 6)

	sourcesOf := func(q api.Query) (got []told) {
		h, err := d.History(t.Context(), q)
		require.NoError(t, err)
		for _, r := range h.Rows {
			if string(r.Group) == "billing" {
				got = append(got, told{r.Seq, r.Sources})
			} else {
				require.Nil(t, r.Sources)
			}
		}
		return got
	}
	require.Equal(t, want, sourcesOf(api.Query{Group: ptr("billing")}))
	require.Equal(t, want, sourcesOf(api.Query{}), "other groups in between change nothing")
	require.Equal(t, want[2:6], sourcesOf(api.Query{Group: ptr("billing"), Since: ledgerPoint(second), Until: ledgerPoint(third)}),
		"the second telling lies behind what was asked for")
	require.Equal(t, want[6:], sourcesOf(api.Query{Group: ptr("billing"), Limit: ptr(1)}))

	st, err := d.FollowHistory(t.Context(), api.Query{Group: ptr("billing"), Follow: true})
	var lines []told
	_, err = untilUpToDate(st, err, func(r *api.ChangeRow) uint64 {
		lines = append(lines, told{r.Seq, r.Sources})
		return r.Seq
	})
	require.NoError(t, err)
	require.Equal(t, want, lines)
}

// A commit is not waited for beyond its bounds: the rows behind it come in the same order, and it
// names one source.
func TestATwinThatComesTooLateIsNotWaitedFor(t *testing.T) {
	d := start(t, nil)
	s := apitest.Begin(t, d.ledger, apitest.NightEnds)
	s.Began()
	first := reported(s, "billing", 1)
	for i := range 6 {
		_, err := d.ledger.Append(t.Context(), batch(t, 1000+700*i, 700))
		require.NoError(t, err)
	}
	s.Commit("billing", "orders", "", 1)
	st, err := d.FollowHistory(t.Context(), api.Query{})
	require.NoError(t, err)
	last := uint64(0)
	for row, err := range st.Rows() {
		require.NoError(t, err)
		if row == nil {
			continue
		}
		require.Greater(t, row.Seq, last)
		last = row.Seq
		if row.Seq == first {
			require.Nil(t, row.Sources)
		}
	}
	require.Equal(t, first+4200, last)
}
