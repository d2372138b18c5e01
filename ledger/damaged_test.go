package ledger

import (
	"errors"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
)

// withRows is a committed event whose rows are replaced by the bytes of the given fields.
func withRows(rows ...[]byte) []byte {
	var inner []byte
	for _, f := range rows {
		inner = append(inner, f...)
	}
	e := Event{Kind: KindCommitted}
	b, _ := e.AppendBinary(nil)
	return putBytes(b, 8, inner)
}

func uintField(num protowire.Number, v uint64) []byte { return putUint(nil, num, v) }
func bytesField(num protowire.Number, v ...byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), v)
}

// Every fault is an error that names the field where the bytes stop making sense.
func TestDamagedNamesTheField(t *testing.T) {
	topic := bytesField(2, 't')
	for _, c := range []struct {
		name  string
		bytes []byte
		field string
	}{
		{"a tag that is cut", []byte{0x80}, "Event"},
		{"field number 0", []byte{0x00, 1}, "Event"},
		{"a length beyond the end", []byte{0x1A, 200, 1}, "Event.cluster"},
		{"a wrong wire type", uintField(3, 1), "Event.cluster"},
		{"an id that is too short", bytesField(1, 1, 2, 3), "Event.id"},
		{"a kind beyond 32 bits", uintField(2, 1<<40), "Event.kind"},
		{"a message twice", append(bytesField(7), bytesField(7)...), "Event.source"},
		{"a varint in the source that is cut", bytesField(7, 8, 0x80), "Source.kind"},
		{"a cursor event without a cursor", uintField(2, uint64(KindCursor)), "Event.cursor"},
		{"rows without topic", withRows(uintField(1, 3)), "Rows.topic"},
		{"a topic without rows", withRows(topic), "Rows.rows"},
		{"metadata without rows", withRows(bytesField(10)), "Rows.rows"},
		{"lines without number", bytesField(23, bytesField(8, 1)...), "Cursor.lines"},
		{"two topics and no runs", withRows(uintField(1, 3), topic, topic), "Rows.topic"},
		{"more ids than topics", withRows(uintField(1, 3), topic, bytesField(3), bytesField(3)), "Rows.topic_id"},
		{"a topic id of one byte", withRows(uintField(1, 3), topic, bytesField(3, 1)), "Rows.topic_id"},
		{"runs that are too short", withRows(uintField(1, 3), topic, topic, bytesField(4, 1, 1)), "Rows.run_rows"},
		{"runs that are too long", withRows(uintField(1, 3), topic, topic, bytesField(4, 1, 3)), "Rows.run_rows"},
		{"a run of no rows", withRows(uintField(1, 3), topic, topic, bytesField(4, 0, 3)), "Rows.run_rows"},
		{"a run of a topic that is not there", withRows(uintField(1, 3), topic, bytesField(4, 1, 2)), "Rows.run_topic"},
		{"fewer topics of runs than runs", withRows(uintField(1, 3), topic, bytesField(4, 1, 2), bytesField(5, 0)), "Rows.run_topic"},
		{"two elements for three rows", withRows(uintField(1, 3), topic, bytesField(8, 1, 2)), "Rows.at"},
		{"four elements for three rows", withRows(uintField(1, 3), topic, bytesField(9, 1, 2, 3, 4)), "Rows.leader_epoch"},
		{"an element that is cut", withRows(uintField(1, 2), topic, bytesField(6, 1, 0x80)), "Rows.partition"},
		{"two texts for three rows", withRows(uintField(1, 3), topic, bytesField(10), bytesField(10)), "Rows.metadata"},
		{"two bases for three runs", withRows(uintField(1, 3), topic, bytesField(4, 1, 1, 1), bytesField(5, 0, 0, 0), bytesField(7, 2, 4)), "Rows.at_base"},
		{"a column that is not packed", withRows(uintField(1, 3), topic, uintField(8, 1)), "Rows.at"},
		{"an error code beyond 16 bits", withRows(uintField(1, 1), topic, bytesField(15, 0x80, 0x80, 0x04)), "Rows.error_code"},
		{"a ninth flag", withRows(uintField(1, 1), topic, bytesField(16, 0x80, 0x02)), "Rows.flags"},
		{"more rows than an event can have", withRows(uintField(1, MaxRows+1), topic), "Rows.rows"},
		{"more rows than there are atoms", withRows(uintField(1, 1<<63), topic), "Rows.rows"},
		{"a hole of no line", bytesField(23, append([]byte{0x6a, 2}, uintField(1, 3)...)...), "Hole.line"},
		{"an open transaction of no line", bytesField(23, append([]byte{0x62, 2}, uintField(7, 3)...)...), "OpenTransaction.line"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Decode(c.bytes)
			require.ErrorIs(t, err, ErrDamaged)
			var damaged *DamagedError
			require.ErrorAs(t, err, &damaged)
			require.Equal(t, c.field, damaged.Field, err.Error())
		})
	}
}

// A message of a few bytes can claim very many rows, each of which costs nothing. What it gets
// is bounded by MaxRows, over all lists together.
func TestClaimedRowsAreBounded(t *testing.T) {
	claim := func(num protowire.Number, rows uint64) []byte {
		return bytesField(num, append(uintField(1, rows), bytesField(2, 't')...)...)
	}
	_, err := Decode(append(claim(8, MaxRows/2), claim(9, MaxRows/2)...))
	require.NoError(t, err)
	_, err = Decode(append(claim(8, MaxRows/2), claim(9, MaxRows/2+1)...))
	require.ErrorIs(t, err, ErrDamaged)

	// A hundred thousand open transactions that claim all rows each.
	open := bytesField(12, append(uintField(1, MaxRows), bytesField(2, 't')...)...)
	cursor := uintField(5, 1)
	for range 100_000 {
		cursor = append(cursor, open...)
	}
	b := append(uintField(2, uint64(KindCursor)), bytesField(23, cursor...)...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = Decode(b)
	runtime.ReadMemStats(&after)
	require.ErrorIs(t, err, ErrDamaged)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20))
}

// An event that holds more rows than a reader takes is not written.
func TestTooManyRowsAreNotWritten(t *testing.T) {
	e := Event{Offsets: make([]Offset, MaxRows), Updates: make([]Offset, 1)}
	_, err := e.AppendBinary(nil)
	require.ErrorIs(t, err, ErrTooLarge)
}

// Cutting or flipping bytes of real events is an error or another event, never a panic.
func TestEveryCutAndFlip(t *testing.T) {
	for _, e := range goldenEvents() {
		b := encoded(t, e)
		for i := range b {
			_, _ = Decode(b[:i])
			for bit := range 8 {
				flipped := append([]byte{}, b...)
				flipped[i] ^= 1 << bit
				if _, err := Decode(flipped); err != nil {
					require.True(t, errors.Is(err, ErrDamaged), err)
				}
			}
		}
	}
}

// FuzzDecode: no input panics, and what decodes is written in the one form that decodes to
// the same again.
func FuzzDecode(f *testing.F) {
	for _, e := range goldenEvents() {
		f.Add(encoded(f, e))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := Decode(b)
		if err != nil {
			require.ErrorIs(t, err, ErrDamaged)
			return
		}
		once := encoded(t, e)
		back, err := Decode(once)
		require.NoError(t, err)
		require.Equal(t, once, encoded(t, back))
		_ = e.Subject()
		_ = e.Validate()
		require.Equal(t, once, encoded(t, e.Clone()))
	})
}
