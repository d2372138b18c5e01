package projection_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// history is a log in the making, folded as it grows.
type history struct {
	t       *testing.T
	state   *projection.State
	records []ledger.Record
}

func newHistory(t *testing.T) *history {
	return &history{t: t, state: projection.NewState()}
}

// add appends an event of cluster "c" and returns what folding it did.
func (h *history) add(ev ledger.Event) []projection.Change {
	h.t.Helper()
	if ev.Cluster == "" {
		ev.Cluster = "c"
	}
	rec := ledger.Record{Seq: uint64(len(h.records) + 1), Event: ev}
	h.records = append(h.records, rec)
	changes, err := h.state.Apply(rec)
	require.NoError(h.t, err)
	return append([]projection.Change(nil), changes...)
}

// asOf folds the history again, up to a moment.
func (h *history) asOf(ms int64) *projection.State {
	h.t.Helper()
	s := projection.NewState()
	for _, rec := range h.records {
		err := s.ApplyUpTo(rec, at(ms))
		require.NoError(h.t, err)
	}
	return s
}

// committed returns the offset of g/t/partition, and whether there is one.
func committed(s *projection.State, partition int32) (int64, bool) {
	p, ok := s.Partition("c", "g", "t", partition)
	return p.Committed.At, ok && p.Committed.Exists
}

func (h *history) wants(partition int32, want int64) {
	h.t.Helper()
	got, ok := committed(h.state, partition)
	require.True(h.t, ok)
	require.Equal(h.t, want, got)
}

func at(ms int64) ledger.Time { return ledger.AtMillis(ms) }

func row(partition int32, offset, position int64) ledger.Offset {
	return ledger.Offset{Topic: "t", Partition: partition, At: offset, SourceOffset: position}
}

// tail makes an event of group g that the tail saw.
func tail(kind ledger.Kind, ms int64, rows ...ledger.Offset) ledger.Event {
	return ledger.Event{Kind: kind, Group: "g", Time: at(ms), Source: ledger.Source{Kind: ledger.SourceTail, Partition: 3}, Offsets: rows}
}

func commit(ms int64, rows ...ledger.Offset) ledger.Event {
	return tail(ledger.KindCommitted, ms, rows...)
}

func tombstone(ms int64, cause ledger.Cause, rows ...ledger.Offset) ledger.Event {
	ev := tail(ledger.KindDeleted, ms, rows...)
	ev.Cause, ev.CauseInferred = cause, true
	return ev
}

// inTransaction makes the event that capture appends at a COMMIT marker.
func inTransaction(ms int64, rows ...ledger.Offset) ledger.Event {
	ev := commit(ms, rows...)
	ev.Source.Transactional, ev.Source.ProducerID = true, 7
	return ev
}

func watermarks(ms, start, end, stable int64) ledger.Event {
	return watermarksOf(ms, ledger.Watermark{Topic: "t", LogStart: start, LogEnd: end, LastStable: stable})
}

func watermarksOf(ms int64, rows ...ledger.Watermark) ledger.Event {
	return ledger.Event{Kind: ledger.KindWatermarks, Time: at(ms),
		Watermarks: &ledger.Watermarks{Shard: ledger.WatermarkShard("t"), Rows: rows}}
}

// cursor says that source partition 3, the only one, was read to the end at ms.
func cursor(ms int64, open ...ledger.OpenTransaction) ledger.Event {
	return ledger.Event{Kind: ledger.KindCursor, Time: at(ms), Source: ledger.Source{Kind: ledger.SourceTail}, Cursor: &ledger.Cursor{
		Shard: ledger.CursorShardAll, Complete: true,
		Lines: []ledger.SourceLine{{Partition: 3, CompleteThrough: at(ms), MaxEffective: at(ms), Open: open}},
	}}
}

// classic is the record of a classic group in a generation, with its members.
func classic(ms int64, generation int32, members ...ledger.Member) ledger.Event {
	m := &ledger.Membership{
		Type: ledger.GroupTypeClassic, RecordType: 2, Generation: generation, ProtocolType: "consumer", StateTime: at(ms), Members: members,
	}
	if len(members) > 0 {
		m.Protocol = "range"
	}
	return ledger.Event{Kind: ledger.KindGroup, Group: "g", Time: at(ms), Source: ledger.Source{Kind: ledger.SourceTail, Partition: 3}, Membership: m}
}

func member(id string, partitions ...int32) ledger.Member {
	return ledger.Member{ID: id, ClientID: "client-" + id, Host: "/10.0.0.1",
		Assigned: []ledger.TopicPartitions{{Topic: "t", Partitions: partitions}}}
}

func movements(changes []projection.Change) []projection.Movement {
	out := []projection.Movement{}
	for i := range changes {
		out = append(out, changes[i].Movement)
	}
	return out
}

func moved(m ...projection.Movement) []projection.Movement { return m }
