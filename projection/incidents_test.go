package projection

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
)

// Of more incidents than are held the oldest are let go, and from when on all are there is said.
func TestIncidentsThatWereLetGoAreNotSilentlyMissing(t *testing.T) {
	s, x := NewState(), NewIncidents()
	x.limit = 20
	seq := uint64(0)
	commit := func(ms, at int64) {
		seq++
		_, err := s.Apply(ledger.Record{Seq: seq, Event: ledger.Event{
			Kind: ledger.KindCommitted, Cluster: "c", Group: "g", Time: ledger.AtMillis(ms),
			Source:  ledger.Source{Kind: ledger.SourceTail, Partition: 3, Offset: ms},
			Offsets: []ledger.Offset{{Topic: "t", At: at, SourceOffset: ms}},
		}})
		require.NoError(t, err)
		x.Apply(s, &s.rec, s.changes)
	}
	for i := range int64(30) {
		commit(i*10_000, 100)
		if i == 20 {
			_, missing := x.Since()
			require.False(t, missing)
		}
		commit(i*10_000+5000, 50) // a rewind
	}
	var held []ledger.Time
	for in := range x.All("c") {
		held = append(held, in.Time)
	}
	require.Len(t, held, 20)
	require.Equal(t, ledger.AtMillis(295_000), held[0])
	since, missing := x.Since()
	require.True(t, missing)
	require.Equal(t, ledger.AtMillis(95_000), since)
	require.Equal(t, ledger.AtMillis(105_000), held[19], "the first after it")
	require.Empty(t, x.Find(2))
	require.Len(t, x.Find(60), 1)
	require.False(t, x.Keeps(since))
	require.False(t, x.Keeps(since.Add(sameAct)), "it can be part of one that was let go")
	require.True(t, x.Keeps(since.Add(sameAct+time.Millisecond)))
	require.True(t, NewIncidents().Keeps(ledger.AtMillis(1)))
}
