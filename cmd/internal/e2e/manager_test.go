package e2e

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/stream"
)

// What the group of the test below works on.
const (
	managerPartitions = 12
	managerEach       = 16_700 // records of each partition: 200,400 in all
	managerMembers    = 4
	managerTime       = time.Minute // for which records come, and members come and go
)

// A group of four processes consumes twelve partitions through offset managers, beside a daemon
// that captures the same cluster. For a minute members are killed with -9, leave in good order
// and are replaced. No record is lost; whoever takes a partition over begins exactly at its last
// commit; history has every commit once, and none goes back.
func TestManagersSurviveTheirProcesses(t *testing.T) {
	ownBroker(t)
	broker := kafkatest.Start(t, kafkatest.RealConfig{})
	group, topic := unique("billing"), unique("orders")
	require.NoError(t, broker.CreateTopic(bounded(t), topic, managerPartitions))
	d := serve(t, filepath.Join(t.TempDir(), "ledger"), broker.Addrs()[0], "--nats-listen", "127.0.0.1:0").ready()
	members := &members{t: t, binary: buildConsumer(t), out: t.TempDir(), args: []string{
		"-brokers", broker.Addrs()[0], "-nats", d.natsURL(), "-key", filepath.Join(d.dir, "writer.nk"), "-cluster", "local",
		"-group", group, "-topic", topic, "-commit-every", "200ms",
	}}
	for range managerMembers {
		members.start()
	}
	produced := make(chan error, 1)
	go func() { produced <- produceFor(t.Context(), broker, topic) }()
	churn(members, produced)
	d.until("all records are done", func() bool {
		return d.committedAll(group)
	})
	members.stopAll()
	d.through()

	requireAllWritten(t, members.out, topic)
	commits := d.commits(group)
	requireStartsAtCommits(t, members.out, commits)
	requireHistory(t, d, group, commits)
	t.Logf("%d processes, %d killed; %d commits of partitions; %d records came more than once",
		members.started, members.killed, total(commits), repeated(t, members.out))
}

// natsURL is where NATS clients connect.
func (d *daemon) natsURL() string {
	d.t.Helper()
	at := regexp.MustCompile(` nats=(\S+) `).FindStringSubmatch(d.log.String())
	require.Len(d.t, at, 2, "%s", d.log)
	return at[1]
}

// committedAll reports whether the group has committed the end of every partition.
func (d *daemon) committedAll(group string) bool {
	g, err := d.Group(d.t.Context(), api.Query{Group: &group})
	if err != nil {
		return false // not seen yet
	}
	at := committed(g)
	for p := range int32(managerPartitions) {
		if at[p] != managerEach {
			return false
		}
	}
	return true
}

func buildConsumer(t *testing.T) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "sampleconsumer")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	build := exec.CommandContext(ctx, "go", "build", fmt.Sprintf("-race=%t", raceDetector), "-o", out,
		"github.com/offsetledger/offsetledger/cmd/internal/sampleconsumer")
	said, err := build.CombinedOutput()
	require.NoError(t, err, "%s", said)
	return out
}

// produceFor produces all records, spread over the time.
func produceFor(ctx context.Context, broker *kafkatest.Real, topic string) error {
	client, err := kgo.NewClient(broker.Options(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DefaultProduceTopic(topic))...)
	if err != nil {
		return err
	}
	defer client.Close()
	const rounds = 100
	tick := time.NewTicker(managerTime / rounds)
	defer tick.Stop()
	for round := range rounds {
		var records []*kgo.Record
		for p := range int32(managerPartitions) {
			for o := managerEach * round / rounds; o < managerEach*(round+1)/rounds; o++ {
				records = append(records, &kgo.Record{Partition: p, Value: value(p, int64(o))})
			}
		}
		if err := client.ProduceSync(ctx, records...).FirstErr(); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func value(partition int32, offset int64) []byte { return fmt.Appendf(nil, "%d/%d", partition, offset) }

// churn ends members and starts others until everything is produced: every other one is killed.
func churn(m *members, produced <-chan error) {
	m.t.Helper()
	tick := time.NewTicker(3 * time.Second)
	defer tick.Stop()
	for kill := true; ; kill = !kill {
		select {
		case err := <-produced:
			require.NoError(m.t, err)
			return
		case <-tick.C:
		}
		m.end(rand.IntN(len(m.running)), kill)
		m.start()
	}
}

// members are the processes of the group.
type members struct {
	t               *testing.T
	binary, out     string
	args            []string
	running         []*exec.Cmd
	logs            []*output
	started, killed int
}

func (m *members) start() {
	m.t.Helper()
	cmd := exec.Command(m.binary, append(m.args, "-out", m.out)...)
	log := &output{}
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(m.t, cmd.Start())
	m.running, m.logs = append(m.running, cmd), append(m.logs, log)
	m.started++
	m.t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // it was killed
		}
		if m.t.Failed() {
			m.t.Logf("a member's log:\n%s", log)
		}
	})
}

// end ends a member: with -9, or as a service manager does.
func (m *members) end(i int, kill bool) {
	m.t.Helper()
	cmd, log := m.running[i], m.logs[i]
	m.running, m.logs = slices.Delete(m.running, i, i+1), slices.Delete(m.logs, i, i+1)
	if kill {
		require.NoError(m.t, cmd.Process.Kill())
		_ = cmd.Wait() // it was killed
		m.killed++
		return
	}
	require.NoError(m.t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(m.t, cmd.Wait(), "%s", log)
}

func (m *members) stopAll() {
	m.t.Helper()
	for len(m.running) > 0 {
		m.end(0, false)
	}
}

// requireAllWritten checks that the output has every record, as it was produced.
func requireAllWritten(t *testing.T, dir, topic string) {
	t.Helper()
	for p := range int32(managerPartitions) {
		got, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%s-%d.out", topic, p)))
		require.NoError(t, err)
		var want bytes.Buffer
		for o := range int64(managerEach) {
			fmt.Fprintf(&want, "%019d %08x\n", o, crc32.ChecksumIEEE(value(p, o)))
		}
		if !bytes.Equal(want.Bytes(), got) {
			require.Fail(t, "the output is not that of the records", "partition %d", p)
		}
	}
}

// commit is one committed row as the tail saw it.
type commit struct{ ms, at int64 }

// commits are what the broker has stored for the group, by partition, in its order.
func (d *daemon) commits(group string) map[int32][]commit {
	d.t.Helper()
	key, err := nats.NkeyOptionFromSeed(filepath.Join(d.dir, "reader.nk"))
	require.NoError(d.t, err)
	nc, err := nats.Connect(d.natsURL(), key)
	require.NoError(d.t, err)
	defer nc.Close()
	log, err := stream.Open(d.t.Context(), nc, stream.Config{})
	require.NoError(d.t, err)
	out, managed := map[int32][]commit{}, 0
	own := ledger.Filter{Subjects: []string{ledger.GroupSubject("local", group, ledger.KindCommitted)}}
	for rec, err := range log.Read(d.t.Context(), 1, 0, own) {
		require.NoError(d.t, err)
		for _, r := range rec.Event.Offsets {
			switch rec.Event.Source.Kind {
			case ledger.SourceTail:
				ms, ok := r.CommitTime.Millis()
				require.True(d.t, ok)
				out[r.Partition] = append(out[r.Partition], commit{ms, r.At})
			case ledger.SourceManager:
				managed++
			}
		}
	}
	require.Positive(d.t, managed, "the managers have told of their commits too")
	return out
}

func total(commits map[int32][]commit) (n int) {
	for _, all := range commits {
		n += len(all)
	}
	return n
}

// delivery is a range of records that came to a process.
type delivery struct {
	micros      int64
	partition   int32
	first, last int64
}

// journals are the deliveries of every process, in order.
func journals(t *testing.T, dir string) [][]delivery {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.journal"))
	require.NoError(t, err)
	var out [][]delivery
	for _, name := range files {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		var all []delivery
		for line := range strings.Lines(string(b)) {
			var n [4]int64
			fields := strings.Fields(line)
			require.Len(t, fields, len(n), "%s", name)
			for i, f := range fields {
				n[i], err = strconv.ParseInt(f, 10, 64)
				require.NoError(t, err)
			}
			all = append(all, delivery{n[0], int32(n[1]), n[2], n[3]})
		}
		out = append(out, all)
	}
	return out
}

// requireStartsAtCommits checks that a process that begins to read a partition does so at what
// was committed of it by then: nothing is left out, and nothing below comes again.
func requireStartsAtCommits(t *testing.T, dir string, commits map[int32][]commit) {
	t.Helper()
	starts := 0
	for _, all := range journals(t, dir) {
		next := map[int32]int64{}
		for _, d := range all {
			if want, reading := next[d.partition]; !reading || d.first != want {
				starts++
				last := int64(0)
				for _, c := range commits[d.partition] {
					if c.ms*1000 <= d.micros {
						last = c.at
					}
				}
				require.Equal(t, last, d.first, "partition %d at %s", d.partition, time.UnixMicro(d.micros).UTC())
			}
			next[d.partition] = d.last + 1
		}
	}
	require.Greater(t, starts, managerPartitions, "partitions changed hands")
}

// repeated counts records that came more than once.
func repeated(t *testing.T, dir string) (n int64) {
	came := map[int32]int64{}
	for _, all := range journals(t, dir) {
		for _, d := range all {
			came[d.partition] += d.last - d.first + 1
		}
	}
	for _, c := range came {
		n += c - managerEach
	}
	return n
}

// requireHistory checks that history tells every commit of the broker's once, and none other.
func requireHistory(t *testing.T, d *daemon, group string, commits map[int32][]commit) {
	t.Helper()
	told := map[int32][]int64{}
	for _, row := range rows[api.ChangeRow](d, "history", group, "--all", "--movement", "advance,recommit,rewind,jump,reset") {
		// A member that has caught up after a stall has gone faster than anybody before it.
		require.Contains(t, []string{"advance", "jump"}, row.Movement, "%+v", row)
		told[*row.Partition] = append(told[*row.Partition], *row.To)
	}
	for p := range int32(managerPartitions) {
		var want []int64
		for _, c := range commits[p] {
			want = append(want, c.at)
		}
		require.Equal(t, want, told[p], "partition %d", p)
		require.True(t, slices.IsSorted(want))
	}
}
