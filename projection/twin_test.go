package projection_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

func fromManager(ms int64, rows ...ledger.Offset) ledger.Event {
	return ledger.Event{Kind: ledger.KindCommitted, Group: "g", Time: at(ms), NotBefore: at(ms - 20),
		Source: ledger.Source{Kind: ledger.SourceManager, Instance: "m1"}, Offsets: rows}
}

// A manager commits to Kafka and then appends what it did; the tail sees the commit too. It
// is one commit, whichever telling comes first, also when one side runs ahead.
func TestManagerAndTailTellOneCommit(t *testing.T) {
	for name, order := range map[string]string{
		"tail first": "tmtmtm", "manager first": "mtmtmt", "tail runs ahead": "tmtttmmm", "manager runs ahead": "mmmttt",
	} {
		t.Run(name, func(t *testing.T) {
			h := newHistory(t)
			h.add(cursor(500))
			var changes []projection.Change
			told := map[rune]int64{}
			for i, side := range order {
				told[side]++
				ms := 1000 + int64(i)
				if side == 't' {
					changes = append(changes, h.add(commit(ms, row(0, told[side], 40+told[side])))...)
				} else {
					changes = append(changes, h.add(fromManager(ms, row(0, told[side], 0)))...)
				}
			}
			last := max(told['t'], told['m'])
			require.Len(t, changes, int(last))
			for i, c := range changes {
				require.EqualValues(t, i+1, c.To.At)
				require.Equal(t, projection.MovementAdvance, c.Movement)
			}
			h.wants(0, last)
			g, _ := h.state.Group("c", "g")
			require.EqualValues(t, last, g.Statistics.Commits)
		})
	}
}

// The first telling says that another is to come, and the second says which it repeats.
func TestTwinsAreNamed(t *testing.T) {
	h := newHistory(t)
	h.add(cursor(500))
	first := h.add(fromManager(1000, row(0, 5, 0), row(1, 7, 0)))
	require.Len(t, first, 2)
	require.True(t, first[0].Twin)
	require.Empty(t, h.state.Twins())
	seq := first[0].Seq
	twin := func(partition int32, at int64) projection.Twin {
		return projection.Twin{Seq: seq, Group: "g", TopicPartition: ledger.TopicPartition{Topic: "t", Partition: partition}, At: at}
	}
	require.Empty(t, h.add(commit(990, row(1, 7, 44))))
	require.Equal(t, []projection.Twin{twin(1, 7)}, h.state.Twins())
	require.Empty(t, h.add(commit(990, row(0, 5, 45))))
	require.Equal(t, []projection.Twin{twin(0, 5)}, h.state.Twins())
	reset := h.add(tombstone(2000, ledger.CauseDeleted, row(0, 0, 50)))
	require.False(t, reset[0].Twin)
	require.Empty(t, h.state.Twins())

	h = newHistory(t)
	h.add(cursor(500))
	changes := h.add(commit(1000, row(0, 5, 44)))
	require.False(t, changes[0].Twin, "no manager is known yet")
	seq = changes[0].Seq
	require.Empty(t, h.add(fromManager(1010, row(0, 5, 0))))
	require.Equal(t, []projection.Twin{twin(0, 5)}, h.state.Twins())
}

// A manager that starts while the ledger is out of its reach commits to Kafka all the same, and the
// tail tells of it. When it gets through it tells its commits one by one: none of them is new, and
// none goes back, also if the partition has come further or its offset was deleted meanwhile.
func TestAManagerThatGetsThroughLate(t *testing.T) {
	for name, after := range map[string]func(*history){
		"nothing else": func(*history) {},
		"moved on":     func(h *history) { h.add(commit(9000, row(0, 40, 50))) },
		"deleted":      func(h *history) { h.add(tombstone(9000, ledger.CauseDeleted, row(0, 0, 50))) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHistory(t)
			h.add(cursor(500))
			for i := range int64(3) {
				require.Len(t, h.add(commit(1000*i+990, row(0, 10*i+10, i))), 1)
			}
			after(h)
			at, exists := committed(h.state, 0)
			for i := range int64(3) {
				require.Empty(t, h.add(fromManager(1000*i+1000, row(0, 10*i+10, 0))))
			}
			got, still := committed(h.state, 0)
			require.Equal(t, at, got)
			require.Equal(t, exists, still)
			require.Len(t, h.add(fromManager(20_000, row(0, 50, 0))), 1)
			require.Empty(t, h.add(commit(19_990, row(0, 50, 60))))
			h.wants(0, 50)
		})
	}
}

// The times of the tail stand, since the broker's clock is the one that as-of goes by.
func TestTailsTimesStand(t *testing.T) {
	h := newHistory(t)
	h.add(cursor(500))
	h.add(fromManager(1000, row(0, 5, 0)))
	require.Empty(t, h.add(commit(990, row(0, 5, 44))))
	p, _ := h.state.Partition("c", "g", "t", 0)
	require.Equal(t, at(990), p.Effective)
	require.EqualValues(t, 44, p.Position)
	require.Equal(t, ledger.SourceTail, p.Source)
	require.Empty(t, h.add(inTransaction(1100, row(0, 4, 43))), "below the position of the tail's row")
	took, known := func() (any, bool) { g, _ := h.state.Group("c", "g"); return g.Statistics.AverageDuration() }()
	require.True(t, known)
	require.EqualValues(t, 20_000_000, took)
}

// Two equal commits of a manager are two commits of the tail, not one told three times.
func TestRecommitsOfAManager(t *testing.T) {
	h := newHistory(t)
	h.add(cursor(500))
	var n int
	for _, ev := range []ledger.Event{fromManager(1000, row(0, 5, 0)), fromManager(1001, row(0, 5, 0)), commit(1002, row(0, 5, 7)), commit(1003, row(0, 5, 8))} {
		n += len(h.add(ev))
	}
	require.Equal(t, 2, n)
}

func planned(kind ledger.Kind, ms int64, rows ...ledger.Offset) ledger.Event {
	return ledger.Event{Kind: kind, Group: "g", Time: at(ms), Source: ledger.Source{Kind: ledger.SourceOperator},
		Plan: "p7f3a", Actor: "ci-bot", ActorVerified: true, Reason: "reindex CHG-41", Offsets: rows}
}

// A restore appends its intent, commits, and appends the reset. The tail sees the commits:
// they are the reset, with its actor and reason, before or after the reset event.
func TestTailRowsOfAnIntentAreTheReset(t *testing.T) {
	for _, resetFirst := range []bool{false, true} {
		h := newHistory(t)
		h.add(cursor(500))
		h.add(commit(1000, row(0, 100, 0), row(1, 100, 1), row(2, 100, 2)))
		require.Empty(t, h.add(planned(ledger.KindIntent, 2000, row(0, 10, 0), row(1, 20, 0), row(2, 30, 0))))
		reset := planned(ledger.KindReset, 2100, row(0, 10, 0), row(1, 20, 0)) // the third was refused
		var changes []projection.Change
		if resetFirst {
			require.Empty(t, h.add(reset))
		}
		changes = h.add(commit(2050, row(1, 20, 3), row(0, 10, 4)))
		if !resetFirst {
			require.Empty(t, h.add(reset))
		}
		require.Equal(t, moved(projection.MovementReset, projection.MovementReset), movements(changes))
		require.Equal(t, "ci-bot", changes[0].Actor)
		require.True(t, changes[0].ActorVerified)
		require.Equal(t, "reindex CHG-41", changes[0].Reason)
		require.Equal(t, "p7f3a", changes[0].Plan)
		require.Equal(t, projection.WhoOperator, changes[0].Who.Kind)
		require.Equal(t, moved(projection.MovementRewind), movements(h.add(commit(3000, row(2, 30, 5)))), "refused steps explain nothing later")
		require.Equal(t, moved(projection.MovementRecommit), movements(h.add(commit(3001, row(0, 10, 6)))), "a step is taken once")
	}
}

// A restore that deletes offsets appends its intent, deletes, and tells it. The tail sees
// tombstones: they are of the restore, with its actor and reason, before or after it is told, and
// whatever they looked like to capture.
func TestTailTombstonesOfAnIntentAreOfTheRestore(t *testing.T) {
	gone := func(partitions ...int32) (rows []ledger.Offset) {
		for _, p := range partitions {
			rows = append(rows, row(p, -1, 0))
		}
		return rows
	}
	for _, toldFirst := range []bool{false, true} {
		h := newHistory(t)
		h.add(cursor(500))
		h.add(commit(1000, row(0, 100, 0), row(1, 100, 1), row(2, 100, 2), row(3, 100, 3)))
		h.add(planned(ledger.KindIntent, 2000, append(gone(1, 2, 3), row(0, 10, 0))...))
		told := planned(ledger.KindDeleted, 2100, gone(1, 2)...) // the fourth was refused
		told.Cause = ledger.CauseDeleted
		if toldFirst {
			require.Empty(t, h.add(planned(ledger.KindReset, 2100, row(0, 10, 0))))
			require.Empty(t, h.add(told), "the tail tells it")
			h.wants(1, 100)
		}
		changes := h.add(tombstone(2050, ledger.CauseExpired, row(2, 0, 4), row(1, 0, 5)))
		require.Equal(t, moved(projection.MovementDeleted, projection.MovementDeleted), movements(changes))
		for _, ch := range changes {
			require.Equal(t, []string{"ci-bot", "reindex CHG-41", "p7f3a"}, []string{ch.Actor, ch.Reason, ch.Plan})
			require.True(t, ch.ActorVerified)
			require.Equal(t, projection.WhoOperator, ch.Who.Kind)
			require.Equal(t, ledger.CauseDeleted, ch.Cause)
			require.False(t, ch.CauseInferred)
		}
		p, _ := h.state.Partition("c", "g", "t", 1)
		require.Equal(t, ledger.CauseDeleted, p.Cause)
		require.False(t, p.CauseInferred)
		require.Equal(t, at(2050), p.DeletedAt)
		if !toldFirst {
			require.Empty(t, h.add(told))
		}
		require.Equal(t, moved(projection.MovementReset), movements(h.add(commit(2060, row(0, 10, 6)))), "the other kind of step stays")
		later := h.add(tombstone(3000, ledger.CauseDeleted, row(3, 0, 7)))
		require.Empty(t, later[0].Actor, "refused steps explain nothing later")
		h.add(commit(3100, row(1, 5, 8)))
		require.Empty(t, h.add(tombstone(3200, ledger.CauseDeleted, row(1, 0, 9)))[0].Actor, "a step is taken once")
	}
}

// A commit of a negative offset, which brokers take, is not the deletion that an intent speaks of.
func TestANegativeOffsetIsNoDeletion(t *testing.T) {
	h := newHistory(t)
	h.add(cursor(500))
	h.add(commit(1000, row(0, 100, 0)))
	h.add(planned(ledger.KindIntent, 2000, row(0, -1, 0)))
	require.Equal(t, moved(projection.MovementRewind), movements(h.add(commit(2050, row(0, -1, 1)))))
}

// Without a tail whoever deleted tells it.
func TestADeletionWithoutATailFolds(t *testing.T) {
	h := newHistory(t)
	h.add(fromManager(1000, row(0, 100, 0)))
	changes := h.add(planned(ledger.KindDeleted, 2000, row(0, -1, 0)))
	require.Equal(t, moved(projection.MovementDeleted), movements(changes))
	require.Equal(t, "ci-bot", changes[0].Actor)
}

// Whoever goes on with an interrupted restore intends only what is left to do. What was written
// before, and the tail has not come to, is still of the restore.
func TestARestoreThatIsGoneOnWith(t *testing.T) {
	h := newHistory(t)
	h.add(cursor(500))
	h.add(commit(1000, row(0, 100, 0), row(1, 100, 1)))
	h.add(planned(ledger.KindIntent, 2000, row(0, 10, 0), row(1, 20, 0)))
	h.add(planned(ledger.KindIntent, 3000, row(1, 20, 0)))
	require.Equal(t, moved(projection.MovementReset, projection.MovementReset), movements(h.add(commit(3050, row(0, 10, 2), row(1, 20, 3)))))
	other := planned(ledger.KindIntent, 4000, row(1, 30, 0))
	other.Plan = "p8"
	h.add(planned(ledger.KindIntent, 3900, row(0, 5, 0)))
	h.add(other)
	require.Equal(t, moved(projection.MovementRewind), movements(h.add(commit(4050, row(0, 5, 4)))), "another plan is another act")
}

// An intent that a crash left open does not explain what members do much later.
func TestIntentGrowsOld(t *testing.T) {
	h := newHistory(t)
	h.add(cursor(500))
	h.add(commit(1000, row(0, 100, 0)))
	h.add(planned(ledger.KindIntent, 2000, row(0, 10, 0)))
	require.Equal(t, moved(projection.MovementRewind), movements(h.add(commit(2000+3_600_001, row(0, 10, 1)))))
}

// Without a tail the reset event itself is what moves the offsets.
func TestResetWithoutATailFolds(t *testing.T) {
	h := newHistory(t)
	h.add(fromManager(1000, row(0, 100, 0)))
	changes := h.add(planned(ledger.KindReset, 2000, row(0, 10, 0)))
	require.Equal(t, moved(projection.MovementReset), movements(changes))
	require.Equal(t, "ci-bot", changes[0].Actor)
	h.wants(0, 10)
}

// A manager that commits to the ledger alone resets there too, with nothing for the tail to see,
// though the same ledger holds a captured cluster: its reset is what moves the offsets.
func TestResetOfALedgerAloneFoldsBesideATail(t *testing.T) {
	h := newHistory(t)
	h.add(cursor(500))
	h.add(fromManager(1000, row(0, 42, 0)))
	reset := fromManager(2000, row(0, 7, 0))
	reset.Kind, reset.Reason = ledger.KindReset, "reset to offset 7"
	require.Equal(t, moved(projection.MovementReset), movements(h.add(reset)))
	h.wants(0, 7)
}
