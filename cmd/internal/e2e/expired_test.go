package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
	"github.com/offsetledger/offsetledger/projection"
)

// A broker keeps offsets for a minute. Those of a group whose consumer has left, and those that
// somebody committed without being a member, go away by themselves; a third group is deleted by
// hand before its time. The history tells the two apart, and nobody is blamed for the first.
func TestOffsetsThatTheBrokerLetsExpire(t *testing.T) {
	ownBroker(t)
	r := kafkatest.Start(t, kafkatest.RealConfig{Properties: map[string]string{
		"offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": "1000",
	}})
	topic := unique("orders")
	member, simple, deleted := unique("member"), unique("simple"), unique("deleted")
	produce(t, r, topic, 3, 4)
	d := serve(t, t.TempDir(), r.Addrs()[0]).ready()
	require.NoError(t, r.Commit(bounded(t), simple, topic, map[int32]int64{1: 2}))
	require.NoError(t, r.Commit(bounded(t), deleted, topic, map[int32]int64{0: 1}))
	consume(t, r, member, topic, 7)
	left := time.Now()
	require.NoError(t, r.DeleteGroup(bounded(t), deleted))
	d.through()
	require.Equal(t, map[int32]int64{0: 3, 1: 4}, committed(answer[api.Group](d, "group", "describe", member)))

	// A minute, the check of the broker, and what a busy machine makes of it.
	for _, group := range []string{member, simple} {
		require.Eventually(t, func() bool {
			h, err := d.History(t.Context(), api.Query{Group: &group, Movements: []projection.Movement{projection.MovementExpired}})
			return d.ended() || err == nil && len(h.Rows) > 0
		}, 3*patience, 500*time.Millisecond, "the offsets of %s do not expire", group)
		require.False(t, d.ended(), "%s", d.log)
	}
	d.through()

	for group, want := range map[string][]string{
		member: {"advance 0 -> 3", "advance 1 -> 4", "expired 0 3 ->", "expired 1 4 ->"},
		simple: {"advance 1 -> 2", "expired 1 2 ->"}, deleted: {"advance 0 -> 1", "deleted 0 1 ->"},
	} {
		require.ElementsMatch(t, want, stepsOf(d, group), "%s", group)
	}
	for _, group := range []string{member, simple} {
		incidents := rows[api.IncidentRow](d, "incidents", group)
		require.Len(t, incidents, 1)
		require.Equal(t, "expired", incidents[0].Kind)
		require.Equal(t, "expired", *incidents[0].Cause)
		require.Equal(t, "broker", incidents[0].Who.Kind)
		require.True(t, incidents[0].Who.Inferred)
		at, ok := incidents[0].Time.Std()
		require.True(t, ok)
		require.WithinRange(t, at, left.Add(time.Minute-5*time.Second), time.Now(), "not before its time")
		g := answer[api.Group](d, "group", "describe", group)
		require.Empty(t, committed(g))
		for _, row := range g.Rows {
			require.Equal(t, "none", row.Known)
			require.True(t, row.DeletedAt.Known())
		}
	}
	gone := rows[api.IncidentRow](d, "incidents", deleted)
	require.Len(t, gone, 1)
	require.Equal(t, "deleted", gone[0].Kind)
	require.Equal(t, "no-member", gone[0].Who.Kind)
	require.Zero(t, d.stop())
}

// stepsOf are the changes that the history of a group tells, without their times.
func stepsOf(d *daemon, group string) []string {
	d.t.Helper()
	var out []string
	for _, row := range rows[api.ChangeRow](d, "history", group) {
		switch {
		case row.Partition == nil:
		case row.To != nil:
			out = append(out, fmt.Sprintf("%s %d -> %d", row.Movement, *row.Partition, *row.To))
		default:
			out = append(out, fmt.Sprintf("%s %d %d ->", row.Movement, *row.Partition, *row.From))
		}
	}
	return out
}
