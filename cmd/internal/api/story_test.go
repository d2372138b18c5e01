package api

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/offsetledger/offsetledger/projection"
)

// Whether its events fit or not, a keeper shows the same: the newest ones, or those next to a
// sequence; and it never holds more rows than it may.
func TestAKeeperShowsTheSameWhetherItIsFullOrNot(t *testing.T) {
	changes := make([]projection.Change, 15000)
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.SampledFrom([]int{1, 10, 900, 6000, 15000}), 0, 40).Draw(t, "sizes")
		limit := rapid.IntRange(0, 12).Draw(t, "limit")
		around := rapid.Uint64Range(0, 45).Draw(t, "around")
		k := (&selection{q: Query{Limit: &limit, Around: around}}).keeper()
		var want []uint64
		before, from := 0, 0
		for i, size := range sizes {
			seq := uint64(i + 1)
			k.add(event{seq: seq, changes: changes[:size]})
			require.LessOrEqual(t, k.rows, mostKept)
			switch {
			case around == 0 || seq < around:
				want = append(want, seq)
				if before++; before > k.before {
					want, before = want[1:], before-1
				}
			case from < k.from:
				want = append(want, seq)
				from++
			}
		}
		var got []uint64
		if k.full {
			skip, shown := k.window()
			for i := range shown {
				got = append(got, uint64(skip+i+1))
			}
		} else {
			for _, e := range k.get() {
				require.Len(t, e.changes, sizes[e.seq-1])
				got = append(got, e.seq)
			}
		}
		require.Equal(t, len(want), len(got))
		for i := range want {
			require.Equal(t, want[i], got[i])
		}
	})
}
