package projection_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// manyRows are rows of n partitions of two topics, in order; every tenth is replaced by a later
// one of its transaction, every seventh comes true later than the others.
func manyRows(n int, transactional bool) []ledger.Offset {
	var rows []ledger.Offset
	for i := range n {
		r := ledger.Offset{Topic: []string{"t", "u"}[i%2], Partition: int32(i * 3), At: int64(1000 + i), SourceOffset: int64(i), Effective: at(1000)}
		if i%7 == 0 {
			r.Effective = at(2000)
		}
		if transactional && i%10 == 0 {
			r.Flags = ledger.FlagReplaced
		}
		rows = append(rows, r)
	}
	return rows
}

func foldOf(t require.TestingT, until ledger.Time, events ...ledger.Event) *projection.State {
	s := projection.NewState()
	for i := range events {
		rec := ledger.Record{Seq: uint64(i + 1), Appended: time.UnixMilli(5000), Event: events[i]}
		rec.Event.Cluster = "c"
		require.NoError(t, s.ApplyUpTo(rec, until))
	}
	return s
}

// An event with thousands of partitions that are new to its group does the same in whatever order
// its rows stand: also to a group that has others, as a tombstone, in a transaction, and up to a
// moment at which some of the rows are still to come.
func TestTheOrderOfNewPartitionsMakesNoDifference(t *testing.T) {
	before := tail(ledger.KindCommitted, 500, manyRows(2000, false)...)
	for i := range before.Offsets {
		before.Offsets[i].Partition++
		before.Offsets[i].Effective = at(500)
	}
	for name, kind := range map[string]func(rows []ledger.Offset) ledger.Event{
		"commit":      func(rows []ledger.Offset) ledger.Event { return commit(2000, rows...) },
		"tombstones":  func(rows []ledger.Offset) ledger.Event { return tombstone(2000, ledger.CauseDeleted, rows...) },
		"transaction": func(rows []ledger.Offset) ledger.Event { return inTransaction(2000, rows...) },
	} {
		for _, until := range []ledger.Time{{}, at(1500)} {
			t.Run(name+" until "+until.String(), func(t *testing.T) {
				rows := manyRows(5000, name == "transaction")
				shuffled := slices.Clone(rows)
				rand.New(rand.NewPCG(1, 2)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
				want, got := foldOf(t, until, before, kind(rows)), foldOf(t, until, before, kind(shuffled))
				parts := want.Partitions("c", "g")
				require.Greater(t, len(parts), 5000)
				require.Equal(t, parts, got.Partitions("c", "g"))
				one, _ := want.Group("c", "g")
				other, _ := got.Group("c", "g")
				require.Equal(t, one, other)
			})
		}
	}
}

// BenchmarkNewPartitions folds one event of 40,000 partitions that its group did not have. The
// figure is how many times longer a random order takes than the order of the partitions.
func BenchmarkNewPartitions(b *testing.B) {
	rows := make([]ledger.Offset, 40_000)
	id := uuid.NewSHA1(uuid.Nil, []byte("t"))
	for i := range rows {
		rows[i] = ledger.Offset{Topic: "t", TopicID: id, Partition: int32(i), At: 7, SourceOffset: int64(i), Effective: at(1000)}
	}
	shuffled := slices.Clone(rows)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	var ordered, random time.Duration
	for b.Loop() {
		for _, of := range []struct {
			rows []ledger.Offset
			took *time.Duration
		}{{rows, &ordered}, {shuffled, &random}} {
			began := time.Now()
			foldOf(b, ledger.Time{}, commit(1000, of.rows...))
			*of.took += time.Since(began)
		}
	}
	b.ReportMetric(float64(random)/float64(ordered), "random/ordered")
}
