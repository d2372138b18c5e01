package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
)

// Nobody has ever committed to this cluster, so that it has no __consumer_offsets yet. The
// daemon is ready all the same, and has the first commit, also after it was started again.
func TestAClusterThatNobodyHasCommittedTo(t *testing.T) {
	ownBroker(t)
	r := kafkatest.Start(t, kafkatest.RealConfig{})
	topic, group := unique("orders"), unique("first")
	produce(t, r, topic, 5)
	admin := kadm.NewClient(client(t, r.Options()...))
	there := func() bool {
		topics, err := admin.ListTopicsWithInternal(bounded(t))
		require.NoError(t, err)
		return topics.Has(kafkatest.OffsetsTopic)
	}
	// The broker answers for groups when it has started, and that has made the topic.
	require.True(t, there())
	require.NoError(t, r.DeleteTopic(bounded(t), kafkatest.OffsetsTopic))
	require.Eventually(t, func() bool { return !there() }, patience, 50*time.Millisecond)

	dir := t.TempDir()
	d := serve(t, dir, r.Addrs()[0]).ready()
	require.False(t, there(), "capture does not make it")
	out := d.ask("group", "list")
	require.NotContains(t, out.stdout, group)
	require.Zero(t, d.stop())

	d = serve(t, dir, r.Addrs()[0]).ready()
	require.NoError(t, r.Commit(bounded(t), group, topic, map[int32]int64{0: 2}))
	d.until("the first commit is there", func() bool {
		g, err := d.Group(t.Context(), api.Query{Group: &group})
		return err == nil && len(g.Rows) == 1
	})
	d.through()
	require.NoError(t, r.Commit(bounded(t), group, topic, map[int32]int64{0: 3}))
	d.through()
	require.Equal(t, []string{"advance 0 -> 2", "advance 0 -> 3"}, stepsOf(d, group))
	h := answer[api.History](d, "history", group)
	require.Empty(t, h.Coverage.Gaps)
	require.Empty(t, rows[api.EventRow](d, "events", "--kind", "gap,opaque"))
	require.Zero(t, d.stop())
}
