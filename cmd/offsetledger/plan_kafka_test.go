package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetledger/offsetledger/replay"
)

// planned runs a command that makes a plan, which must end with a code, and returns the plan.
func planned(t *testing.T, code int, args ...string) *replay.Plan {
	t.Helper()
	r := launch(t, append(args, "-o", "json")...)
	require.Equal(t, code, r.wait(), "%s", &r.stderr)
	p := &replay.Plan{}
	require.NoError(t, json.Unmarshal([]byte(r.stdout.String()), p), "%s", &r.stdout)
	return p
}

// plannedFor is where a plan with one group moves its partitions.
func plannedFor(p *replay.Plan) map[int32]int64 {
	out := map[int32]int64{}
	for i := range p.Groups[0].Steps {
		if s := &p.Groups[0].Steps[i]; s.Action == replay.ActionSet {
			out[s.Partition] = s.Target.At
		}
	}
	return out
}

// A plan changes nothing: it is printed and stored, and what is committed stays. Its file for the
// stock tool is a target that a reset takes.
func TestCLI04PlanBeforeAction(t *testing.T) {
	fake := startKafka(t)
	for p := range int32(2) {
		require.NoError(t, fake.Produce(t.Context(), "t", p, 100))
	}
	dir := filepath.Join(t.TempDir(), "ledger")
	d := serveKafka(t, dir, fake.Addrs()[0])
	require.NoError(t, fake.Commit(t.Context(), "g", "t", map[int32]int64{0: 60, 1: 70}))
	d.captures("g", "t", 60)
	require.NoError(t, fake.Commit(t.Context(), "g", "t", map[int32]int64{0: 5, 1: 6}))
	d.captures("g", "t", 5)

	p := planned(t, exitDone, "reset", "plan", "g", "--to", "earliest", "--topics", "t", "--all-partitions", "--api", d.url)
	require.False(t, p.FromLedger, "the daemon asks its Kafka")
	require.True(t, p.Executable())
	require.Equal(t, map[int32]int64{0: 0, 1: 0}, plannedFor(p))
	list := launch(t, "incidents", "g", "-o", "jsonl", "--api", d.url)
	require.Equal(t, exitDone, list.wait())
	var in struct{ ID string }
	require.NoError(t, json.Unmarshal([]byte(list.stdout.String()), &in), "%s", &list.stdout)
	repair := planned(t, exitDone, "restore", "plan", "--incident", in.ID, "--api", d.url)
	require.Equal(t, map[int32]int64{0: 60, 1: 70}, plannedFor(repair))

	// What the program asks itself with -B is the same, with its own rights.
	require.Equal(t, plannedFor(repair), plannedFor(planned(t, exitDone, "restore", "plan", "--incident", in.ID, "--api", d.url, "-B", fake.Addrs()[0])))

	client, err := kgo.NewClient(fake.Options()...)
	require.NoError(t, err)
	defer client.Close()
	now, err := kadm.NewClient(client).FetchOffsets(t.Context(), "g")
	require.NoError(t, err)
	for n, want := range map[int32]int64{0: 5, 1: 6} {
		at, ok := now.Lookup("t", n)
		require.True(t, ok)
		require.Equal(t, want, at.At)
	}

	file := filepath.Join(t.TempDir(), "offsets.csv")
	csv := launch(t, "restore", "show", repair.ID, "-o", "kafka-csv", "--api", d.url)
	require.Equal(t, exitDone, csv.wait(), "%s", &csv.stderr)
	require.Equal(t, "t,0,60\nt,1,70\n", csv.stdout.String())
	require.NoError(t, os.WriteFile(file, []byte(csv.stdout.String()), 0o600))
	require.Equal(t, plannedFor(repair), plannedFor(planned(t, exitDone, "reset", "plan", "g", "--to", "file:"+file, "--api", d.url)))

	// Scripts can tell what became of it: a partition that can never be set, a topic and a group
	// that do not exist, a Kafka that does not answer.
	gone := planned(t, exitRefused, "reset", "plan", "g", "--to", "101", "--topics", "t:0", "--api", d.url)
	require.True(t, gone.Impossible())
	for _, args := range [][]string{
		{"reset", "plan", "g", "--to", "latest", "--topics", "u:0"}, {"reset", "plan", "h", "--to", "latest", "--topics", "t:0"},
		{"reset", "plan", "g", "--to", "latest", "--topics", "t:0", "-B", "127.0.0.1:1"},
	} {
		r := launch(t, append(args, "--api", d.url, "-o", "json")...)
		require.Equal(t, exitFailed, r.wait(), "%v", args)
		require.Empty(t, r.stdout.String())
		require.NotEmpty(t, r.stderr.String())
	}
	require.Equal(t, exitDone, d.stop(), "%s", &d.stderr)

	// Without a daemon the ledger itself is opened, and its own facts are as old as its end.
	require.True(t, planned(t, exitDone, "restore", "plan", "--incident", in.ID, "--data-dir", dir).FromLedger)
	require.Equal(t, plannedFor(repair), plannedFor(planned(t, exitDone, "restore", "plan", "--incident", in.ID, "--data-dir", dir, "-B", fake.Addrs()[0])))
}
