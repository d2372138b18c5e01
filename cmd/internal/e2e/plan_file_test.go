package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
)

// The stock tool is given the file of a plan after the group has gone on: what the plan set it
// sets, and what the plan kept stays where the group has come to. What was noted down as the
// current offsets it puts back, all of it; and what the tool itself exports, a plan takes.
func TestTheStockToolMovesWhatAPlanSetsAndNothingElse(t *testing.T) {
	t.Parallel()
	r := kafkatest.Shared(t, "")
	topic, group := unique("orders"), unique("billing")
	produce(t, r, topic, 50, 50, 50)
	d := serve(t, t.TempDir(), r.Addrs()[0]).ready()
	commit := func(at ...int64) {
		offsets := kadm.Offsets{}
		for p, n := range at {
			offsets.Add(kadm.Offset{Topic: topic, Partition: int32(p), At: n, LeaderEpoch: -1})
		}
		require.NoError(t, r.CommitOffsets(bounded(t), group, offsets))
	}
	at := func() (out [3]int64) {
		for p, row := range stockDescribe(t, r, group, topic) {
			out[p] = row.current
		}
		return out
	}
	execute := func(csv string) {
		file := filepath.Join(t.TempDir(), "offsets.csv")
		require.NoError(t, os.WriteFile(file, []byte(csv), 0o600))
		tool(t, r, kafkatest.ConsumerGroupCommand, "--group", group, "--reset-offsets", "--from-file", file, "--execute")
	}
	commit(10, 20, 30)
	d.through()
	noted := d.ask("reset", "plan", group, "--to", "current", "--all-topics", "-o", "kafka-csv").stdout
	require.Equal(t, topic+",0,10\n"+topic+",1,20\n"+topic+",2,30\n", noted)
	forward := d.ask("reset", "plan", group, "--to", "20", "--all-topics", "--direction", "forward", "-o", "kafka-csv").stdout
	require.Equal(t, topic+",0,20\n", forward)

	commit(12, 22, 32)
	execute(forward)
	require.Equal(t, [3]int64{20, 22, 32}, at())
	execute(noted)
	require.Equal(t, [3]int64{10, 20, 30}, at())

	exported := tool(t, r, kafkatest.ConsumerGroupCommand, "--group", group, "--topic", topic, "--reset-offsets", "--to-offset", "5", "--dry-run", "--export")
	file := filepath.Join(t.TempDir(), "exported.csv")
	require.NoError(t, os.WriteFile(file, []byte(exported), 0o600))
	p := d.plan("reset", "plan", group, "--to", "file:"+file)
	require.Equal(t, 3, p.Sums().Set, "%s", exported)
}
