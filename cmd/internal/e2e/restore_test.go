package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
	"github.com/offsetledger/offsetledger/replay"
)

// plan makes a plan with the program and reads it.
func (d *daemon) plan(args ...string) *replay.Plan {
	d.t.Helper()
	p, err := replay.ParsePlan([]byte(d.ask(append(args, "-o", "json")...).stdout))
	require.NoError(d.t, err)
	return p
}

// apply carries a plan out with the program.
func (d *daemon) apply(args ...string) (api.Restored, ran) {
	d.t.Helper()
	out := run(d.t, append(append([]string{"restore"}, args...), "--yes", "--reason", "CHG-41", "--actor", "ana", "-o", "json", "--api", d.URL)...)
	var done api.Restored
	if out.stdout != "" {
		require.NoError(d.t, json.Unmarshal([]byte(out.stdout), &done), out.stdout)
	}
	return done, out
}

// stored is what the broker has committed of a topic, by partition.
func stored(t *testing.T, r *kafkatest.Real, group, topic string) map[int32]kadm.Offset {
	t.Helper()
	answer, err := kadm.NewClient(client(t, r.Options()...)).FetchOffsets(bounded(t), group)
	require.NoError(t, err)
	out := map[int32]kadm.Offset{}
	for p, o := range answer[topic] {
		require.NoError(t, o.Err)
		o.Topic, o.TopicID, o.Partition = "", kadm.TopicID{}, 0
		out[p] = o.Offset
	}
	return out
}

// A group of 50 partitions is rewound by the stock tool. A plan to just before that, carried out,
// puts every offset back, with the metadata and the leader epoch that it had; the stock tool
// sees them. Undone, it is as rewound again, without metadata and epoch, as the stock tool
// commits.
func TestAGroupOfFiftyPartitionsIsPutBackAndTakenBack(t *testing.T) {
	t.Parallel()
	const partitions = 50
	r := kafkatest.Shared(t, "")
	topic, group := unique("orders"), unique("billing")
	counts := make([]int, partitions)
	for p := range counts {
		counts[p] = 20 + p
	}
	produce(t, r, topic, counts...)
	d := serve(t, t.TempDir(), r.Addrs()[0]).ready()
	before := kadm.Offsets{}
	for p := range int32(partitions) {
		before.Add(kadm.Offset{Topic: topic, Partition: p, At: int64(10 + p), LeaderEpoch: 0, Metadata: fmt.Sprintf("host-%d", p)})
	}
	require.NoError(t, r.CommitOffsets(bounded(t), group, before))
	want := stored(t, r, group, topic)
	require.Len(t, want, partitions)
	require.Equal(t, kadm.Offset{At: 17, LeaderEpoch: 0, Metadata: "host-7"}, want[7])
	d.through()
	bedtime := time.Now().UTC().Format(time.RFC3339Nano)
	tool(t, r, kafkatest.ConsumerGroupCommand, "--group", group, "--topic", topic, "--reset-offsets", "--to-earliest", "--execute")
	rewound := stored(t, r, group, topic)
	require.Equal(t, kadm.Offset{At: 0, LeaderEpoch: -1}, rewound[7])
	d.through()

	plan := d.plan("restore", "plan", group, "--to", bedtime)
	require.True(t, plan.Executable())
	require.Equal(t, partitions, plan.Sums().Set)
	_, out := d.apply("apply", plan.ID)
	require.Equal(t, 4, out.code, "the daemon only reads: %s", out.stderr)
	require.Contains(t, errorLine(t, out.stderr), "--allow-writes")

	done, out := d.apply("apply", plan.ID, "-B", r.Addrs()[0])
	require.Zero(t, out.code, out.stderr)
	require.True(t, done.Whole)
	require.Equal(t, partitions, done.Rows[0].Written)
	require.Equal(t, want, stored(t, r, group, topic))
	seen := stockDescribe(t, r, group, topic)
	require.Len(t, seen, partitions)
	for p, o := range want {
		require.Equal(t, o.At, seen[p].current)
	}
	shown := d.ask("restore", "show", done.ID).stdout
	require.Contains(t, shown, done.ID+"  done  ")
	require.Contains(t, shown, "by ana (unverified): CHG-41\nplan "+plan.ID+": to "+plan.Point+"  written 50  deleted 0  refused 0\n")
	require.Contains(t, shown, "restore undo "+done.ID)
	require.Contains(t, d.ask("restore", "show", done.ID, "-o", "json").stdout, `"state":"done"`)
	d.through()
	incidents := rows[api.IncidentRow](d, "incidents", "--group", group)
	require.Len(t, incidents, 2)
	require.Equal(t, "reset", incidents[0].Kind)
	require.Equal(t, partitions, incidents[0].Partitions)
	require.Equal(t, "ana", incidents[0].Actor.String())
	require.Equal(t, "CHG-41", incidents[0].Reason.String())

	back, out := d.apply("undo", done.ID, "-B", r.Addrs()[0])
	require.Zero(t, out.code, out.stderr)
	require.True(t, back.Whole)
	require.Equal(t, rewound, stored(t, r, group, topic))

	_, out = d.apply("apply", plan.ID, "-B", "127.0.0.1:1")
	require.NotZero(t, out.code)
	require.Equal(t, rewound, stored(t, r, group, topic))
}

// A group with a member is left alone by a daemon that may write; asked to wait, the program
// writes as soon as the member has left, and what it wrote stays.
func TestAnActiveGroupIsPutBackWhenItStops(t *testing.T) {
	t.Parallel()
	r := kafkatest.Shared(t, "")
	topic, group := unique("orders"), unique("billing")
	produce(t, r, topic, 30)
	d := serve(t, t.TempDir(), r.Addrs()[0], "--allow-writes").ready()
	consume(t, r, group, topic, 30)
	d.through()
	require.NoError(t, r.Commit(bounded(t), group, topic, map[int32]int64{0: 5}))
	d.through()
	id := rows[api.IncidentRow](d, "incidents", "--group", group)[0].ID

	member, err := kgo.NewClient(r.Options(kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.ClientID("billing-8a"), kgo.DisableAutoCommit())...)
	require.NoError(t, err)
	defer member.Close()
	poll(t, member, 1)
	plan := d.plan("restore", "plan", "--incident", id)
	require.Equal(t, []string{"group active"}, plan.Blocked())
	require.Equal(t, "billing-8a", plan.Groups[0].Members[0].ClientID)
	_, out := d.apply("apply", plan.ID)
	require.Equal(t, 4, out.code)
	require.Contains(t, errorLine(t, out.stderr), "billing-8a")
	_, out = d.apply("apply", plan.ID, "--wait-empty", "1ms")
	require.Equal(t, 5, out.code)

	waiting := &output{}
	cmd := program(t.Context(), t, "restore", "apply", plan.ID, "--wait-empty", "1m", "--watch", "1s", "--yes", "--reason", "CHG-42", "--api", d.URL)
	cmd.Stdout, cmd.Stderr = waiting, waiting
	require.NoError(t, cmd.Start())
	d.until("the program waits", func() bool { return strings.Contains(waiting.String(), "waiting:") })
	require.NoError(t, member.LeaveGroupContext(bounded(t)))
	require.NoError(t, cmd.Wait(), waiting)
	require.Contains(t, waiting.String(), "written 1  read back 1  refused 0")
	require.Contains(t, waiting.String(), "it stayed")
	require.Equal(t, int64(30), stored(t, r, group, topic)[0].At)
}

// The program is killed in the middle of putting 200 groups back. Typed again, it finishes, and
// no group is written to twice.
func TestKilledInTheMiddleOfTwoHundredGroups(t *testing.T) {
	t.Parallel()
	const groups = 200
	r := kafkatest.Shared(t, "")
	topic := unique("orders")
	produce(t, r, topic, 50, 50)
	d := serve(t, t.TempDir(), r.Addrs()[0]).ready()
	names := make([]string, groups)
	args := []string{"reset", "plan", "--to", "40", "--topics", topic + ":0,1", "-B", r.Addrs()[0]}
	for i := range names {
		names[i] = unique("night")
		require.NoError(t, r.Commit(bounded(t), names[i], topic, map[int32]int64{0: 3, 1: 3}))
		args = append(args, "--group", names[i])
	}
	d.through()
	plan := d.plan(args...)
	require.Equal(t, 2*groups, plan.Sums().Set)

	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	cmd := program(ctx, t, "restore", "apply", plan.ID, "--yes", "--reason", "CHG-43", "-B", r.Addrs()[0], "--api", d.URL)
	require.NoError(t, cmd.Start())
	d.until("some groups are written to", func() bool {
		n, err := d.Events(t.Context(), api.Query{Kinds: []string{"intent"}})
		require.NoError(t, err)
		return len(n.Rows) > 0
	})
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	restores, err := d.Restores(t.Context(), api.Query{})
	require.NoError(t, err)
	require.Len(t, restores.Rows, 1)
	require.Equal(t, "interrupted", restores.Rows[0].State)

	done, out := d.apply("apply", plan.ID, "-B", r.Addrs()[0])
	require.Zero(t, out.code, out.stderr)
	require.True(t, done.Resumed)
	require.True(t, done.Whole)
	require.Equal(t, restores.Rows[0].ID, done.ID)
	raw := rawCommits(t, r, topic)
	for _, name := range names {
		for p := range int32(2) {
			require.Equal(t, []sent{{3, ""}, {40, ""}}, raw[name][p], name)
		}
	}
}

// Since it was rewound a group has read half of it again, one partition to beyond where it was.
// The plan of the incident skips the rest of what was moved, and touches nothing else: neither
// what has passed its target nor a topic that nobody moved.
func TestOnlyTheRestOfARewindIsSkipped(t *testing.T) {
	t.Parallel()
	r := kafkatest.Shared(t, "")
	topic, other, group := unique("orders"), unique("refunds"), unique("billing")
	produce(t, r, topic, 60, 60, 60)
	produce(t, r, other, 60)
	d := serve(t, t.TempDir(), r.Addrs()[0]).ready()
	require.NoError(t, r.Commit(bounded(t), group, topic, map[int32]int64{0: 40, 1: 40, 2: 40}))
	require.NoError(t, r.Commit(bounded(t), group, other, map[int32]int64{0: 40}))
	d.through()
	require.NoError(t, r.Commit(bounded(t), group, topic, map[int32]int64{0: 0, 1: 0, 2: 0}))
	d.through()
	incidents := rows[api.IncidentRow](d, "incidents", "--group", group)
	require.Len(t, incidents, 1)
	require.NoError(t, r.Commit(bounded(t), group, topic, map[int32]int64{0: 50, 1: 20}))
	require.NoError(t, r.Commit(bounded(t), group, other, map[int32]int64{0: 45}))
	d.through()

	plan := d.plan("restore", "plan", "--incident", incidents[0].ID)
	require.Equal(t, replay.Sums{Set: 2, Kept: 1, Skips: 60}, plan.Sums())
	require.Equal(t, "already past target", plan.Groups[0].Steps[0].Reason)
	done, out := d.apply("apply", plan.ID, "-B", r.Addrs()[0])
	require.Zero(t, out.code, out.stderr)
	require.Equal(t, 2, done.Rows[0].Written)
	require.Equal(t, 1, done.Rows[0].Kept)
	for p, want := range map[int32]int64{0: 50, 1: 40, 2: 40} {
		require.Equal(t, want, stored(t, r, group, topic)[p].At)
	}
	require.Equal(t, int64(45), stored(t, r, group, other)[0].At)

	// Made again, the topic has other records at those offsets.
	require.NoError(t, r.DeleteTopic(bounded(t), topic))
	require.NoError(t, r.CreateTopic(bounded(t), topic, 3))
	out = run(t, "restore", "plan", "--incident", incidents[0].ID, "-B", r.Addrs()[0], "--api", d.URL)
	require.Equal(t, 4, out.code, out.stdout)
	require.Contains(t, out.stdout, "was deleted and made again")
}

// Somebody sets the group back after it was put where it is to be: watching says so, and ends with 3.
func TestARestoreThatIsOverwrittenIsTold(t *testing.T) {
	t.Parallel()
	r := kafkatest.Shared(t, "")
	topic, group := unique("orders"), unique("billing")
	produce(t, r, topic, 60)
	d := serve(t, t.TempDir(), r.Addrs()[0], "--allow-writes").ready()
	require.NoError(t, r.Commit(bounded(t), group, topic, map[int32]int64{0: 40}))
	d.through()
	plan := d.plan("reset", "plan", group, "--to", "20", "--topics", topic+":0")
	done, out := d.apply("apply", plan.ID)
	require.Zero(t, out.code, out.stderr)
	d.through()
	stays := run(t, "restore", "watch", done.ID, "--for", "1ms", "--api", d.URL)
	require.Zero(t, stays.code, stays.stderr)
	require.Equal(t, "0 of 1 partition committed past their target: it stayed\n", stays.stdout)

	require.NoError(t, r.Commit(bounded(t), group, topic, map[int32]int64{0: 3}))
	out = run(t, "restore", "watch", done.ID, "--for", "30s", "--api", d.URL)
	require.Equal(t, 3, out.code)
	require.Contains(t, errorLine(t, out.stderr), "it was overwritten: rewind of "+group+" "+topic+"/0 from 20 to 3")
	require.Regexp(t, ` by (no member, epoch -1|admin tool) \(inferred\) \(seq \d+\)`, errorLine(t, out.stderr))

	// With the daemon away the program opens the ledger itself, and writes to Kafka all the same.
	require.Zero(t, d.stop())
	here := []string{"--data-dir", d.dir, "-B", r.Addrs()[0]}
	out = run(t, append([]string{"reset", "plan", group, "--to", "25", "--topics", topic + ":0"}, here...)...)
	require.Zero(t, out.code, out.stderr)
	id := regexp.MustCompile(`^PLAN (p\w+) `).FindStringSubmatch(out.stdout)
	require.NotNil(t, id, out.stdout)
	out = run(t, append([]string{"restore", "apply", id[1], "--yes", "--reason", "CHG-44"}, here...)...)
	require.Zero(t, out.code, out.stderr)
	require.Contains(t, out.stdout, "written 1  read back 1  refused 0")
	require.Equal(t, int64(25), stored(t, r, group, topic)[0].At)
}
