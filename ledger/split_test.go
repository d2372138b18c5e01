package ledger

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// requireSplit cuts e, looks at the parts as they would be stored, and puts them together.
func requireSplit(t require.TestingT, e Event, limit int) []Event {
	parts, err := e.Split(limit)
	require.NoError(t, err)
	stored := make([]Event, len(parts))
	for i := range parts {
		b := encoded(t, parts[i])
		require.LessOrEqual(t, len(b), limit)
		stored[i], err = Decode(b)
		require.NoError(t, err)
	}
	whole, err := Join(stored)
	require.NoError(t, err)
	require.Equal(t, encoded(t, e), encoded(t, whole))
	return stored
}

// What fits is not touched.
func TestSplitLeavesAlone(t *testing.T) {
	for _, e := range goldenEvents() {
		parts, err := e.Split(1000)
		require.NoError(t, err)
		require.Equal(t, []Event{e}, parts)
		back, err := Join(parts[:1])
		if e.Parts == 0 {
			require.NoError(t, err)
			require.Equal(t, e, back)
		}
	}
}

// A commit that is too large for a message is stored in parts whose rows are the rows of the
// commit, in order, and each of which says enough to be folded by itself.
func TestSplitRows(t *testing.T) {
	e := typical(5000, 7, newRand())
	e.Updates = typical(300, 8, newRand()).Offsets
	parts := requireSplit(t, e, 2000)
	require.Greater(t, len(parts), 8)
	var rows, updates []Offset
	for i, p := range parts {
		require.NoError(t, p.Validate())
		require.Equal(t, int32(i+1), p.Part)
		require.Equal(t, int32(len(parts)), p.Parts)
		require.Equal(t, e.ID, p.ID)
		require.Equal(t, e.Subject(), p.Subject())
		rows, updates = append(rows, p.Offsets...), append(updates, p.Updates...)
	}
	require.Equal(t, e.Offsets, rows)
	require.Equal(t, e.Updates, updates)
}

// More rows than one event may hold are cut, however few bytes they are.
func TestSplitTooManyRows(t *testing.T) {
	e := golden(KindCommitted, "billing")
	for i := range 2*MaxRows + 1 {
		e.Offsets = append(e.Offsets, Offset{Topic: "t", Partition: int32(i), Effective: goldenTime, CommitTime: goldenTime})
	}
	parts, err := e.Split(1 << 20)
	require.NoError(t, err)
	require.Len(t, parts, 3)
	whole, err := Join(parts)
	require.NoError(t, err)
	require.Equal(t, e, whole)
}

// A Kafka record can have a megabyte and more. If it cannot be decoded, it is kept whole.
func TestSplitOpaque(t *testing.T) {
	e := goldenEvents()["opaque"]
	e.Opaque = &Opaque{Key: bytes.Repeat([]byte{1, 2, 3}, 1000), Value: bytes.Repeat([]byte("value"), 300_000), Timestamp: goldenTime, Problem: "too long"}
	parts := requireSplit(t, e, 900<<10)
	require.Len(t, parts, 2)
	require.NoError(t, parts[1].Validate())
}

func TestSplitOtherPayloads(t *testing.T) {
	for _, name := range []string{"group", "watermarks", "watermarks-unanswered", "watermarks-many", "cursor", "operator"} {
		t.Run(name, func(t *testing.T) {
			e := goldenEvents()[name].Clone()
			for range 100 {
				switch {
				case e.Membership != nil:
					e.Membership.Members = append(e.Membership.Members, goldenMembership().Members...)
				case e.Watermarks != nil && len(e.Watermarks.Unanswered) > 0:
					e.Watermarks.Unanswered = append(e.Watermarks.Unanswered, e.Watermarks.Unanswered[0])
				case e.Watermarks != nil:
					e.Watermarks.Rows = append(e.Watermarks.Rows, e.Watermarks.Rows[0], e.Watermarks.Rows[1])
				case e.Cursor != nil:
					e.Cursor.Lines = append(e.Cursor.Lines, SourceLine{Partition: int32(len(e.Cursor.Lines) + 50), Next: 1 << 20})
				case e.Operation != nil:
					e.Operation.Body = append(e.Operation.Body, `{"step":1}`...)
				}
			}
			require.Greater(t, len(requireSplit(t, e, 400)), 1)
		})
	}
}

// A transaction that never ends can have more rows pending than a message or an event holds.
// Its line is cut, and whoever joins the parts has it whole.
func TestSplitCursorInsideALine(t *testing.T) {
	e := golden(KindCursor, "")
	e.Cursor = goldenCursor()
	o := &e.Cursor.Lines[2].Open[0]
	for i := range MaxRows {
		o.Rows = append(o.Rows, PendingOffset{Group: "billing", Topic: "orders", Partition: int32(i), At: int64(i), Position: int64(i)})
	}
	o.unknown = newFields()
	want := e.Clone()
	parts, err := e.Split(100 << 10)
	require.NoError(t, err)
	require.Greater(t, len(parts), 2)
	for i := range parts {
		require.NoError(t, parts[i].Validate())
		require.LessOrEqual(t, len(encoded(t, parts[i])), 100<<10)
	}
	whole, err := Join(parts)
	require.NoError(t, err)
	require.Equal(t, want, whole)
	require.Equal(t, want, e, "what was cut is as it was")
}

func TestSplitKeepsUnknownFieldsOnce(t *testing.T) {
	e := typical(1000, 7, newRand())
	e.unknown = newFields()
	e.inner = []innerUnknown{{8, newFields()}}
	requireSplit(t, e, 1000)
}

// Nothing is shortened: what cannot be cut is refused.
func TestSplitRefuses(t *testing.T) {
	row := typical(1, 7, newRand())
	row.Offsets[0].Metadata = string(make([]byte, 5000))
	_, err := row.Split(4000)
	require.ErrorIs(t, err, ErrTooLarge)
	part := goldenEvents()["part"]
	_, err = part.Split(10)
	require.ErrorIs(t, err, ErrTooLarge)
}

// Parts that are missing, of another event or in another order are no event.
func TestJoinRefuses(t *testing.T) {
	e := typical(100, 7, newRand())
	parts, err := e.Split(300)
	require.NoError(t, err)
	other := typical(100, 8, newRand())
	others, err := other.Split(300)
	require.NoError(t, err)
	for name, wrong := range map[string][]Event{
		"none":    nil,
		"missing": parts[:1],
		"twice":   {parts[0], parts[0]},
		"order":   {parts[1], parts[0]},
		"mixed":   {parts[0], others[1]},
		"wholes":  {e, e},
	} {
		_, err := Join(wrong)
		require.ErrorIs(t, err, ErrInvalid, name)
	}
}

// Whatever the event, its parts hold what it held, or it is refused.
func TestSplitAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := anyEvent.Draw(t, "event")
		e.Part, e.Parts = 0, 0
		if e.Cursor != nil {
			for i := range e.Cursor.Lines { // as every valid cursor has it
				e.Cursor.Lines[i].Partition = int32(i)
				for j := range e.Cursor.Lines[i].Open {
					e.Cursor.Lines[i].Open[j].ProducerID = int64(j)
				}
			}
		}
		limit := rapid.IntRange(100, 1000).Draw(t, "limit")
		if _, err := e.Split(limit); err != nil {
			require.ErrorIs(t, err, ErrTooLarge)
			return
		}
		requireSplit(t, e, limit)
	})
}
