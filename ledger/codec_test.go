package ledger

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// encoded is AppendBinary of an event that has few enough rows.
func encoded(t require.TestingT, e Event) []byte {
	b, err := e.AppendBinary(nil)
	require.NoError(t, err)
	return b
}

// What is written is what is read, of every kind and with every value a field can have; the
// one encoding of an event is stable; and the copy is equal.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := anyEvent.Draw(t, "event")
		b := encoded(t, e)
		back, err := Decode(b)
		require.NoError(t, err)
		require.Equal(t, e, back)
		require.Equal(t, b, encoded(t, back))
		require.Equal(t, e, e.Clone())
	})
}

// Appending leaves what was there before it alone.
func TestAppendBinaryAppends(t *testing.T) {
	e := goldenEvents()["committed"]
	b, err := e.AppendBinary([]byte("before"))
	require.NoError(t, err)
	require.Equal(t, "before", string(b[:6]))
	require.Equal(t, encoded(t, e), b[6:])
}

// A decoder that has decoded other events before decodes as a new one does, and neither the
// bytes nor the next event can change what was cloned.
func TestDecoderReusesNothingThatShows(t *testing.T) {
	var d Decoder
	var e Event
	rapid.Check(t, func(t *rapid.T) {
		want := anyEvent.Draw(t, "event")
		b := encoded(t, want)
		require.NoError(t, d.Decode(b, &e))
		kept := e.Clone()
		clear(b)
		require.NoError(t, d.Decode(encoded(t, goldenEvents()["committed"]), &e))
		kept.Offsets, kept.Updates, kept.Before = orNone(kept.Offsets), orNone(kept.Updates), orNone(kept.Before)
		require.Equal(t, want, kept)
	})
}

func orNone(rows []Offset) []Offset {
	if len(rows) == 0 {
		return nil
	}
	return rows
}

// The tables of known strings stay bounded however many go by, and never confuse two.
func TestInternedIsBounded(t *testing.T) {
	var n names
	var x texts
	b := make([]byte, 8)
	for i := range 3 * maxNames {
		b[0], b[1], b[2] = byte(i), byte(i>>8), byte(i>>16)
		require.Equal(t, string(b), n.of(b))
		require.Equal(t, string(b), x.of(b))
		require.Equal(t, string(b), x.of(b))
	}
	long := make([]byte, maxInternedLen+1)
	require.Equal(t, string(long), n.of(long))
	require.Equal(t, string(long), x.of(long))
	require.LessOrEqual(t, len(n.table), maxNames)
	require.NotContains(t, n.table, string(long))
	require.NotContains(t, x.table, string(long))
}

// One row that differs in one thing, or in two by the same bits, is seen, wherever it stands.
func TestColumnsVaryAlone(t *testing.T) {
	differ := []func(o *Offset){
		func(o *Offset) { o.Topic = "other" },
		func(o *Offset) { o.TopicID[15] ^= 1 },
		func(o *Offset) { o.Partition ^= 1 },
		func(o *Offset) { o.LeaderEpoch.plusOne ^= 1 },
		func(o *Offset) { o.At ^= 1 },
		func(o *Offset) { o.Metadata = "m" },
		func(o *Offset) { o.CommitTime.biased ^= 1 },
		func(o *Offset) { o.ExpireTime.biased ^= 1 },
		func(o *Offset) { o.Effective.biased ^= 1 },
		func(o *Offset) { o.SourceOffset ^= 1 },
		func(o *Offset) { o.ErrorCode ^= 1 },
		func(o *Offset) { o.Flags ^= 1 },
	}
	for at := range 3 {
		for i := range differ {
			for j := range differ {
				e := golden(KindCommitted, "billing")
				e.Offsets = []Offset{{Topic: "t", Metadata: "k"}, {Topic: "t", Metadata: "k"}, {Topic: "t", Metadata: "k"}}
				differ[i](&e.Offsets[at])
				differ[j](&e.Offsets[at])
				back, err := Decode(encoded(t, e))
				require.NoError(t, err)
				require.Equal(t, e, back, "row %d, fields %d and %d", at, i, j)
			}
		}
	}
}
