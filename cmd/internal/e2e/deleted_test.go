package e2e

import (
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
	"github.com/offsetledger/offsetledger/projection"
)

// A group has done its work and is deleted with the stock tool. It is shown as deleted, with
// the cause that the records let conclude; its history and its last offsets stay.
func TestAGroupDeletedByTheStockToolKeepsItsHistory(t *testing.T) {
	r := kafkatest.Shared(t, "")
	topic, group := unique("orders"), unique("nightly")
	produce(t, r, topic, 7, 0, 9)
	d := serve(t, t.TempDir(), r.Addrs()[0]).ready()
	consume(t, r, group, topic, 16)
	d.through()
	before := time.Now()

	tool(t, r, kafkatest.ConsumerGroupCommand, "--group", group, "--delete")
	d.through()

	list := answer[api.Groups](d, "group", "list", "--state", "deleted")
	require.True(t, slices.ContainsFunc(list.Rows, func(g api.GroupRow) bool { return string(g.Group) == group }))
	out := d.ask("group", "describe", group)
	require.Contains(t, out.stdout, "STATE  Deleted since ")
	require.Contains(t, out.stderr, "the group was deleted (inferred)")
	g := answer[api.Group](d, "group", "describe", group)
	require.Equal(t, "Deleted", g.State)
	require.Empty(t, committed(g))
	deletedAt, ok := g.DeletedAt.Std()
	require.True(t, ok)
	require.WithinRange(t, deletedAt, before, time.Now())
	last := map[int32]int64{}
	for _, row := range g.Rows {
		if row.Before != nil {
			require.Equal(t, "none", row.Known)
			require.True(t, row.DeletedAt.Known())
			last[row.Partition] = *row.Before
		}
	}
	require.Equal(t, map[int32]int64{0: 7, 2: 9}, last)

	history := map[string]map[int32]int64{"advance": {}, "deleted": {}}
	for _, row := range rows[api.ChangeRow](d, "history", group) {
		switch {
		case row.Partition == nil:
		case row.To != nil:
			history[row.Movement][*row.Partition] = *row.To
		default:
			history[row.Movement][*row.Partition] = *row.From
			require.Equal(t, "group-deleted", *row.Cause)
			require.True(t, row.CauseInferred)
		}
	}
	require.Equal(t, map[string]map[int32]int64{"advance": last, "deleted": last}, history)
	incidents := rows[api.IncidentRow](d, "incidents", group)
	require.Len(t, incidents, 1)
	require.Equal(t, "deleted", incidents[0].Kind)
	require.Equal(t, 2, incidents[0].Partitions)
	require.Equal(t, "no-member", incidents[0].Who.Kind)

	then := answer[api.Group](d, "group", "describe", group, "--at", before.UTC().Format(time.RFC3339Nano))
	require.Equal(t, last, committed(then))
	require.Equal(t, "Empty", then.State)
}

// A topic is deleted under a group that has committed to it and to another. The offsets are
// shown as gone with the topic, by the broker and by nobody's order on the group.
func TestOffsetsGoWithTheirTopic(t *testing.T) {
	r := kafkatest.Shared(t, "")
	gone, stays, group := unique("gone"), unique("stays"), unique("billing")
	produce(t, r, gone, 3)
	produce(t, r, stays, 3)
	d := serve(t, t.TempDir(), r.Addrs()[0]).ready()
	for _, topic := range []string{gone, stays} {
		require.NoError(t, r.Commit(bounded(t), group, topic, map[int32]int64{0: 2}))
	}
	d.through()
	require.NoError(t, r.DeleteTopic(bounded(t), gone))
	d.until("the deletion is in the history", func() bool {
		h, err := d.History(t.Context(), api.Query{Group: &group, Movements: []projection.Movement{projection.MovementDeleted}})
		return err == nil && len(h.Rows) > 0
	})
	d.through()

	g := answer[api.Group](d, "group", "describe", group)
	require.Equal(t, "Empty", g.State)
	for _, row := range g.Rows {
		if string(row.Topic) == stays {
			require.Equal(t, int64(2), *row.CommittedOffset)
			continue
		}
		require.Nil(t, row.CommittedOffset)
		require.Equal(t, "none", row.Known)
		require.Equal(t, int64(2), *row.Before)
		require.Contains(t, row.Note, "topic gone since ")
	}
	incidents := rows[api.IncidentRow](d, "incidents", group)
	require.Len(t, incidents, 1)
	require.Equal(t, "topic-deleted", *incidents[0].Cause)
	require.Equal(t, "broker", incidents[0].Who.Kind)
}

// CLI-07: a group that nobody ever saw, one that has members and no commit, one that was
// deleted and a cluster that is not in the ledger are four different answers, for scripts and
// for people.
func TestCLI07NotFoundEmptyAndDeletedAreTold(t *testing.T) {
	r := kafkatest.Shared(t, "")
	topic, deleted, joined := unique("orders"), unique("deleted"), unique("joined")
	produce(t, r, topic, 1)
	cl, err := kgo.NewClient(r.Options(kgo.ConsumerGroup(joined), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit())...)
	require.NoError(t, err)
	defer cl.Close()
	poll(t, cl, 1)
	require.NoError(t, r.Commit(bounded(t), deleted, topic, map[int32]int64{0: 1}))
	require.NoError(t, r.DeleteGroup(bounded(t), deleted))
	d := serve(t, t.TempDir(), r.Addrs()[0]).ready()

	out := run(t, "group", "describe", "x"+joined, "--api", d.URL)
	require.Equal(t, 1, out.code)
	require.Empty(t, out.stdout)
	require.Contains(t, out.stderr, "error: group x"+joined+" was never seen in cluster local; did you mean "+joined)
	status, body := d.get("/api/v1/group?group=x" + url.QueryEscape(joined))
	require.Equal(t, 404, status)
	require.Contains(t, body, `"code":"unknown-group"`)

	out = d.ask("group", "describe", joined)
	require.Contains(t, out.stdout, "STATE  Stable")
	require.Contains(t, out.stderr, "group "+joined+" has nothing committed")
	require.Empty(t, answer[api.Group](d, "group", "describe", joined).Rows)

	require.Contains(t, d.ask("group", "describe", deleted).stdout, "STATE  Deleted since ")

	out = run(t, "group", "describe", joined, "--cluster", "other", "--api", d.URL)
	require.Equal(t, 1, out.code)
	require.Contains(t, out.stderr, "the ledger holds no cluster other, but local")
	status, body = d.get("/api/v1/group?cluster=other&group=" + url.QueryEscape(joined))
	require.Equal(t, 404, status)
	require.Contains(t, body, `"code":"unknown-cluster"`)

	out = run(t, "history", "x"+joined, "--api", d.URL)
	require.Equal(t, 1, out.code)
	require.Contains(t, out.stderr, "was never seen")
}
