package bench

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkReplay reads and folds a ledger as the daemon does at its start, beside an ordered
// consumer that only receives the same bytes. On a machine that others use too the times of the
// processor, server included, are the steadier half of it.
//
//	go test ./cmd/internal/bench -run '^$' -bench Replay -count 6
func BenchmarkReplay(b *testing.B) {
	const offsets = 5_000_000
	srv, log, err := openLedger(b.Context(), b.TempDir())
	require.NoError(b, err)
	defer func() { require.NoError(b, srv.Close()) }()
	source := newCommits()
	for range offsets / batchRows {
		events, err := source.batch()
		require.NoError(b, err)
		_, err = log.Append(b.Context(), events)
		require.NoError(b, err)
	}
	var ours, limit span
	rows := 0
	for b.Loop() {
		limit.measure(b, func() error {
			_, err := consumeBare(b.Context(), srv.Conn(), offsets/rowsPerEvent)
			return err
		})
		ours.measure(b, func() error { return replayAll(b.Context(), log, offsets) })
		rows += offsets
	}
	ours.report(b, limit, rows)
}

// span is the time that something took, of the clock and of all processors.
type span struct{ clock, cpu time.Duration }

func (s *span) measure(b *testing.B, run func() error) {
	b.Helper()
	began, cpu := time.Now(), cpuTime(b)
	require.NoError(b, run())
	s.clock, s.cpu = s.clock+time.Since(began), s.cpu+cpuTime(b)-cpu
}

func (s *span) report(b *testing.B, limit span, rows int) {
	b.ReportMetric(float64(rows)/s.clock.Seconds(), "offsets/s")
	b.ReportMetric(float64(rows)/limit.clock.Seconds(), "limit-offsets/s")
	b.ReportMetric(limit.clock.Seconds()/s.clock.Seconds(), "of-limit")
	b.ReportMetric(float64(s.cpu.Nanoseconds())/float64(rows), "cpu-ns/offset")
	b.ReportMetric(float64(limit.cpu.Nanoseconds())/float64(rows), "limit-cpu-ns/offset")
}
