package e2e

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
	"github.com/offsetledger/offsetledger/replay"
)

// bedtime is this moment, once everything before it is captured. It returns when the clock has
// gone on: what is committed in the same millisecond would be of that moment too.
func (d *daemon) bedtime() string {
	d.through()
	at := time.Now().UTC().Truncate(time.Millisecond)
	for !time.Now().After(at.Add(time.Millisecond)) {
		runtime.Gosched()
	}
	return at.Format(time.RFC3339Nano)
}

// planned makes a plan that can exit with any code.
func (d *daemon) planned(code int, args ...string) (*replay.Plan, string) {
	d.t.Helper()
	out := run(d.t, append(append([]string{"restore", "plan"}, args...), "-o", "json", "--api", d.URL)...)
	require.Equal(d.t, code, out.code, out.stdout+out.stderr)
	p, err := replay.ParsePlan([]byte(out.stdout))
	require.NoError(d.t, err)
	return p, out.stderr
}

// The records that a group is to go back to were deleted meanwhile: that partition is refused, and
// the others could be set. Clamped, it goes to where its log begins, as no recorded row: without
// metadata and without an epoch.
func TestTheLogBeginsBehindTheTarget(t *testing.T) {
	t.Parallel()
	r := kafkatest.Shared(t, "")
	topic, group := unique("orders"), unique("billing")
	produce(t, r, topic, 100, 100)
	d := serve(t, t.TempDir(), r.Addrs()[0]).ready()
	before := kadm.Offsets{}
	for p := range int32(2) {
		before.Add(kadm.Offset{Topic: topic, Partition: p, At: 10, LeaderEpoch: 0, Metadata: "kept"})
	}
	require.NoError(t, r.CommitOffsets(bounded(t), group, before))
	at := d.bedtime()
	require.NoError(t, r.Commit(bounded(t), group, topic, map[int32]int64{0: 60, 1: 60}))
	gone := kadm.Offsets{}
	gone.Add(kadm.Offset{Topic: topic, Partition: 0, At: 50})
	deleted, err := kadm.NewClient(client(t, r.Options()...)).DeleteRecords(bounded(t), gone)
	require.NoError(t, err)
	require.NoError(t, deleted.Error())
	d.through()

	here := []string{group, "--to", at, "-B", r.Addrs()[0]}
	refused, _ := d.planned(4, here...)
	require.False(t, refused.Executable())
	require.Equal(t, replay.Sums{Set: 1, Refused: 1, Replays: 50}, refused.Sums())
	require.Contains(t, refused.Groups[0].Steps[0].Reason, "the log starts at 50, with 40 records gone")
	_, out := d.apply("apply", refused.ID, "-B", r.Addrs()[0])
	require.Equal(t, 4, out.code)
	require.Equal(t, int64(60), stored(t, r, group, topic)[1].At, "nothing is written of a plan that cannot be done whole")

	clamped, _ := d.planned(0, append(here, "--clamp")...)
	require.Equal(t, 2, clamped.Sums().Set)
	done, out := d.apply("apply", clamped.ID, "-B", r.Addrs()[0])
	require.Zero(t, out.code, out.stderr)
	require.True(t, done.Whole)
	require.Equal(t, map[int32]kadm.Offset{
		0: {At: 50, LeaderEpoch: -1},
		1: {At: 10, LeaderEpoch: 0, Metadata: "kept"},
	}, stored(t, r, group, topic))
}

// A topic has more partitions than at the point, and the group has offsets in them by now. They
// are left alone, and said to be; deleted only when asked.
func TestATopicThatGrew(t *testing.T) {
	t.Parallel()
	r := kafkatest.Shared(t, "")
	topic, group := unique("orders"), unique("billing")
	produce(t, r, topic, 60)
	d := serve(t, t.TempDir(), r.Addrs()[0]).ready()
	require.NoError(t, r.Commit(bounded(t), group, topic, map[int32]int64{0: 40}))
	at := d.bedtime()
	grown, err := kadm.NewClient(client(t, r.Options()...)).UpdatePartitions(bounded(t), 3, topic)
	require.NoError(t, err)
	require.NoError(t, grown.Error())
	d.until("the new partitions can be committed to", func() bool {
		return r.Commit(bounded(t), group, topic, map[int32]int64{0: 5, 1: 0, 2: 0}) == nil
	})
	d.through()

	here := []string{group, "--to", at, "-B", r.Addrs()[0]}
	plan, _ := d.planned(0, here...)
	require.Equal(t, replay.Sums{Set: 1, Kept: 2, Skips: 35}, plan.Sums())
	require.Contains(t, plan.Groups[0].Steps[1].Reason, "nothing was committed then")
	_, out := d.apply("apply", plan.ID, "-B", r.Addrs()[0])
	require.Zero(t, out.code, out.stderr)
	require.Equal(t, map[int32]kadm.Offset{0: {At: 40, LeaderEpoch: -1}, 1: {LeaderEpoch: -1}, 2: {LeaderEpoch: -1}}, stored(t, r, group, topic))
	d.through()

	plan, _ = d.planned(0, append(here, "--delete-absent")...)
	done, out := d.apply("apply", plan.ID, "-B", r.Addrs()[0])
	require.Zero(t, out.code, out.stderr)
	require.True(t, done.Whole)
	require.Equal(t, map[int32]kadm.Offset{0: {At: 40, LeaderEpoch: -1}}, stored(t, r, group, topic))

	_, out = d.apply("undo", done.ID, "-B", r.Addrs()[0])
	require.Zero(t, out.code, out.stderr)
	require.Equal(t, map[int32]kadm.Offset{0: {At: 40, LeaderEpoch: -1}, 1: {LeaderEpoch: -1}, 2: {LeaderEpoch: -1}}, stored(t, r, group, topic))
}

// A plan of one cluster is not carried out on another, which has a topic and a group of those names.
func TestAPlanOfAnotherCluster(t *testing.T) {
	t.Parallel()
	r, other := kafkatest.Shared(t, ""), kafkatest.Shared(t, kafkatest.Version40)
	topic, group := unique("orders"), unique("billing")
	for _, of := range []*kafkatest.Real{r, other} {
		produce(t, of, topic, 60)
		require.NoError(t, of.Commit(bounded(t), group, topic, map[int32]int64{0: 40}))
	}
	d := serve(t, t.TempDir(), r.Addrs()[0]).ready()
	at := d.bedtime()
	require.NoError(t, r.Commit(bounded(t), group, topic, map[int32]int64{0: 5}))
	d.through()
	plan, _ := d.planned(0, group, "--to", at, "-B", r.Addrs()[0])
	_, out := d.apply("apply", plan.ID, "-B", other.Addrs()[0])
	require.Equal(t, 4, out.code)
	require.Contains(t, errorLine(t, out.stderr), "these brokers are Kafka cluster")
	require.Equal(t, int64(40), stored(t, other, group, topic)[0].At)
	require.Equal(t, int64(5), stored(t, r, group, topic)[0].At)
	out = run(t, "restore", "plan", group, "--to", at, "-B", other.Addrs()[0], "--api", d.URL)
	require.NotZero(t, out.code, out.stdout)
}

// 400 offsets with 4,000 bytes of metadata each are more than the broker takes at once. They are put
// back in several commits, and the plan says that the group is not put back as one.
func TestAGroupLargerThanOneCommit(t *testing.T) {
	t.Parallel()
	const partitions = 400
	r := kafkatest.Shared(t, "")
	topic, group := unique("orders"), unique("billing")
	require.NoError(t, r.CreateTopic(bounded(t), topic, partitions))
	d := serve(t, t.TempDir(), r.Addrs()[0]).ready()
	metadata := strings.Repeat("m", 4000)
	want := map[int32]kadm.Offset{}
	back := map[int32]int64{}
	for from := int32(0); from < partitions; from += 100 {
		part := kadm.Offsets{}
		for p := from; p < from+100; p++ {
			part.Add(kadm.Offset{Topic: topic, Partition: p, At: 0, LeaderEpoch: -1, Metadata: metadata})
			want[p], back[p] = kadm.Offset{At: 0, LeaderEpoch: -1, Metadata: metadata}, 0
		}
		require.NoError(t, r.CommitOffsets(bounded(t), group, part))
	}
	at := d.bedtime()
	require.NoError(t, r.Commit(bounded(t), group, topic, back))
	d.through()
	plan, _ := d.planned(0, group, "--to", at, "-B", r.Addrs()[0])
	require.Equal(t, partitions, plan.Sums().Set, "the metadata is to be put back, whatever the offset")
	require.Equal(t, 4, plan.Groups[0].Commits())
	require.Contains(t, d.ask("restore", "show", plan.ID).stdout, "not atomic: it takes 4 commits")
	done, out := d.apply("apply", plan.ID, "-B", r.Addrs()[0])
	require.Zero(t, out.code, out.stderr)
	require.Equal(t, partitions, done.Rows[0].Written)
	require.Equal(t, want, stored(t, r, group, topic))
}
