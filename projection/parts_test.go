package projection_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// cut returns the parts of an event that is larger than limit bytes.
func cut(t *testing.T, ev ledger.Event, limit int) []ledger.Event {
	t.Helper()
	ev.ID, ev.Cluster = uuid.Must(uuid.NewV7()), "c"
	parts, err := ev.Split(limit)
	require.NoError(t, err)
	require.Greater(t, len(parts), 1)
	return parts
}

// A group with so many members that its record does not fit into one message has all of them
// once the last part is read, and those of the record before until then.
func TestAGroupCutInPartsHasAllItsMembers(t *testing.T) {
	h := newHistory(t)
	h.add(classic(1000, 1, member("old", 0)))
	var members []ledger.Member
	for i := range 300 {
		members = append(members, member(fmt.Sprintf("m%03d", i), int32(i)))
	}
	parts := cut(t, classic(2000, 2, members...), 4000)
	for _, p := range parts[:len(parts)-1] {
		h.add(p)
		g, _ := h.state.Group("c", "g")
		require.Len(t, g.Members, 1)
		require.EqualValues(t, 1, g.Generation)
	}
	h.add(parts[len(parts)-1])
	g, _ := h.state.Group("c", "g")
	require.Len(t, g.Members, 300)
	require.EqualValues(t, 2, g.Generation)
	require.Equal(t, uint64(1+len(parts)), g.LastSeq)
	require.Equal(t, uint64(1+len(parts)), h.state.Seq())
	h.add(commit(3000, row(299, 7, 0)))
	p, _ := h.state.Partition("c", "g", "t", 299)
	require.Equal(t, "m299", p.Owner.MemberID)
}

// Two rows of one key in a transaction: only the later one was ever readable, also if they
// fall into two parts of its event.
func TestATransactionCutInPartsPassesThroughNoValueThatNobodyCouldRead(t *testing.T) {
	h := newHistory(t)
	rows := []ledger.Offset{row(0, 50, 10)}
	for i := range int32(400) {
		rows = append(rows, row(i+1, 1000+int64(i), 11+int64(i)))
	}
	h.add(commit(1000, row(0, 100, 0)))
	rows = append(rows, row(0, 110, 900))
	var changes []projection.Change
	parts := cut(t, inTransaction(2000, rows...), 1000)
	for _, p := range parts {
		changes = append(changes, h.add(p)...)
	}
	require.Len(t, changes, 401)
	for _, ch := range changes {
		require.Equal(t, projection.MovementAdvance, ch.Movement, "partition %d to %d", ch.Partition, ch.To.At)
		require.Equal(t, uint64(1+len(parts)), ch.Seq)
	}
	require.Equal(t, 401, changes[400].Row, "rows count in the whole event")
	h.wants(0, 110)
	g, _ := h.state.Group("c", "g")
	require.EqualValues(t, 2, g.Statistics.Commits)
}

// A record that cannot be decoded and has a value of a megabyte: which offset it hides is said
// by its key, which no part holds alone. It is one record, however many parts it has.
func TestAnUndecodableRecordCutInPartsIsOne(t *testing.T) {
	h := newHistory(t)
	h.add(cursor(900))
	h.add(commit(1000, row(0, 10, 0)))
	ev := ledger.Event{Kind: ledger.KindOpaque, Time: at(2000), Source: ledger.Source{Kind: ledger.SourceTail, Partition: 3},
		Opaque: &ledger.Opaque{Key: []byte("\x00\x01\x00\x01g\x00\x01t\x00\x00\x00\x00"), Value: make([]byte, 9000)}}
	parts := cut(t, ev, 3000)
	for _, p := range parts[:len(parts)-1] {
		h.add(p)
		require.False(t, first(h.state).Unreadable)
	}
	h.add(parts[len(parts)-1])
	require.True(t, first(h.state).Unreadable)
	cov, _ := h.state.Coverage("c")
	require.EqualValues(t, 1, cov.Opaque)
}

func first(s *projection.State) projection.Partition {
	p, _ := s.Partition("c", "g", "t", 0)
	return p
}

// Capture goes on from a cursor that was cut inside a line with very many open rows as from
// any other: with all of the rows, and expecting its last part.
func TestACursorCutInPartsIsTakenUpWhole(t *testing.T) {
	h := newHistory(t)
	open := ledger.OpenTransaction{ProducerID: 9, First: 40, Since: at(1000)}
	for i := range int32(3000) {
		open.Rows = append(open.Rows, ledger.PendingOffset{Group: "g", Topic: "t", Partition: i, At: int64(i) * int64(i) * 1000003, Position: 41 + int64(i)})
	}
	want := cursor(2000, open)
	parts := cut(t, want, 12000)
	h.add(cursor(1000))
	for i, p := range parts {
		got, ok := h.state.Cursor("c", ledger.CursorShardAll)
		require.True(t, ok)
		require.Equal(t, uint64(1), got.Seq, "before part %d", i+1)
		h.add(p)
	}
	got, _ := h.state.Cursor("c", ledger.CursorShardAll)
	require.Equal(t, uint64(1+len(parts)), got.Seq)
	require.Equal(t, want.Cursor.Lines, got.Lines)
	require.Len(t, h.state.Partitions("c", "g"), 3000)
}

// Parts that are not followed by the rest of them are no event, whatever comes instead.
func TestHalfAnEventIsNothing(t *testing.T) {
	var members []ledger.Member
	for i := range 300 {
		members = append(members, member(fmt.Sprintf("m%03d", i), int32(i)))
	}
	parts := cut(t, classic(1000, 1, members...), 4000)
	h := newHistory(t)
	h.add(parts[0])
	h.add(parts[1])
	require.Empty(t, h.state.Clusters())
	h.add(parts[0]) // stored a second time, whole
	for _, p := range parts[1:] {
		h.add(p)
	}
	g, _ := h.state.Group("c", "g")
	require.Len(t, g.Members, 300)

	h = newHistory(t)
	h.add(parts[0])
	h.add(commit(2000, row(0, 5, 0)))
	for _, p := range parts[1:] {
		require.Empty(t, h.add(p))
	}
	h.wants(0, 5)
	g, _ = h.state.Group("c", "g")
	require.Empty(t, g.Members)
}
