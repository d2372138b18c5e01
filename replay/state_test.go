package replay_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/replay"
)

func stateAt(t require.TestingT, r replay.Reader, p replay.Point, sc replay.Scope) *projection.State {
	s, err := replay.StateAt(context.Background(), r, p, sc)
	require.NoError(t, err)
	return s
}

func offsetAt(t *testing.T, r replay.Reader, ms int64) projection.Value {
	t.Helper()
	p, _ := stateAt(t, r, replay.Point{Time: millis(ms)}, replay.OfGroup("c", "g")).Partition("c", "g", "t", 0)
	return p.Committed
}

const hour = 3_600_000

// JetStream stamps records when they arrive. After a back-fill at 18:00 all of them carry
// that stamp, and after a pause of capture those of an hour do; the answer goes by the time
// in the events.
func TestNAT05EventTimeIsNotStreamTime(t *testing.T) {
	t.Run("back-fill", func(t *testing.T) {
		var log memory
		for i := range int64(3) {
			log.add(18*hour, commit("g", (9+i)*hour, row(0, 9+i, i, (9+i)*hour)))
		}
		log.add(18*hour, cursor(18*hour, 18*hour-1000))
		require.Equal(t, projection.Value{At: 10, Exists: true}, offsetAt(t, log, 10*hour+hour/2))
	})
	t.Run("capture was away", func(t *testing.T) {
		var log memory
		log.add(0, commit("g", 9*hour, row(0, 1, 0, 9*hour)), cursor(10*hour, 10*hour-1000))
		const back = 11*hour + hour/12
		log.add(back, commit("g", 10*hour+hour/3, row(0, 2, 1, 10*hour+hour/3)), commit("g", 10*hour+2*hour/3, row(0, 3, 2, 10*hour+2*hour/3)))
		log.add(back, cursor(back, back-1000))
		require.Equal(t, projection.Value{At: 2, Exists: true}, offsetAt(t, log, 10*hour+hour/2))
		require.Equal(t, projection.Value{At: 3, Exists: true}, offsetAt(t, log, back))
	})
}

// Reading for a time ends where capture proves that nothing before it can follow: not at the
// first later row, and not at the end of the log.
func TestReadingEndsWhereCursorsPassTheMoment(t *testing.T) {
	var log memory
	log.add(0, commit("g", 1000, row(0, 1, 0, 1000)), commit("g", 5000, row(0, 2, 1, 5000)))
	log.add(6000, commit("g", 3000, row(1, 7, 2, 3000)), cursor(6000, 3000), cursor(6100, 3001))
	log.add(0, commit("g", 7000, row(0, 3, 3, 7000)))
	s := stateAt(t, log, replay.Point{Time: millis(3000)}, replay.OfGroup("c", "g"))
	require.EqualValues(t, 5, s.Seq())
	for partition, want := range []int64{1, 7} {
		p, ok := s.Partition("c", "g", "t", int32(partition))
		require.True(t, ok)
		require.Equal(t, want, p.Committed.At)
	}
	require.EqualValues(t, len(log), stateAt(t, log, replay.Point{Time: millis(3000)}, replay.Scope{}).Seq())
}

// A group with the empty id is a group like any other.
func TestCAP12EmptyGroupID(t *testing.T) {
	var log memory
	log.add(0, commit("", 1000, row(3, 5, 0, 1000)), commit("g", 1000, row(3, 9, 1, 1000)))
	p, ok := stateAt(t, log, replay.Point{}, replay.OfGroup("c", "")).Partition("c", "", "t", 3)
	require.True(t, ok)
	require.EqualValues(t, 5, p.Committed.At)
}

func TestPointsThatCannotBe(t *testing.T) {
	var log memory
	_, err := replay.StateAt(t.Context(), log, replay.Point{Seq: 1}, replay.Scope{})
	require.ErrorIs(t, err, replay.ErrAhead)
	_, err = replay.StateAt(t.Context(), log, replay.Point{Checkpoint: "x"}, replay.Scope{})
	require.ErrorContains(t, err, "not resolved")
	require.Zero(t, stateAt(t, log, replay.Point{}, replay.Scope{}).Seq())
}

func TestResolve(t *testing.T) {
	var log memory
	mark := func(ms int64, name string) ledger.Event {
		return ledger.Event{Kind: ledger.KindCheckpoint, Cluster: "c", Group: "g", Time: millis(ms), Source: ledger.Source{Kind: ledger.SourceManager},
			Checkpoint: &ledger.Checkpoint{Name: name}}
	}
	log.add(0, commit("g", 1000, row(0, 1, 0, 1000)), mark(2000, "a"), mark(3000, "b"), mark(3000, "a"), commit("g", 4000, row(0, 2, 1, 4000)))
	sc := replay.OfGroup("c", "g")
	for ms, want := range map[int64]uint64{1000: 1, 1999: 1, 3000: 4, 9000: 5} {
		p, err := replay.Resolve(t.Context(), log, replay.Point{Appended: millis(ms)}, sc)
		require.NoError(t, err)
		require.Equal(t, replay.Point{Seq: want}, p)
	}
	_, err := replay.Resolve(t.Context(), log, replay.Point{Appended: millis(999)}, sc)
	require.ErrorContains(t, err, "begins later")
	p, err := replay.Resolve(t.Context(), log, replay.Point{Checkpoint: "a"}, sc)
	require.NoError(t, err)
	require.Equal(t, replay.Point{Seq: 4}, p)
	_, err = replay.Resolve(t.Context(), log, replay.Point{Checkpoint: "c"}, sc)
	require.ErrorIs(t, err, replay.ErrNoCheckpoint)
	_, err = replay.Resolve(t.Context(), log, replay.Point{Checkpoint: "a"}, replay.OfCluster("c"))
	require.ErrorContains(t, err, "belongs to a group")
}

// randomLog draws a log as capture writes one: rows can be stored long after their time, but
// not before the moment that a cursor had passed.
func randomLog(t *rapid.T) memory {
	var log memory
	now, through, effective, position := int64(1000), int64(0), int64(500), int64(0)
	for range rapid.IntRange(1, 50).Draw(t, "events") {
		now += rapid.Int64Range(1, 1000).Draw(t, "pause")
		group := rapid.SampledFrom([]string{"g", "h", ""}).Draw(t, "group")
		switch rapid.IntRange(0, 6).Draw(t, "kind") {
		case 0:
			through = max(through, min(now-10, rapid.Int64Range(effective, effective+2000).Draw(t, "through")))
			log.add(now, cursor(now, through))
		case 1:
			log.add(now, watermarks(now, rapid.Int64Range(0, 100).Draw(t, "end")))
		case 2:
			log.add(now, ledger.Event{Kind: ledger.KindGroup, Cluster: "c", Group: group, Time: millis(max(effective, through)),
				Source:     ledger.Source{Kind: ledger.SourceTail, Partition: 3},
				Membership: &ledger.Membership{Type: ledger.GroupTypeClassic, RecordType: 2, Generation: 1, Protocol: "range"}})
		default:
			effective = max(effective, through, min(now, effective+rapid.Int64Range(0, 1500).Draw(t, "step")))
			ev := commit(group, effective, row(rapid.Int32Range(0, 2).Draw(t, "partition"), rapid.Int64Range(0, 99).Draw(t, "at"), position, effective))
			if rapid.IntRange(0, 4).Draw(t, "delete") == 0 {
				ev.Kind, ev.Cause = ledger.KindDeleted, ledger.CauseDeleted
			}
			position++
			log.add(now, ev)
		}
	}
	return log
}

// What a state says of a group, all of it.
func said(s *projection.State, group string) []any {
	g, ok := s.Group("c", group)
	cov, _ := s.Coverage("c")
	marks, observed := s.Watermark("c", "t", 0)
	return []any{g, ok, s.Partitions("c", group), s.TotalLag("c", group), marks, observed, cov.Through, len(cov.Lines)}
}

// The state of one group by a filtered read is what the state of everything says of it, for
// every sequence and every moment; and where reading ends changes nothing.
func TestOneGroupIsWhatAllSayOfIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := randomLog(t)
		seq := replay.Point{Seq: rapid.Uint64Range(1, uint64(len(log))).Draw(t, "seq")}
		moment := replay.Point{Time: millis(rapid.Int64Range(0, 60_000).Draw(t, "time"))}
		for _, p := range []replay.Point{seq, moment} {
			whole := stateAt(t, log, p, replay.OfCluster("c"))
			for _, group := range []string{"g", "h", ""} {
				one := stateAt(t, log, p, replay.OfGroup("c", group))
				require.Equal(t, said(whole, group), said(one, group))
				require.Equal(t, whole.Seq(), one.Seq())
			}
		}
		short, long := stateAt(t, log, moment, replay.OfCluster("c")), stateAt(t, log, moment, replay.Scope{})
		for _, group := range []string{"g", "h", ""} {
			require.Equal(t, said(long, group)[:6], said(short, group)[:6])
		}
	})
}

// The same on a real log, and the history of it.
func TestReplayOfARealLog(t *testing.T) {
	log := newLog(t)
	var made memory
	for i := range int64(20) {
		made.add(0, commit("g", 1000+i, row(0, i%7, i, 1000+i)), commit("h", 1000+i, row(0, i, i, 1000+i)))
	}
	for _, rec := range made {
		_, err := log.Append(t.Context(), []ledger.Event{rec.Event})
		require.NoError(t, err)
	}
	for _, p := range []replay.Point{{}, {Seq: 17}, {Time: millis(1011)}} {
		for _, sc := range []replay.Scope{{}, replay.OfCluster("c"), replay.OfGroup("c", "g")} {
			got, want := stateAt(t, log, p, sc), stateAt(t, made, p, sc)
			require.Equal(t, want.Partitions("c", "g"), got.Partitions("c", "g"))
			require.Equal(t, want.Seq(), got.Seq())
		}
	}
	var rewinds []uint64
	h := replay.NewHistory(replay.OfGroup("c", "g"))
	for step, err := range h.Tell(log.Read(t.Context(), 1, 40, h.Filter())) {
		require.NoError(t, err)
		for _, c := range step.Changes {
			if c.Movement == projection.MovementRewind {
				rewinds = append(rewinds, c.Seq)
			}
		}
		require.Equal(t, step.Record.Seq, step.State.Seq())
	}
	require.Equal(t, []uint64{15, 29}, rewinds)
}

// Records were removed before they were read. That one of them had deleted an offset is found
// out by asking the coordinators, and recorded long after the moment asked for: reading as of
// then goes on until it is known.
func TestReadingGoesOnUntilAHoleIsSettled(t *testing.T) {
	var log memory
	hole := cursor(9000, 8900)
	hole.Cursor.Lines[0].Hole = &ledger.Hole{First: 3, Last: 7, Until: 20, From: millis(2000)}
	gone := commit("g", 9050, ledger.Offset{Topic: "t", Effective: millis(9050)})
	gone.Kind, gone.Source.Kind, gone.NotBefore = ledger.KindDeleted, ledger.SourceReconcile, millis(2000)
	log.add(0, commit("g", 1500, row(0, 5, 0, 1500)), hole, gone, cursor(9100, 9100), commit("h", 9200, row(0, 5, 9, 9200)))
	s := stateAt(t, log, replay.Point{Time: millis(3000)}, replay.OfGroup("c", "g"))
	p, ok := s.Partition("c", "g", "t", 0)
	require.True(t, ok)
	require.Equal(t, &projection.Interval{From: millis(2000), To: millis(9050)}, p.Unsure)
	require.EqualValues(t, 4, s.Seq())
}
