//go:build linux || darwin

package bench

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
)

// BenchmarkPostgres stores the same commits in a ledger and in an indexed table, in turns, and then
// asks both where one group was, and where all were; the answers have to be the same. It prints a
// table with a line for each question. What PostgreSQL is spared: the upkeep of the keys, its
// checkpoints and write-ahead log on disk, and the making of its text. What the ledger is spared: a
// connection.
//
//	go test ./cmd/internal/bench -run '^$' -bench Postgres -benchtime 500x
//
// OFFSETLEDGER_BENCH_OFFSETS is how many offsets; 3 million if it is not set.
func BenchmarkPostgres(b *testing.B) {
	offsets := 3_000_000
	if n, err := strconv.Atoi(os.Getenv("OFFSETLEDGER_BENCH_OFFSETS")); err == nil {
		offsets = max(n/batchRows, 2) * batchRows
	}
	c := &comparison{ledger: startKeeping(b), table: startPostgres(b), source: newCommits(), random: rand.New(rand.NewPCG(5, 6))}
	c.table.do(b, auditTable)
	// What is stored has happened before: of times that are still to come nothing is settled.
	c.source.clock = c.source.clock.Add(-time.Minute - time.Duration(offsets/rowsPerEvent)*time.Millisecond)
	c.first = c.source.clock
	c.storeBatches(b, offsets-batchRows)
	c.storeCommits(b)
	c.weigh(b, offsets)
	c.table.do(b, auditKeys)
	c.table.prepareWays(b)
	c.askOfOne(b)
	c.askOfAll(b)
	c.print(b, offsets)
}

// comparison is a ledger and a table with the same rows, and what was measured of both.
type comparison struct {
	ledger *keeping
	table  *postgres
	source *commits
	first  ledger.Time
	random *rand.Rand
	lines  []line
	notes  []string
}

// line is one figure of both; one with a metric is reported as two of the benchmark's too.
type line struct {
	what, unit, metric string
	ledger, table      float64
}

// storeBatches stores a thousand commits at a time, each batch durable before the next.
func (c *comparison) storeBatches(b *testing.B, offsets int) {
	b.Helper()
	var ours, theirs time.Duration
	var events []ledger.Event
	for range offsets / batchRows {
		var err error
		events, err = c.source.batch()
		require.NoError(b, err)
		_, took := c.table.do(b, copyTo("audit", events))
		theirs += took
		ours += c.append(b, events) + c.append(b, []ledger.Event{c.source.cursor()})
		c.ledger.snapshot(b)
	}
	c.lines = append(c.lines, line{"append, 1,000 commits at a time", "offsets/s", "append/s", float64(offsets) / ours.Seconds(), float64(offsets) / theirs.Seconds()})
	c.table.do(b, "create temp table sink (like audit);")
	_, took := c.table.do(b, copyTo("sink", events))
	c.note("psql and COPY into a table without index or durability: %.0f offsets/s", batchRows/took.Seconds())
}

// storeCommits stores a batch commit by commit, each durable before the next.
func (c *comparison) storeCommits(b *testing.B) {
	b.Helper()
	events, err := c.source.batch()
	require.NoError(b, err)
	cursor := c.source.cursor()
	var ours, theirs []time.Duration
	for i := range events {
		_, took := c.table.do(b, copyTo("audit", events[i:i+1]))
		theirs = append(theirs, took)
		stored := events[i : i+1]
		if i == len(events)-1 {
			stored = append(stored, cursor)
		}
		ours = append(ours, c.append(b, stored))
	}
	c.ledger.snapshot(b)
	c.lines = append(c.lines, line{"append, one commit of 100 offsets, p50", "ms", "commit-p50-ms", ms(ours, 50), ms(theirs, 50)})
	c.lines = append(c.lines, line{"append, one commit of 100 offsets, p99", "ms", "", ms(ours, 99), ms(theirs, 99)})
}

func (c *comparison) append(b *testing.B, events []ledger.Event) time.Duration {
	b.Helper()
	began := time.Now()
	_, err := c.ledger.log.Append(b.Context(), events)
	require.NoError(b, err)
	return time.Since(began)
}

func (c *comparison) weigh(b *testing.B, offsets int) {
	b.Helper()
	log, snapshots := c.ledger.disk(b)
	table, index := c.table.number(b, "select pg_table_size('audit');"), c.table.number(b, "select pg_indexes_size('audit');")
	n := float64(offsets)
	require.Equal(b, n, c.table.number(b, "select count(*) from audit;"))
	c.lines = append(c.lines, line{"on disk, with snapshots / with index", "bytes/offset", "bytes/offset", (log + snapshots) / n, (table + index) / n})
	c.note("of which the log is %.1f bytes/offset and the table %.1f; %d snapshots", log/n, table/n, len(c.ledger.snapshots.List()))
}

func (c *comparison) moment() ledger.Time {
	span, _ := c.source.clock.Sub(c.first)
	return c.first.Add(time.Duration(c.random.Int64N(int64(span))))
}

func (c *comparison) group() string { return fmt.Sprintf("group-%d", c.random.IntN(groups)) }

// askOfOne asks of a random group at a random moment: 200 times to begin with, when not all has been
// touched before, and then as often as the benchmark is told to.
func (c *comparison) askOfOne(b *testing.B) {
	b.Helper()
	best := fastest(31, func(w int) time.Duration {
		_, took := c.table.one(b, w, c.group(), c.moment())
		return took
	})
	c.note("PostgreSQL is asked of one group by %s", auditWays[best].name)
	var ours, theirs []time.Duration
	ask := func() {
		group, at := c.group(), c.moment()
		want, took := c.table.one(b, best, group, at)
		theirs = append(theirs, took)
		have, took := c.ledger.one(b, group, at)
		ours = append(ours, took)
		require.Equal(b, want, have)
	}
	for range 200 {
		ask()
	}
	first := line{"one group as of T, p99 of the first 200", "ms", "", ms(ours, 99), ms(theirs, 99)}
	ours, theirs = nil, nil
	for b.Loop() {
		ask()
	}
	c.lines = append(c.lines, line{"one group as of T, p50", "ms", "group-p50-ms", ms(ours, 50), ms(theirs, 50)})
	c.lines = append(c.lines, line{"one group as of T, p99", "ms", "group-p99-ms", ms(ours, 99), ms(theirs, 99)})
	c.lines = append(c.lines, first)
	var floor []time.Duration
	for range 200 {
		_, took := c.table.do(b, "select 1;")
		floor = append(floor, took)
	}
	c.note("of which psql: select 1 takes %.2f ms, p99 %.2f", ms(floor, 50), ms(floor, 99))
}

// askOfAll asks of everything at a random moment.
func (c *comparison) askOfAll(b *testing.B) {
	b.Helper()
	best := fastest(3, func(w int) time.Duration {
		_, took := c.table.all(b, "sum", w, c.moment())
		return took
	})
	c.note("PostgreSQL is asked of everything by %s", auditWays[best].name)
	var ours, theirs, received []time.Duration
	for range 7 {
		at := c.moment()
		want, took := c.table.all(b, "sum", best, at)
		theirs = append(theirs, took)
		have, took := c.ledger.all(b, at)
		ours = append(ours, took)
		require.Equal(b, want, []string{have})
		_, took = c.table.all(b, "rows", best, at)
		received = append(received, took)
	}
	c.lines = append(c.lines, line{"100,000 partitions as of T, p50", "ms", "all-ms", ms(ours, 50), ms(theirs, 50)})
	c.note("that is their sum; the rows themselves, through psql: %.0f ms", ms(received, 50))
}

func (c *comparison) note(format string, args ...any) {
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}

// print writes to stderr, since a benchmark's own log is cut after ten lines.
func (c *comparison) print(b *testing.B, offsets int) {
	b.Helper()
	answer, _ := c.table.do(b, "show server_version;")
	version, _, _ := strings.Cut(answer[0], " ")
	w := tabwriter.NewWriter(os.Stderr, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\n%d OFFSETS\tLEDGER\tPOSTGRESQL %s\tUNIT\n", offsets, version)
	for _, l := range c.lines {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", l.what, figure(l.ledger), figure(l.table), l.unit)
		if l.metric != "" {
			b.ReportMetric(l.ledger, l.metric)
			b.ReportMetric(l.table, "pg-"+l.metric)
		}
	}
	fmt.Fprintln(w, strings.Join(c.notes, "\n"))
	require.NoError(b, w.Flush())
}

// figure has three digits, and more where they stand before the point.
func figure(f float64) string {
	if f >= 1000 {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'g', 3, 64)
}

// ms is a percentile in milliseconds.
func ms(of []time.Duration, percent int) float64 {
	sorted := slices.Sorted(slices.Values(of))
	return float64(sorted[len(sorted)*percent/100].Microseconds()) / 1000
}
