package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
)

// At night somebody rewinds a group with the stock tool while the group is away. In the
// morning one incident tells of it, the offsets of before are there under a sequence and under
// a time, and the stock tool puts them back from a file.
func TestAGroupRewoundByTheStockToolIsFoundAndPutBack(t *testing.T) {
	r := kafkatest.Shared(t, "")
	topic, group := unique("orders"), unique("billing")
	produce(t, r, topic, 10, 20, 30)
	d := serve(t, t.TempDir(), r.Addrs()[0]).ready()

	before := map[int32]int64{0: 10, 1: 20, 2: 30}
	consume(t, r, group, topic, 60)
	d.through()
	require.Equal(t, before, committed(answer[api.Group](d, "group", "describe", group)))
	bedtime := time.Now()

	tool(t, r, kafkatest.ConsumerGroupCommand, "--group", group, "--topic", topic, "--reset-offsets", "--to-earliest", "--execute")
	d.through()

	incidents := rows[api.IncidentRow](d, "incidents", "--group", group)
	require.Len(t, incidents, 1)
	in := incidents[0]
	require.Equal(t, "rewind", in.Kind)
	require.Equal(t, api.Text(group), in.Group)
	require.Equal(t, 3, in.Partitions)
	require.Equal(t, int64(60), *in.Replayed)
	require.Zero(t, *in.Skipped)
	require.Equal(t, "no-member", in.Who.Kind)
	require.True(t, in.Who.Inferred)
	require.Contains(t, strings.Join(in.Who.Evidence, "; "), "leader epoch -1")
	require.Nil(t, in.Actor)
	require.Nil(t, in.Reason)

	now := answer[api.Group](d, "group", "describe", group)
	require.Equal(t, map[int32]int64{0: 0, 1: 0, 2: 0}, committed(now))
	require.Equal(t, int64(60), *now.TotalLag)
	require.Equal(t, in.ID, now.LastIncident.ID)

	var seq uint64
	_, err := fmt.Sscanf(in.ID, "i%d", &seq)
	require.NoError(t, err)
	moved, ok := in.Time.Std()
	require.True(t, ok)
	points := []string{
		fmt.Sprintf("seq:%d", seq-1), bedtime.UTC().Format(time.RFC3339Nano),
		moved.Add(-time.Millisecond).Format(time.RFC3339Nano), fmt.Sprintf("before:%d", seq),
	}
	for _, at := range points {
		then := answer[api.Group](d, "group", "describe", group, "--at", at)
		require.Equal(t, before, committed(then), at)
		require.Equal(t, "exact", then.Known, at)
		for _, row := range then.Rows {
			require.Equal(t, "exact", row.Known, at)
		}
	}
	for _, at := range []string{in.Time.String(), fmt.Sprintf("seq:%d", seq)} {
		then := answer[api.Group](d, "group", "describe", group, "--at", at)
		require.Equal(t, map[int32]int64{0: 0, 1: 0, 2: 0}, committed(then), at)
	}
	over, err := d.Group(t.Context(), api.Query{Group: &group, At: points[0]})
	require.NoError(t, err)
	require.Equal(t, before, committed(over), "HTTP answers what the command line does")

	shown := d.ask("incidents", "show", in.ID).stdout
	require.Contains(t, shown, "rewind")
	require.Contains(t, shown, group)
	putBack(t, d, r, group, topic, points[0])
}

// putBack restores a group with the stock tool from what the ledger says of a point.
func putBack(t *testing.T, d *daemon, r *kafkatest.Real, group, topic, at string) {
	csv := d.ask("group", "describe", group, "--at", at, "-o", "kafka-csv").stdout
	require.Equal(t, fmt.Sprintf("%[1]s,0,10\n%[1]s,1,20\n%[1]s,2,30\n", topic), csv)
	file := filepath.Join(t.TempDir(), "billing.csv")
	require.NoError(t, os.WriteFile(file, []byte(csv), 0o600))
	tool(t, r, kafkatest.ConsumerGroupCommand, "--group", group, "--reset-offsets", "--from-file", file, "--execute")
	require.Equal(t, map[int32]stockRow{
		0: {current: 10, end: 10}, 1: {current: 20, end: 20}, 2: {current: 30, end: 30},
	}, stockDescribe(t, r, group, topic))

	d.through()
	incidents := rows[api.IncidentRow](d, "incidents", "--group", group)
	require.Len(t, incidents, 2, "a move by nobody in the group is told, also when it repairs")
	require.Equal(t, "jump", incidents[0].Kind)
	require.Equal(t, int64(60), *incidents[0].Skipped)
}
