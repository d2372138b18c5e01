package projection_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// randomHistory draws commits, tombstones and transactions of a few keys, positions given in
// log order, with group records and watermarks in between.
func randomHistory(t *rapid.T) []ledger.Record {
	var recs []ledger.Record
	position, ms := int64(0), int64(1000)
	var pending []ledger.Offset // rows of one open transaction
	groups := []string{"a", "b"}
	for range rapid.IntRange(1, 60).Draw(t, "events") {
		ms += rapid.Int64Range(0, 2000).Draw(t, "pause")
		rows := func() []ledger.Offset {
			var out []ledger.Offset
			for _, p := range rapid.SliceOfNDistinct(rapid.Int32Range(0, 3), 1, 3, rapid.ID).Draw(t, "partitions") {
				out = append(out, ledger.Offset{Topic: "t", Partition: p, At: rapid.Int64Range(0, 20).Draw(t, "at"), SourceOffset: position, Effective: at(ms)})
				position++
			}
			return out
		}
		var ev ledger.Event
		switch rapid.IntRange(0, 6).Draw(t, "kind") {
		case 0, 1, 2:
			ev = commit(ms, rows()...)
		case 3:
			ev = tombstone(ms, ledger.CauseDeleted, rows()...)
		case 4:
			pending = append(pending, rows()...)
			continue
		case 5:
			if len(pending) == 0 {
				continue
			}
			ev = inTransaction(ms, pending...)
			for i := range ev.Offsets {
				ev.Offsets[i].Effective = at(ms)
			}
			pending = nil
		case 6:
			ev = classic(ms, 2, member("m", 0))
		}
		ev.Cluster, ev.Group = "c", "a"
		if !ev.Source.Transactional {
			ev.Group = rapid.SampledFrom(groups).Draw(t, "group")
		}
		recs = append(recs, ledger.Record{Seq: uint64(len(recs) + 1), Event: ev})
	}
	return recs
}

// naive folds with nothing but maps: what is readable is the row that applied last, and a
// transactional row applies only above the position that applied before.
func naive(recs []ledger.Record) map[string]int64 {
	values, positions := map[string]int64{}, map[string]int64{}
	for _, rec := range recs {
		for _, r := range rec.Event.Offsets {
			key := fmt.Sprint(rec.Event.Group, r.Partition)
			last, placed := positions[key]
			if rec.Event.Source.Transactional && placed && r.SourceOffset <= last {
				continue
			}
			positions[key] = r.SourceOffset
			if rec.Event.Kind == ledger.KindDeleted {
				delete(values, key)
			} else {
				values[key] = r.At
			}
		}
	}
	return values
}

func readable(s *projection.State) map[string]int64 {
	out := map[string]int64{}
	for _, g := range s.Groups("c") {
		for _, p := range s.Partitions("c", g.Name) {
			if p.Committed.Exists {
				out[fmt.Sprint(g.Name, p.Partition)] = p.Committed.At
			}
		}
	}
	return out
}

func TestFoldAgainstMaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		recs := randomHistory(t)
		s := projection.NewState()
		values := map[string]projection.Value{}
		for i, rec := range recs {
			changes, err := s.Apply(rec)
			require.NoError(t, err)
			for _, c := range changes {
				// Changes of a key join: each begins where the one before ended.
				key := fmt.Sprint(c.Group, c.Partition)
				require.Equal(t, values[key], c.From)
				values[key] = c.To
				require.NotNil(t, c.Who)
				require.NotEqual(t, projection.MovementNone, c.Movement)
			}
			require.Equal(t, naive(recs[:i+1]), readable(s))
		}
	})
}

// Folding in pieces, with repetitions of what was folded before, gives what one go gives.
func TestFoldInPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		recs := randomHistory(t)
		whole, pieces := projection.NewState(), projection.NewState()
		for _, rec := range recs {
			_, err := whole.Apply(rec)
			require.NoError(t, err)
		}
		for done := 0; done < len(recs); {
			again := rapid.IntRange(0, done).Draw(t, "again")
			end := rapid.IntRange(done+1, len(recs)).Draw(t, "end")
			for i, rec := range recs[again:end] {
				changes, err := pieces.Apply(rec)
				require.NoError(t, err)
				if again+i < done {
					require.Empty(t, changes)
				}
			}
			done = end
		}
		require.Equal(t, whole.Groups("c"), pieces.Groups("c"))
		for _, g := range whole.Groups("c") {
			require.Equal(t, whole.Partitions("c", g.Name), pieces.Partitions("c", g.Name))
		}
	})
}

// As of T is the fold of exactly the rows up to T, wherever they stand in the log.
func TestFoldUpToAMoment(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		recs := randomHistory(t)
		until := at(rapid.Int64Range(0, 60_000).Draw(t, "until"))
		got, want := projection.NewState(), projection.NewState()
		for _, rec := range recs {
			err := got.ApplyUpTo(rec, until)
			require.NoError(t, err)
			if rec.Event.Time.After(until) {
				want.Skip(rec.Seq)
				continue
			}
			_, err = want.Apply(rec)
			require.NoError(t, err)
		}
		require.Equal(t, readable(want), readable(got))
		require.Equal(t, want.Seq(), got.Seq())
	})
}

func TestApplyRefusesAHole(t *testing.T) {
	s := projection.NewState()
	_, err := s.Apply(record(2, 1000, 1))
	require.ErrorIs(t, err, ledger.ErrMissing)
	require.Zero(t, s.Seq())
	s.Skip(1)
	changes, err := s.Apply(record(2, 1000, 1))
	require.NoError(t, err)
	require.Len(t, changes, 1)
	s.Skip(1)
	require.EqualValues(t, 2, s.Seq())
}
