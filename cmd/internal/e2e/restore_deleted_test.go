package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
)

// A group that had begun one partition is taken back to then, and the offsets of the other two are
// deleted. Its history says of each of them who did that and why, as of what was set. What the
// stock tool deletes nobody gave a reason for, and the table says what was done instead.
func TestWhatARestoreDeletesIsTold(t *testing.T) {
	t.Parallel()
	r := kafkatest.Shared(t, "")
	topic, group := unique("orders"), unique("billing")
	produce(t, r, topic, 20, 20, 20)
	d := serve(t, t.TempDir(), r.Addrs()[0]).ready()
	commit := func(at int64, partitions ...int32) {
		offsets := kadm.Offsets{}
		for _, p := range partitions {
			offsets.Add(kadm.Offset{Topic: topic, Partition: p, At: at, LeaderEpoch: -1})
		}
		require.NoError(t, r.CommitOffsets(bounded(t), group, offsets))
		d.through()
	}
	commit(5, 0)
	then := time.Now().UTC().Format(time.RFC3339Nano)
	commit(10, 0, 1, 2)
	p := d.plan("restore", "plan", "--group", group, "--to", then, "--delete-absent", "--direction", "both", "-B", r.Addrs()[0])
	done, out := d.apply("apply", p.ID, "-B", r.Addrs()[0])
	require.Equal(t, 0, out.code, out.stderr)
	require.Equal(t, []int{1, 2}, []int{done.Rows[0].Written, done.Rows[0].Deleted})
	d.through()

	told := map[string]int{}
	for _, row := range rows[api.ChangeRow](d, "history", group, "--movement", "reset,deleted") {
		told[row.Movement]++
		require.Equal(t, "ana", row.Actor.String())
		require.Equal(t, "CHG-41", row.Reason.String())
		require.Equal(t, p.ID, *row.Plan)
		require.Equal(t, "operator", row.Who.Kind)
		require.False(t, row.CauseInferred)
	}
	require.Equal(t, map[string]int{"reset": 1, "deleted": 2}, told)

	tool(t, r, kafkatest.ConsumerGroupCommand, "--group", group, "--delete")
	d.through()
	require.Regexp(t, `(?m)^\d+ .* deleted .* ana +CHG-41$`, d.ask("history", group).stdout)
	require.Regexp(t, `(?m)^\d+ .* deleted .* no member \(inferred\) +the group was deleted \(inferred\)$`, d.ask("history", group).stdout)
	require.Regexp(t, `(?m)^i\d+ .* deleted .* no member \(inferred\) +the group was deleted \(inferred\)$`, d.ask("incidents", group).stdout)
}
