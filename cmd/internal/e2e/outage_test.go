package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"golang.org/x/sync/errgroup"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
)

// What happens to a daemon when its broker is busy, stops, loses records or turns out to be
// another one. The four share a broker, which no other test could bear.
func TestABrokerInTrouble(t *testing.T) {
	ownBroker(t)
	r := kafkatest.Start(t, kafkatest.RealConfig{})
	t.Run("backlog", func(t *testing.T) { readyOnlyWhenCaughtUp(t, r) })
	t.Run("stopped", func(t *testing.T) { queriesGoOnWithoutTheBroker(t, r) })
	t.Run("truncated", func(t *testing.T) { truncatedWhileAway(t, r) })
	t.Run("another cluster", func(t *testing.T) { anotherClusterIsRefused(t, r) })
}

// The daemon is started on a cluster with 200,000 committed offsets. Load balancers that go by
// /readyz send nobody until it has all of them.
func readyOnlyWhenCaughtUp(t *testing.T, r *kafkatest.Real) {
	const groups, commits, partitions = 8, 250, 100
	topic := unique("wide")
	require.NoError(t, r.CreateTopic(bounded(t), topic, partitions))
	names := make([]string, groups)
	var work errgroup.Group
	for i := range groups {
		names[i] = unique("backlog")
		work.Go(func() error { return commitWide(t, r, names[i], topic, commits, partitions) })
	}
	require.NoError(t, work.Wait())

	d := start(t, t.TempDir(), r.Addrs()[0])
	d.until("it listens", d.announced)
	status, body := d.get("/readyz")
	require.Equal(t, http.StatusServiceUnavailable, status, "with a backlog of %d rows it is not ready at once", groups*commits*partitions)
	require.Contains(t, body, `"code":"not-ready"`)
	require.Contains(t, body, "catching up")
	d.until("it is ready", func() bool {
		was := status
		status, _ = d.get("/readyz")
		require.Contains(t, []int{http.StatusOK, http.StatusServiceUnavailable}, status)
		require.GreaterOrEqual(t, was, status, "once ready, always ready")
		return status == http.StatusOK
	})
	for _, group := range names {
		none := 0
		h, err := d.History(t.Context(), api.Query{Group: &group, Limit: &none})
		require.NoError(t, err)
		require.Equal(t, commits, h.TotalEvents, "ready says that all of %s is there", group)
		g, err := d.Group(t.Context(), api.Query{Group: &group})
		require.NoError(t, err)
		require.Len(t, g.Rows, partitions)
		for p, row := range g.Rows {
			require.Equal(t, int64(commits-1+p), *row.CommittedOffset)
		}
	}
	require.Contains(t, d.log.String(), fmt.Sprintf("captured=%d", groups*commits*partitions))
}

// commitWide commits n times to all partitions of a topic.
func commitWide(t *testing.T, r *kafkatest.Real, group, topic string, n, partitions int) error {
	for i := range n {
		var offsets kadm.Offsets
		for p := range partitions {
			offsets.AddOffset(topic, int32(p), int64(i+p), -1)
		}
		if err := r.CommitOffsets(t.Context(), group, offsets); err != nil {
			return err
		}
	}
	return nil
}

// The broker stops. The daemon is visibly unwell, says why, and goes on answering, also one
// that is started now; when the broker is back it is well again and has what was committed
// since.
func queriesGoOnWithoutTheBroker(t *testing.T, r *kafkatest.Real) {
	topic, group := unique("orders"), unique("billing")
	produce(t, r, topic, 50)
	require.NoError(t, r.Commit(bounded(t), group, topic, map[int32]int64{0: 41}))
	d := serve(t, t.TempDir(), r.Addrs()[0]).ready()
	d.through()
	require.NoError(t, r.Kill())

	d.until("/healthz tells that the broker is away", func() bool {
		status, _ := d.get("/healthz")
		return status == http.StatusServiceUnavailable
	})
	_, body := d.get("/healthz")
	require.Contains(t, body, `"code":"unhealthy"`)
	require.Contains(t, body, "connection refused")
	out := d.ask("group", "describe", group)
	require.Contains(t, out.stderr, "Kafka cannot be read")
	d.until("nobody can tell what is committed now", func() bool {
		g, err := d.Group(t.Context(), api.Query{Group: &group})
		return err == nil && g.Known == "stale" && g.Rows[0].Known == "stale" && !g.Coverage.Complete
	})
	g := answer[api.Group](d, "group", "describe", group)
	require.Equal(t, map[int32]int64{0: 41}, committed(g))
	require.Len(t, rows[api.ChangeRow](d, "history", group), 1)
	status, _ := d.get("/readyz")
	require.Equal(t, http.StatusOK, status, "it was ready: it can be asked")

	require.Zero(t, d.stop())
	d = serve(t, d.dir, r.Addrs()[0])
	require.Equal(t, map[int32]int64{0: 41}, committed(answer[api.Group](d, "group", "describe", group)))
	d.until("it tells what it waits for", func() bool {
		status, body := d.get("/readyz")
		return status == http.StatusServiceUnavailable && strings.Contains(body, "connection refused")
	})

	require.NoError(t, r.Restart(t.Context()))
	require.NoError(t, r.Commit(bounded(t), group, topic, map[int32]int64{0: 42}))
	d.until("it is well again", func() bool {
		status, _ := d.get("/healthz")
		return status == http.StatusOK
	})
	d.through()
	g = answer[api.Group](d, "group", "describe", group)
	require.Equal(t, map[int32]int64{0: 42}, committed(g))
	require.Equal(t, "exact", g.Known)
	require.True(t, g.Coverage.Complete, "nothing was lost: it was only late")
	require.Equal(t, []string{"advance 41 tail", "advance 42 tail"}, withoutRecommits(movesOf(d, group)))
}

// While the daemon is away, the broker dies and a partition of __consumer_offsets comes back
// without the last ten commits of each of two groups; one of them does the work again and
// commits five times. The ledger tells of the gap, of the one what the broker still has, of
// the other its five commits, blames no client for going back, and keeps what could be read
// before.
func truncatedWhileAway(t *testing.T, r *kafkatest.Real) {
	topic := unique("orders")
	busy, idle := neighbours(4)
	produce(t, r, topic, 500)
	dir := t.TempDir()
	d := serve(t, dir, r.Addrs()[0]).ready()
	for i := range int64(20) {
		require.NoError(t, r.Commit(bounded(t), busy, topic, map[int32]int64{0: 100 + i}))
		require.NoError(t, r.Commit(bounded(t), idle, topic, map[int32]int64{0: 200 + i}))
	}
	d.through()
	before := time.Now()
	require.Zero(t, d.stop())

	cutCommits(t, r, busy, 20)
	for i := range int64(5) {
		require.NoError(t, r.Commit(bounded(t), busy, topic, map[int32]int64{0: 110 + i}))
	}
	d = serve(t, dir, r.Addrs()[0]).ready()
	d.through()

	require.Equal(t, append(advances(100, 119), "rolled-back 110 tail", "advance 111 tail", "advance 112 tail",
		"advance 113 tail", "advance 114 tail"), withoutRecommits(movesOf(d, busy)))
	require.Equal(t, append(advances(200, 219), "rolled-back 209 reconcile"), movesOf(d, idle))
	for _, group := range []string{busy, idle} {
		incidents := rows[api.IncidentRow](d, "incidents", group)
		require.Len(t, incidents, 1)
		require.Equal(t, "rolled-back", incidents[0].Kind)
	}
	require.Equal(t, map[int32]int64{0: 114}, committed(answer[api.Group](d, "group", "describe", busy)))
	require.Equal(t, map[int32]int64{0: 209}, committed(answer[api.Group](d, "group", "describe", idle)))

	then := before.UTC().Format(time.RFC3339Nano)
	require.Equal(t, map[int32]int64{0: 119}, committed(answer[api.Group](d, "group", "describe", busy, "--at", then)))
	require.Equal(t, map[int32]int64{0: 219}, committed(answer[api.Group](d, "group", "describe", idle, "--at", then)))
	h := answer[api.History](d, "history", idle)
	require.Len(t, h.Coverage.Gaps, 1)
	require.Equal(t, "truncated", h.Coverage.Gaps[0].Cause)
	require.False(t, h.Coverage.Complete)
	require.Contains(t, d.ask("history", idle).stderr, "truncated")
}

// neighbours are two names of groups that live in the same partition of __consumer_offsets.
func neighbours(partitions int32) (string, string) {
	one := unique("busy")
	for {
		other := unique("idle")
		if kafkatest.PartitionFor(other, partitions) == kafkatest.PartitionFor(one, partitions) {
			return one, other
		}
	}
}

// movesOf is what history tells of the one partition of a group.
func movesOf(d *daemon, group string) []string {
	d.t.Helper()
	var out []string
	for _, row := range rows[api.ChangeRow](d, "history", group) {
		if row.Partition != nil {
			out = append(out, fmt.Sprintf("%s %s %s", row.Movement, shown(row.To), row.Source))
		}
	}
	return out
}

// withoutRecommits leaves out what a client commits again: a broker that is just coming up stores a
// commit and then says that it does not coordinate the group.
func withoutRecommits(moves []string) []string {
	return slices.DeleteFunc(moves, func(m string) bool { return strings.HasPrefix(m, "recommit ") })
}

// advances are the moves from one commit to the next.
func advances(from, to int) []string {
	var out []string
	for at := from; at <= to; at++ {
		out = append(out, fmt.Sprintf("advance %d tail", at))
	}
	return out
}

// cutCommits kills the broker, takes the last n records off a group's partition of
// __consumer_offsets and starts it again.
func cutCommits(t *testing.T, r *kafkatest.Real, group string, n int) {
	t.Helper()
	partition := kafkatest.PartitionFor(group, 4)
	var of []int64
	records, err := r.ReadOffsets(bounded(t))
	require.NoError(t, err)
	for _, rec := range records {
		if rec.Partition == partition {
			of = append(of, rec.Offset)
		}
	}
	require.GreaterOrEqual(t, len(of), n, "what was committed is in partition %d", partition)
	require.NoError(t, r.Kill())
	require.NoError(t, r.TruncatePartition(kafkatest.OffsetsTopic, partition, of[len(of)-n]))
	require.NoError(t, r.Restart(t.Context()))
}

// Somebody points the daemon at another Kafka under the name of the first. It refuses, naming
// both, and nothing of the other gets into the ledger.
func anotherClusterIsRefused(t *testing.T, r *kafkatest.Real) {
	dir := t.TempDir()
	group := unique("billing")
	require.NoError(t, r.Commit(bounded(t), group, "__consumer_offsets", map[int32]int64{0: 1}))
	require.Zero(t, serve(t, dir, r.Addrs()[0], "--cluster", "prod").ready().stop())

	other, err := kafkatest.StartFake(kafkatest.FakeConfig{Topics: map[string]int32{"orders": 1}})
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close()) }()
	require.NoError(t, other.Commit(bounded(t), "of the other", "orders", map[int32]int64{0: 1}))
	meta, err := kadm.NewClient(client(t, other.Options()...)).BrokerMetadata(bounded(t))
	require.NoError(t, err)
	mine, err := kadm.NewClient(client(t, r.Options()...)).BrokerMetadata(bounded(t))
	require.NoError(t, err)

	d := start(t, dir, other.Addrs()[0], "--cluster", "prod")
	require.Equal(t, 1, d.wait())
	last := errorLine(t, d.log.String())
	require.Contains(t, last, "prod")
	require.Contains(t, last, meta.Cluster)
	require.Contains(t, last, mine.Cluster)

	out := run(t, "group", "list", "--data-dir", dir, "-o", "awk")
	require.Zero(t, out.code, out.stderr)
	require.Contains(t, out.stdout, group)
	require.NotContains(t, out.stdout, "of the other")
}
