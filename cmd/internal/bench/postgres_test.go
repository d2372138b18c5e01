//go:build linux || darwin

package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/stream"
	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/replay"
	"github.com/offsetledger/offsetledger/replay/objstore"
)

// postgres is a server of its own, in a directory and on a socket that nobody else uses, and one
// session of it.
type postgres struct {
	bin, dir string
	as       *syscall.SysProcAttr // it refuses to run as root
	server   *exec.Cmd
	session  *exec.Cmd
	in       io.WriteCloser
	out      *bufio.Scanner
}

// startPostgres skips where there is no PostgreSQL.
func startPostgres(b *testing.B) *postgres {
	b.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if path, err := exec.LookPath("initdb"); err == nil {
		found = append(found, path)
	}
	if len(found) == 0 {
		b.Skip("there is no PostgreSQL here to compare with")
	}
	p := &postgres{bin: filepath.Dir(found[0])}
	var err error
	p.dir, err = os.MkdirTemp("", "offsetledger-pg-") //nolint:usetesting // another user has to reach it
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, os.RemoveAll(p.dir)) })
	if os.Getuid() == 0 {
		who, err := user.Lookup("postgres")
		if err != nil {
			b.Skip("PostgreSQL refuses to run as root, and there is no user postgres")
		}
		uid, err := strconv.ParseUint(who.Uid, 10, 32)
		require.NoError(b, err)
		gid, err := strconv.ParseUint(who.Gid, 10, 32)
		require.NoError(b, err)
		require.NoError(b, os.Chown(p.dir, int(uid), int(gid)))
		p.as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}
	data := filepath.Join(p.dir, "data")
	init := p.command("initdb", "-D", data, "-A", "trust", "-U", "bench", "--locale=C", "-E", "UTF8")
	text, err := init.CombinedOutput()
	require.NoError(b, err, string(text))
	p.server = p.command("postgres", "-D", data, "-k", p.dir, "-c", "listen_addresses=", "-c", "shared_buffers=512MB", "-c", "max_wal_size=8GB",
		"-c", "checkpoint_timeout=1h", "-c", "synchronous_commit=on", "-c", "maintenance_work_mem=256MB")
	require.NoError(b, p.server.Start())
	b.Cleanup(func() {
		require.NoError(b, p.server.Process.Signal(syscall.SIGINT))
		_ = p.server.Wait() // it was asked to end
	})
	for until := time.Now().Add(time.Minute); p.command("pg_isready", "-h", p.dir).Run() != nil; {
		require.True(b, time.Now().Before(until), "the server does not come up")
		time.Sleep(50 * time.Millisecond)
	}
	p.session = p.command("psql", "-h", p.dir, "-U", "bench", "-d", "postgres", "-qAtX", "-v", "ON_ERROR_STOP=1")
	p.session.Stderr = os.Stderr
	p.in, err = p.session.StdinPipe()
	require.NoError(b, err)
	out, err := p.session.StdoutPipe()
	require.NoError(b, err)
	p.out = bufio.NewScanner(out)
	require.NoError(b, p.session.Start())
	b.Cleanup(func() {
		require.NoError(b, p.in.Close())
		require.NoError(b, p.session.Wait())
	})
	return p
}

func (p *postgres) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(p.bin, name), args...)
	cmd.Dir, cmd.SysProcAttr = p.dir, p.as
	return cmd
}

// do runs statements and returns the lines of their answer and how long it took.
func (p *postgres) do(b *testing.B, text string) (lines []string, took time.Duration) {
	b.Helper()
	began := time.Now()
	_, err := io.WriteString(p.in, text+"\n\\echo =end=\n")
	require.NoError(b, err)
	for p.out.Scan() {
		if p.out.Text() == "=end=" {
			return lines, time.Since(began)
		}
		lines = append(lines, p.out.Text())
	}
	b.Fatalf("the session has ended: %v", p.out.Err())
	return nil, 0
}

// The table that an administrator would keep commits in, with the index that answers where a group
// was. Of keys there is a row for each partition that a group has ever committed to.
const (
	auditTable = `create table audit (grp text not null, topic text not null, partition int not null, committed bigint not null, leader_epoch int,
 metadata text, commit_time bigint, effective bigint not null, source_partition int, source_offset bigint);
create index audit_as_of on audit (grp, topic, partition, effective desc) include (committed);`
	auditKeys  = `create table keys as select distinct grp, topic, partition from audit; create index on keys (grp); vacuum analyze;`
	auditAsOf  = `select k.grp, k.topic, k.partition, a.committed from keys k cross join lateral (select committed from audit where grp = k.grp and topic = k.topic and partition = k.partition and effective <= %d order by effective desc limit 1) a`
	auditGroup = auditAsOf + ` where k.grp = '%s';`
)

// copyOf is the rows of a batch as the table takes them.
func copyOf(events []ledger.Event) string {
	var s strings.Builder
	s.WriteString("copy audit from stdin;\n")
	for i := range events {
		ev := &events[i]
		for _, r := range ev.Offsets {
			epoch, _ := r.LeaderEpoch.Get()
			committed, _ := r.CommitTime.Millis()
			effective, _ := r.Effective.Millis()
			fmt.Fprintf(&s, "%s\t%s\t%d\t%d\t%d\t%s\t%d\t%d\t%d\t%d\n", ev.Group, r.Topic, r.Partition, r.At, epoch, r.Metadata, committed, effective, ev.Source.Partition, r.SourceOffset)
		}
	}
	s.WriteString("\\.\n")
	return s.String()
}

// cursor says that everything stored so far was read.
func (c *commits) cursor() ledger.Event {
	cur := &ledger.Cursor{Shard: ledger.CursorShardAll, Complete: true}
	for p, next := range c.source {
		cur.Lines = append(cur.Lines, ledger.SourceLine{Partition: int32(p), Next: next, MaxEffective: c.clock, CompleteThrough: c.clock})
	}
	return ledger.Event{ID: uuid.Must(uuid.NewV7()), Kind: ledger.KindCursor, Cluster: clusterName, Time: c.clock, Source: ledger.Source{Kind: ledger.SourceTail}, Cursor: cur}
}

// keeping takes snapshots of a ledger as the daemon does.
type keeping struct {
	log       *stream.Log
	view      *projection.View
	snapshots *replay.Snapshots
}

func keepSnapshots(b *testing.B, log *stream.Log, nc *nats.Conn) *keeping {
	b.Helper()
	k := &keeping{log: log, view: projection.NewView()}
	trail := projection.NewTrail(0)
	k.view.Leave(trail)
	bucket, err := objstore.New(nc, objstore.Config{})
	require.NoError(b, err)
	k.snapshots, err = replay.OpenSnapshots(b.Context(), replay.SnapshotConfig{Store: bucket, Incarnation: log.Incarnation(), Trail: trail, Pick: log.Pick})
	require.NoError(b, err)
	following, stop := context.WithCancel(b.Context())
	var g errgroup.Group
	g.Go(func() error { return k.view.Run(following, log.Follow(following, 1, ledger.Filter{})) })
	b.Cleanup(func() {
		stop()
		require.ErrorIs(b, g.Wait(), context.Canceled)
	})
	return k
}

// take takes a snapshot if one is due.
func (k *keeping) take(b *testing.B) {
	b.Helper()
	size, err := k.log.Size(b.Context())
	require.NoError(b, err)
	require.NoError(b, k.view.WaitFor(b.Context(), size.Events))
	if now := time.Now(); k.snapshots.Due(now, size.Events, size.Bytes) {
		_, err = k.snapshots.Take(b.Context(), replay.Taking{Read: k.view.ReadIncidents, Now: now, LogBytes: size.Bytes})
		require.NoError(b, err)
	}
}

// BenchmarkPostgres stores the same commits in a ledger and in an indexed table, batch by batch in
// turns, each batch durable before the next, and then asks both where one group was, and where all
// were. OFFSETLEDGER_BENCH_OFFSETS is how many offsets; 3 million if it is not set.
//
//	go test ./cmd/internal/bench -run '^$' -bench Postgres -benchtime 500x
func BenchmarkPostgres(b *testing.B) {
	offsets := 3_000_000
	if n, err := strconv.Atoi(os.Getenv("OFFSETLEDGER_BENCH_OFFSETS")); err == nil {
		offsets = n
	}
	p := startPostgres(b)
	p.do(b, auditTable)
	dir := b.TempDir()
	srv, log, err := openLedger(b.Context(), dir)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, srv.Close()) })
	k := keepSnapshots(b, log, srv.Conn())
	source := newCommits()
	first := source.clock
	var ours, theirs time.Duration
	for range offsets / batchRows {
		events, err := source.batch()
		require.NoError(b, err)
		text := copyOf(events)
		_, took := p.do(b, text)
		theirs += took
		began := time.Now()
		_, err = log.Append(b.Context(), events)
		require.NoError(b, err)
		_, err = log.Append(b.Context(), []ledger.Event{source.cursor()})
		require.NoError(b, err)
		ours += time.Since(began)
		k.take(b)
	}
	p.do(b, auditKeys)
	size, err := log.Size(b.Context())
	require.NoError(b, err)
	table, _ := p.do(b, "select pg_total_relation_size('audit');")
	tableBytes, err := strconv.ParseFloat(table[0], 64)
	require.NoError(b, err)

	random := rand.New(rand.NewPCG(5, 6))
	span, _ := source.clock.Sub(first)
	moment := func() ledger.Time { return first.Add(time.Duration(random.Int64N(int64(span)))) }
	var one, oneTheirs, all, allTheirs, floor []time.Duration
	for b.Loop() {
		at, group := moment(), fmt.Sprintf("group-%d", random.IntN(groups))
		ms, _ := at.Millis()
		rows, took := p.do(b, fmt.Sprintf(auditGroup, ms, group))
		oneTheirs = append(oneTheirs, took)
		began := time.Now()
		st, err := k.snapshots.StateAt(b.Context(), log, replay.Point{Time: at}, replay.OfGroup(clusterName, group))
		require.NoError(b, err)
		one = append(one, time.Since(began))
		has := 0
		for _, part := range st.Partitions(clusterName, group) {
			if part.Committed.Exists {
				has++
			}
		}
		require.Equal(b, len(rows), has, "both say the same")
		_, took = p.do(b, "select 1;")
		floor = append(floor, took)
	}
	for range 3 {
		at := moment()
		ms, _ := at.Millis()
		_, took := p.do(b, fmt.Sprintf(auditAsOf, ms)+";")
		allTheirs = append(allTheirs, took)
		began := time.Now()
		_, err := k.snapshots.StateAt(b.Context(), log, replay.Point{Time: at}, replay.OfCluster(clusterName))
		require.NoError(b, err)
		all = append(all, time.Since(began))
	}
	ms := func(of []time.Duration, percent int) float64 {
		slices.Sort(of)
		return float64(of[len(of)*percent/100].Microseconds()) / 1000
	}
	b.ReportMetric(float64(offsets)/ours.Seconds(), "append/s")
	b.ReportMetric(float64(offsets)/theirs.Seconds(), "pg-append/s")
	b.ReportMetric(float64(size.Bytes)/float64(offsets), "bytes/offset")
	b.ReportMetric(tableBytes/float64(offsets), "pg-bytes/offset")
	b.ReportMetric(ms(one, 50), "group-p50-ms")
	b.ReportMetric(ms(oneTheirs, 50), "pg-group-p50-ms")
	b.ReportMetric(ms(one, 99), "group-p99-ms")
	b.ReportMetric(ms(oneTheirs, 99), "pg-group-p99-ms")
	b.ReportMetric(ms(floor, 50), "pg-select-1-ms")
	b.ReportMetric(ms(all, 50), "all-ms")
	b.ReportMetric(ms(allTheirs, 50), "pg-all-ms")
}
