package projection_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// ofGroup is a record of one group, with nothing in it.
func ofGroup(seq uint64, cluster, group string) *ledger.Record {
	return &ledger.Record{Seq: seq, Event: ledger.Event{Kind: ledger.KindCommitted, Cluster: cluster, Group: group}}
}

// trailOf notes records of groups that take turns, behind a sequence.
func trailOf(after uint64, n int) *projection.Trail {
	t := projection.NewTrail(after)
	for i := range uint64(n) {
		seq := after + 1 + i
		t.Note(ofGroup(seq, "c", fmt.Sprintf("g%d", seq%3)))
	}
	return t
}

// A trail says of each record whose it is: of its group, of its cluster, of a shard of watermarks.
// Of operators it says nothing.
func TestATrailTellsRecordsApart(t *testing.T) {
	v, trail := projection.NewView(), projection.NewTrail(99)
	v.Leave(trail)
	h := newHistory(t)
	h.add(cursor(1000))
	h.add(commit(1100, row(0, 1, 0)))
	h.add(onLine(3, "other", commit(1200, row(0, 1, 1))))
	h.add(watermarks(1300, 0, 10, 10))
	h.add(commit(1400, row(0, 2, 2)))
	require.NoError(t, v.Run(t.Context(), func(yield func(ledger.Record, error) bool) {
		for _, rec := range h.records {
			if !yield(rec, nil) {
				return
			}
		}
	}))
	p := trail.Of("c", "g")
	require.Equal(t, [2]uint64{0, 5}, [2]uint64{p.After, p.To})
	require.Equal(t, []uint64{2, 5}, p.Group)
	require.Equal(t, []uint64{1}, p.Capture)
	require.Equal(t, []uint64{4}, p.Watermarks[ledger.WatermarkShard("t")])
	require.Equal(t, 5, trail.Size())
	require.Empty(t, trail.Of("d", "g").Group)

	trail.Note(&ledger.Record{Seq: 6, Event: ledger.Event{Kind: ledger.KindOperator, Cluster: "c"}})
	trail.Note(ofGroup(4, "c", "g")) // known already
	require.Equal(t, 5, trail.Size())
	_, to := trail.Range()
	require.EqualValues(t, 6, to)
	trail.Note(ofGroup(9, "c", "g"))
	after, to := trail.Range()
	require.Equal(t, [2]uint64{8, 9}, [2]uint64{after, to}, "behind what it did not see it begins anew")
}

// A trail can be written, cut and joined, and says the same.
func TestTrailsAreCutAndJoined(t *testing.T) {
	whole := trailOf(10, 30)
	early, ok := whole.UpTo(25)
	require.True(t, ok)
	late := trailOf(10, 30)
	late.Cut(25)
	require.Equal(t, trailOf(10, 15).Of("c", "g1"), early.Of("c", "g1"))
	require.Equal(t, trailOf(25, 15).Of("c", "g1"), late.Of("c", "g1"))
	require.False(t, early.Precede(late), "it does not end where the other begins")
	require.True(t, late.Precede(early))
	require.Equal(t, whole.Append(nil), late.Append(nil))
	require.Equal(t, whole.Size(), late.Size())
	for _, to := range []uint64{10, 41} {
		_, ok = whole.UpTo(to)
		require.False(t, ok, "up to %d", to)
	}
	whole.Cut(41)
	require.Equal(t, late.Append(nil), whole.Append(nil), "there is nothing of that")
}

func TestTrailsComeBackAsTheyWereWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trail := projection.NewTrail(rapid.Uint64Range(0, 1<<50).Draw(t, "after"))
		after, _ := trail.Range()
		for i := range uint64(rapid.IntRange(0, 40).Draw(t, "records")) {
			trail.Note(ofGroup(after+1+i, rapid.SampledFrom([]string{"", "c", "\xff"}).Draw(t, "cluster"), rapid.SampledFrom([]string{"", "g", "a/b"}).Draw(t, "group")))
		}
		b := trail.Append(nil)
		got, err := projection.LoadTrail(b)
		require.NoError(t, err)
		require.Equal(t, b, got.Append(nil))
		require.Equal(t, trail.Size(), got.Size())
		require.Equal(t, trail.Of("c", "g"), got.Of("c", "g"))
		_, err = projection.LoadTrail(append(b, 0))
		require.ErrorIs(t, err, ledger.ErrDamaged)
		if n := rapid.IntRange(0, len(b)-1).Draw(t, "cut"); n > 0 {
			_, err = projection.LoadTrail(b[:n])
			require.ErrorIs(t, err, ledger.ErrDamaged)
		}
	})
}

// A list whose steps wrap around, or of a kind that there is not, is refused: it would name the
// places of other records.
func TestTrailsThatMakeNoSense(t *testing.T) {
	written := func(kind, step uint64) []byte {
		b := []byte{10, 40, 1, 1, 'c'} // above 10 up to 40, one list, of cluster c
		b = append(binary.AppendUvarint(b, kind), 1, 'g')
		b = append(b, 2, 5) // two records, the first at 15
		return binary.AppendUvarint(b, step)
	}
	trail, err := projection.LoadTrail(written(0, 3))
	require.NoError(t, err)
	require.Equal(t, []uint64{15, 18}, trail.Of("c", "g").Group)
	for kind, step := range map[uint64]uint64{0: math.MaxUint64 - 1, 1: 0, 2: 26, 3: 3, 256: 3, 1 << 40: 3} {
		_, err := projection.LoadTrail(written(kind, step))
		require.ErrorIs(t, err, ledger.ErrDamaged, "kind %d, step %d", kind, step)
	}
}

// Whatever is in an object, it is read or refused.
func FuzzLoadTrail(f *testing.F) {
	f.Add(trailOf(10, 30).Append(nil))
	f.Add([]byte{})
	f.Add(binary.AppendUvarint([]byte{10, 40, 1, 1, 'c', 0, 1, 'g', 2, 5}, math.MaxUint64-1))
	f.Fuzz(func(t *testing.T, b []byte) {
		trail, err := projection.LoadTrail(b)
		if err != nil {
			require.ErrorIs(t, err, ledger.ErrDamaged)
			return
		}
		again, err := projection.LoadTrail(trail.Append(nil))
		require.NoError(t, err)
		require.Equal(t, trail.Append(nil), again.Append(nil))
	})
}
