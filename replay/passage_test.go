package replay_test

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/replay"
)

func (m memory) Pick(_ context.Context, seqs []uint64) iter.Seq2[ledger.Record, error] {
	return func(yield func(ledger.Record, error) bool) {
		for _, seq := range seqs {
			if !yield(m[seq-1], nil) {
				return
			}
		}
	}
}

// kept is a ledger as a daemon keeps it: a view follows the log and leaves a trail, and snapshots
// are taken of it.
type kept struct {
	log       memory
	store     *objects
	view      *projection.View
	trail     *projection.Trail
	snapshots *replay.Snapshots
	warned    *strings.Builder
}

func keep(t require.TestingT, log memory) *kept {
	k := &kept{log: log, store: newObjects()}
	k.restart(t)
	return k
}

// restart begins with the newest snapshot.
func (k *kept) restart(t require.TestingT) {
	k.view, k.trail, k.warned = projection.NewView(), projection.NewTrail(0), &strings.Builder{}
	k.view.Leave(k.trail)
	var err error
	k.snapshots, err = replay.OpenSnapshots(context.Background(), replay.SnapshotConfig{
		Store: k.store, Incarnation: thisStream, Logger: slog.New(slog.NewTextHandler(k.warned, nil)), Trail: k.trail, Pick: k.log.Pick})
	require.NoError(t, err)
	st, in, ok, err := k.snapshots.Newest(context.Background(), k.log)
	require.NoError(t, err)
	if ok {
		k.view.Resume(st, in)
	}
}

func (k *kept) follow(t require.TestingT, to int) {
	require.NoError(t, k.view.Run(context.Background(), k.log.Read(context.Background(), k.view.Seq()+1, uint64(to), ledger.Filter{})))
}

func (k *kept) take(t require.TestingT, taken time.Time) replay.Manifest {
	m, err := k.snapshots.Take(context.Background(), replay.Taking{Read: k.view.ReadIncidents, Now: taken, LogBytes: k.view.Seq()})
	require.NoError(t, err)
	return m
}

// takeAt takes a snapshot after each of so many records.
func (k *kept) takeAt(t require.TestingT, records ...int) {
	for _, n := range records {
		k.follow(t, n)
		k.take(t, time.UnixMilli(int64(n)))
	}
}

// tenGroups are twoHundred records of ten groups by turns.
func tenGroups() memory {
	log := twoHundred()
	for i := range log {
		log[i].Event.Group = fmt.Sprint("group-", i%10)
	}
	return log
}

// live lets a ledger go through its life up to some sequence: it is followed, snapshots are taken,
// thinned and deleted, lists are damaged, and it is started again.
func (k *kept) live(t *rapid.T) {
	at, now := 0, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, step := range rapid.SliceOfN(rapid.IntRange(0, 9), 0, 8).Draw(t, "life") {
		now = now.Add(time.Duration(rapid.IntRange(1, 20).Draw(t, "hours")) * time.Hour)
		switch list := k.snapshots.List(); {
		case step == 9:
			k.restart(t)
			at = int(k.view.Seq())
		case step == 8 && len(list) > 0:
			m := rapid.SampledFrom(list).Draw(t, "deleted")
			require.NoError(t, k.snapshots.Delete(context.Background(), m.ID()))
		case step == 7 && len(list) > 0:
			m := rapid.SampledFrom(list).Draw(t, "damaged")
			name := m.ID() + "/events"
			if b := k.store.all[name]; b != nil {
				b[len(b)-1] ^= 1
			}
		default:
			at = rapid.IntRange(at, len(k.log)).Draw(t, "to")
			k.follow(t, at)
			if step > 2 && at > 0 {
				k.take(t, now)
			}
		}
	}
}

// widely draws a log of several clusters and topics, which are made anew and deleted.
func widely(t *rapid.T) memory {
	log := randomLog(t)
	for i := range log {
		ev := &log[i].Event
		if rapid.IntRange(0, 5).Draw(t, "other") == 0 {
			ev.Cluster = "d"
		}
		topic := rapid.SampledFrom([]string{"t", "t", "u", "orders", "payments"}).Draw(t, "topic")
		for j := range ev.Offsets {
			ev.Offsets[j].Topic = topic
		}
		if ev.Kind != ledger.KindWatermarks {
			continue
		}
		if rapid.IntRange(0, 3).Draw(t, "topic event") == 0 {
			*ev = ledger.Event{Kind: ledger.KindTopic, Cluster: ev.Cluster, Topic: topic, Time: ev.Time, Source: ev.Source,
				TopicInfo: &ledger.TopicInfo{TopicID: uuid.UUID{byte(i)}, Partitions: 3, Deleted: i%3 == 0, Recreated: i%3 == 1}}
			continue
		}
		w := *ev.Watermarks
		w.Shard, w.Rows = ledger.WatermarkShard(topic), []ledger.Watermark{w.Rows[0]}
		w.Rows[0].Topic = topic
		ev.Watermarks = &w
	}
	return log
}

// promised is what a scope promises of a state: of a group, not the topics that it has no offsets in.
func promised(s *projection.State, cluster, group string) map[string]string {
	all := bytesOf(s)
	out := map[string]string{"seq": all["seq"]}
	for _, key := range []string{cluster + " capture", cluster + " group " + group} {
		out[key] = all[key]
	}
	for topic := range s.TopicsOf(cluster, group) {
		key := fmt.Sprintf("%s topics %d", cluster, ledger.WatermarkShard(topic))
		out[key] = all[key]
	}
	return out
}

// What is listed of a group's events is all that there is: with any snapshots, lists and trail, and
// without them, the state of a group is the same to the last byte.
func TestListedEventsGiveTheSameState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := keep(t, widely(t))
		k.live(t)
		points := []replay.Point{
			{}, {Seq: rapid.Uint64Range(1, uint64(len(k.log))).Draw(t, "seq")},
			{Time: millis(rapid.Int64Range(0, 60_000).Draw(t, "time"))}, {Time: k.log[len(k.log)-1].Event.Time},
		}
		for _, p := range points {
			for _, of := range [][2]string{{"c", "g"}, {"c", ""}, {"d", "h"}} {
				sc := replay.OfGroup(of[0], of[1])
				got, err := k.snapshots.StateAt(context.Background(), k.log, p, sc)
				require.NoError(t, err)
				require.Equal(t, promised(stateAt(t, k.log, p, sc), of[0], of[1]), promised(got, of[0], of[1]), "at %s", p)
			}
		}
	})
}

// committedNaively goes through a log with nothing but a map: what a group has committed is what its last
// row said that is in time.
func committedNaively(log memory, p replay.Point, cluster, group string) map[ledger.TopicPartition]int64 {
	out := map[ledger.TopicPartition]int64{}
	for _, rec := range log {
		ev := &rec.Event
		if p.Seq > 0 && rec.Seq > p.Seq || ev.Cluster != cluster || ev.Group != group {
			continue
		}
		for _, r := range ev.Offsets {
			switch tp := (ledger.TopicPartition{Topic: r.Topic, Partition: r.Partition}); {
			case p.Time.Known() && r.Effective.After(p.Time):
			case ev.Kind == ledger.KindDeleted:
				delete(out, tp)
			default:
				out[tp] = r.At
			}
		}
	}
	return out
}

// A thousand random histories: at every sequence, and at as many moments, the state is what a naive
// model says, with random sets of snapshots.
func TestThousandHistoriesEqualANaiveModel(t *testing.T) {
	const each = 100 // histories of one check
	for n := range 10 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			checked := 0
			rapid.Check(t, func(t *rapid.T) {
				checked++
				k := keep(t, widely(t))
				k.live(t)
				for seq := uint64(1); seq <= uint64(len(k.log)); seq++ {
					moment := millis(rapid.Int64Range(0, 30_000).Draw(t, "moment"))
					for _, p := range []replay.Point{{Seq: seq}, {Time: moment}} {
						got, err := k.snapshots.StateAt(context.Background(), k.log, p, replay.OfGroup("c", "g"))
						require.NoError(t, err)
						has := map[ledger.TopicPartition]int64{}
						for _, part := range got.Partitions("c", "g") {
							if part.Committed.Exists {
								has[ledger.TopicPartition{Topic: part.Topic, Partition: part.Partition}] = part.Committed.At
							}
						}
						require.Equal(t, committedNaively(k.log, p, "c", "g"), has, "at %s", p)
					}
				}
			})
			if !testing.Short() { // then fewer will do
				require.GreaterOrEqual(t, checked, each)
			}
		})
	}
}

// Of 200 commits the lists of three snapshots and the trail join: what is asked of one group reads
// that group's records and no others, also after a snapshot in between has gone.
func TestAQuestionAboutOneGroupReadsItsOwnEvents(t *testing.T) {
	log := twoHundred()
	for i := range log {
		log[i].Event.Group = fmt.Sprint("group-", i%10)
	}
	k := keep(t, log)
	asked := 0
	opened := func() *replay.Snapshots {
		s, err := replay.OpenSnapshots(t.Context(), replay.SnapshotConfig{Store: k.store, Incarnation: thisStream, Trail: k.trail,
			Pick: func(ctx context.Context, seqs []uint64) iter.Seq2[ledger.Record, error] {
				asked += len(seqs)
				return log.Pick(ctx, seqs)
			}})
		require.NoError(t, err)
		return s
	}
	for _, n := range []int{50, 100, 150} {
		k.follow(t, n)
		k.take(t, time.UnixMilli(int64(n)))
	}
	k.follow(t, 200)
	for _, without := range []string{"", "s100", "s50", "s150"} {
		if without != "" {
			require.NoError(t, k.snapshots.Delete(t.Context(), without))
		}
		s := opened()
		for seq, want := range map[uint64]int64{3: 3, 53: 53, 93: 93, 113: 113, 147: 143, 163: 163, 193: 193} {
			asked = 0
			st, err := s.StateAt(t.Context(), log, replay.Point{Seq: seq}, replay.OfGroup("c", "group-2"))
			require.NoError(t, err)
			got, _ := st.Partition("c", "group-2", "t", 0)
			require.Equal(t, want, got.Committed.At, "at %d without %q", seq, without)
			if without == "" {
				require.LessOrEqual(t, asked, 5, "at %d", seq)
			}
			require.LessOrEqual(t, asked, 44, "at %d without %q: twice its own, and the first, where no snapshot tells its topics", seq, without)
		}
	}
	after, to := k.trail.Range()
	require.Equal(t, [2]uint64{0, 200}, [2]uint64{after, to}, "all lists have come back to the trail")
}

// A list that is damaged, or another's, costs time and says so; the answer is the same.
func TestADamagedListIsNotUsed(t *testing.T) {
	for name, damage := range map[string]func(o *objects){
		"damaged": func(o *objects) { o.all["s200/events"][5] ^= 1 },
		"another": func(o *objects) { o.all["s200/events"] = o.all["s100/events"] },
		"missing": func(o *objects) { delete(o.all, "s200/events") },
	} {
		t.Run(name, func(t *testing.T) {
			k := keep(t, twoHundred())
			for _, n := range []int{100, 200} {
				k.follow(t, n)
				k.take(t, time.UnixMilli(int64(n)))
			}
			damage(k.store)
			k.restart(t)
			p := replay.Point{Seq: 150}
			st, err := k.snapshots.StateAt(t.Context(), k.log, p, replay.OfGroup("c", "g"))
			require.NoError(t, err)
			require.Equal(t, bytesOf(stateAt(t, k.log, p, replay.OfGroup("c", "g"))), bytesOf(st))
			require.Contains(t, k.warned.String(), "the list of events of a snapshot is not used")
			require.Len(t, k.snapshots.List(), 2, "the snapshot itself is")
			require.NoError(t, k.snapshots.Delete(t.Context(), "s200"))
		})
	}
}

func oldestFirst(s *replay.Snapshots) []replay.Manifest {
	all := s.List()
	slices.Reverse(all)
	return all
}

// Of snapshots of a ledger that grows by 3 MiB an hour, as many stay as bound the log between two of
// them; of one that hardly grows, one a day.
func TestThinningBoundsTheLogBetweenSnapshots(t *testing.T) {
	for hourly, want := range map[uint64]int{3 << 20: 34, 1: 6} {
		k := keep(t, twoHundred())
		begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		for hour := range 100 {
			k.follow(t, hour+1)
			_, err := k.snapshots.Take(t.Context(), replay.Taking{Read: k.view.ReadIncidents, Now: begin.Add(time.Duration(hour) * time.Hour), LogBytes: hourly * uint64(hour)})
			require.NoError(t, err)
		}
		require.InDelta(t, want, len(k.snapshots.List()), 1)
		names := map[string]bool{}
		after := uint64(0)
		for _, m := range oldestFirst(k.snapshots) {
			require.Equal(t, after, m.EventsAfter, "lists join")
			after, names[m.ID()] = m.Seq, true
		}
		for name := range maps.Keys(k.store.all) {
			id, _, _ := strings.Cut(name, "/")
			require.True(t, names[id], "nothing is left of %s", id)
		}
		require.Empty(t, k.warned.String())
	}
}
