package replay_test

import (
	"context"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/embedded"
	"github.com/offsetledger/offsetledger/ledger/stream"
	"github.com/offsetledger/offsetledger/replay"
)

var _ replay.Reader = (*stream.Log)(nil)

// memory is a log of records that stand in memory, for tests that need thousands of logs.
type memory []ledger.Record

func (m memory) Last(context.Context) (uint64, error) { return uint64(len(m)), nil }

func (m memory) Read(_ context.Context, from, to uint64, f ledger.Filter) iter.Seq2[ledger.Record, error] {
	return func(yield func(ledger.Record, error) bool) {
		for _, rec := range m[from-1 : to] {
			subject := rec.Event.Subject()
			selected := len(f.Subjects) == 0 || slices.ContainsFunc(f.Subjects, func(p string) bool { return ledger.MatchSubject(p, subject) })
			if selected && !yield(rec, nil) {
				return
			}
		}
	}
}

// add appends events, stored when their own time says or, if later is not 0, at later.
func (m *memory) add(later int64, events ...ledger.Event) {
	for _, ev := range events {
		ms, _ := ev.Time.Millis()
		*m = append(*m, ledger.Record{Seq: uint64(len(*m) + 1), Appended: time.UnixMilli(max(ms, later)).UTC(), Event: ev})
	}
}

// newLog starts a real log in a directory of the test.
func newLog(t *testing.T) *stream.Log {
	t.Helper()
	srv, err := embedded.Start(t.Context(), embedded.Config{Dir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	log, err := stream.Create(t.Context(), srv.Conn(), stream.Config{})
	require.NoError(t, err)
	return log
}

func millis(ms int64) ledger.Time { return ledger.AtMillis(ms) }

func row(partition int32, offset, position, effective int64) ledger.Offset {
	return ledger.Offset{Topic: "t", Partition: partition, At: offset, SourceOffset: position, CommitTime: millis(effective), Effective: millis(effective)}
}

func commit(group string, ms int64, rows ...ledger.Offset) ledger.Event {
	return ledger.Event{Kind: ledger.KindCommitted, Cluster: "c", Group: group, Time: millis(ms),
		Source: ledger.Source{Kind: ledger.SourceTail, Partition: 3}, Offsets: rows}
}

// cursor says that source partition 3, the only one, was read to the end at ms.
func cursor(now, through int64) ledger.Event {
	return ledger.Event{Kind: ledger.KindCursor, Cluster: "c", Time: millis(now), Source: ledger.Source{Kind: ledger.SourceTail},
		Cursor: &ledger.Cursor{Shard: ledger.CursorShardAll, Complete: true,
			Lines: []ledger.SourceLine{{Partition: 3, CompleteThrough: millis(through), MaxEffective: millis(through)}}}}
}

func watermarks(ms, end int64) ledger.Event {
	shard := ledger.WatermarkShard("t")
	return ledger.Event{Kind: ledger.KindWatermarks, Cluster: "c", Time: millis(ms), Source: ledger.Source{Kind: ledger.SourceTail},
		Watermarks: &ledger.Watermarks{Shard: shard, Rows: []ledger.Watermark{{Topic: "t", LogEnd: end, LastStable: end}}}}
}
