package replay_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/replay"
)

// objects is a store in memory.
type objects struct {
	mu  sync.Mutex
	all map[string][]byte
	// fail, if set, says that an object cannot be written; failRead that one cannot be read.
	fail, failRead func(name string) error
}

func newObjects() *objects { return &objects{all: map[string][]byte{}} }

func (o *objects) Put(_ context.Context, name string, data []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.fail != nil {
		if err := o.fail(name); err != nil {
			return err
		}
	}
	o.all[name] = bytes.Clone(data)
	return nil
}

func (o *objects) Get(_ context.Context, name string) ([]byte, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failRead != nil {
		if err := o.failRead(name); err != nil {
			return nil, err
		}
	}
	b, ok := o.all[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return b, nil
}

func (o *objects) Delete(_ context.Context, name string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.all, name)
	return nil
}

func (o *objects) Names(context.Context) ([]string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Collect(maps.Keys(o.all)), nil
}

var update = flag.Bool("update", false, "write golden files that are missing")

var thisStream = uuid.UUID{1, 2, 3}

// open opens the snapshots of the stream in a store, and returns what it warns of.
func open(t require.TestingT, store replay.Store) (*replay.Snapshots, *strings.Builder) {
	warned := &strings.Builder{}
	s, err := replay.OpenSnapshots(context.Background(), replay.SnapshotConfig{
		Store: store, Incarnation: thisStream, Logger: slog.New(slog.NewTextHandler(warned, nil))})
	require.NoError(t, err)
	return s, warned
}

// take takes a snapshot of a log after its first n records.
func take(t require.TestingT, s *replay.Snapshots, log memory, n int) replay.Manifest {
	st := stateAt(t, log, replay.Point{Seq: uint64(n)}, replay.Scope{})
	m, err := s.Take(context.Background(), replay.Taking{
		Read: func(read func(*projection.State, *projection.Incidents)) { read(st, projection.NewIncidents()) }, Now: time.UnixMilli(int64(n)), LogBytes: uint64(n)})
	require.NoError(t, err)
	return m
}

// bytesOf is all that a state holds.
func bytesOf(s *projection.State) map[string]string {
	out := map[string]string{"seq": fmt.Sprint(s.Seq())}
	for _, c := range s.Clusters() {
		out[c+" capture"] = string(s.AppendCapture(nil, c))
		for shard := range int32(ledger.WatermarkShards) {
			out[fmt.Sprintf("%s topics %d", c, shard)] = string(s.AppendTopics(nil, c, shard))
		}
		for group := range s.GroupNames(c) {
			out[c+" group "+group] = string(s.AppendGroup(nil, c, group))
		}
	}
	return out
}

// With any set of snapshots, or none, a state is the same to the last byte: at every point, and of
// everything, a cluster or a group.
func TestAnySetOfSnapshotsGivesTheSameState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := randomLog(t)
		for i := range log { // another cluster in between
			if rapid.IntRange(0, 5).Draw(t, "other") == 0 {
				log[i].Event.Cluster = "d"
			}
		}
		s, warned := open(t, newObjects())
		for _, n := range rapid.SliceOfN(rapid.IntRange(1, len(log)), 0, 4).Draw(t, "snapshots") {
			take(t, s, log, n)
		}
		points := []replay.Point{
			{}, {Seq: rapid.Uint64Range(1, uint64(len(log))).Draw(t, "seq")},
			{Time: millis(rapid.Int64Range(0, 60_000).Draw(t, "time"))}, {Time: log[len(log)-1].Event.Time},
		}
		for _, p := range points {
			for _, sc := range []replay.Scope{{}, replay.OfCluster("c")} {
				got, err := s.StateAt(context.Background(), log, p, sc)
				require.NoError(t, err)
				require.Equal(t, bytesOf(stateAt(t, log, p, sc)), bytesOf(got), "at %s", p)
			}
			for _, of := range [][2]string{{"c", "g"}, {"c", ""}, {"d", "h"}} {
				sc := replay.OfGroup(of[0], of[1])
				got, err := s.StateAt(context.Background(), log, p, sc)
				require.NoError(t, err)
				require.Equal(t, promised(stateAt(t, log, p, sc), of[0], of[1]), promised(got, of[0], of[1]), "at %s", p)
			}
		}
		require.Empty(t, warned.String())
	})
}

// twoHundred is a log of 200 commits, a minute apart, of which the 100th is at 12:00.
func twoHundred() memory {
	var log memory
	for i := range int64(200) {
		at := 12*hour + (i-99)*hour/60
		log.add(0, commit("g", at, row(0, 1+i, i, at)))
	}
	return log
}

// A state of the past does not come from a snapshot of later. Asked before, at and between two
// snapshots, with both, one or none: the answers are the same.
func TestREP05AsOfOlderThanTheNewestSnapshot(t *testing.T) {
	log := twoHundred()
	s, _ := open(t, newObjects())
	first := take(t, s, log, 100)
	second := take(t, s, log, 200)
	for _, gone := range []string{"", first.ID(), second.ID()} {
		if gone != "" {
			require.NoError(t, s.Delete(t.Context(), gone))
		}
		for minutes, want := range map[int64]int64{-60: 40, 0: 100, 60: 160, 100: 200, 120: 200} {
			p := replay.Point{Time: millis(12*hour + minutes*hour/60)}
			st, err := s.StateAt(t.Context(), log, p, replay.OfGroup("c", "g"))
			require.NoError(t, err)
			got, _ := st.Partition("c", "g", "t", 0)
			require.Equal(t, want, got.Committed.At)
			require.Equal(t, bytesOf(stateAt(t, log, p, replay.OfGroup("c", "g"))), bytesOf(st))
		}
	}
	require.Empty(t, s.List())
	require.ErrorIs(t, s.Delete(t.Context(), first.ID()), replay.ErrNoSnapshot)
}

// resign writes a manifest as changed, with the right digest.
func resign(o *objects, id string, change func(string) string) {
	name := id + "/manifest"
	_, text, _ := bytes.Cut(o.all[name], []byte("\n"))
	text = []byte(change(string(text)))
	sum := sha256.Sum256(text)
	o.all[name] = append([]byte(hex.EncodeToString(sum[:])+"\n"), text...)
}

func without(pattern string) func(string) string {
	return func(s string) string { return regexp.MustCompile(pattern).ReplaceAllString(s, "") }
}

func replacing(old, by string) func(string) string {
	return func(s string) string { return strings.Replace(s, old, by, 1) }
}

// Snapshots are a cache. One with an unknown or a missing field, of a newer version, with a
// flipped byte, empty, or half-written is not used and said so; the answer comes from the stream.
func TestREP02SnapshotOfAnotherShape(t *testing.T) {
	log := twoHundred()
	for name, c := range map[string]struct {
		damage func(o *objects, m replay.Manifest)
		says   string
	}{
		"unknown field":                {func(o *objects, m replay.Manifest) { resign(o, m.ID(), replacing(`"seq"`, `"colour":1,"seq"`)) }, "unknown field"},
		"missing field":                {func(o *objects, m replay.Manifest) { resign(o, m.ID(), replacing(`"seq":200,`, ``)) }, "makes no sense"},
		"newer":                        {func(o *objects, m replay.Manifest) { resign(o, m.ID(), replacing(`"format":2`, `"format":3`)) }, "format 3"},
		"flipped byte":                 {func(o *objects, m replay.Manifest) { o.all[m.ID()+"/capture"][3] ^= 1 }, "capture is damaged"},
		"flipped byte in the manifest": {func(o *objects, m replay.Manifest) { o.all[m.ID()+"/manifest"][99] ^= 1 }, "manifest is damaged"},
		"empty part":                   {func(o *objects, m replay.Manifest) { o.all[m.ID()+"/t0"] = nil }, "t0 is damaged"},
		"empty manifest":               {func(o *objects, m replay.Manifest) { o.all[m.ID()+"/manifest"] = nil }, "manifest is damaged"},
		"missing part":                 {func(o *objects, m replay.Manifest) { delete(o.all, m.ID()+"/t3") }, "not exist"},
		"incidents":                    {func(o *objects, m replay.Manifest) { o.all[m.ID()+"/incidents"] = o.all[m.ID()+"/capture"] }, "incidents is damaged"},
		"no manifest":                  {func(o *objects, m replay.Manifest) { delete(o.all, m.ID()+"/manifest") }, "half-written"},
		"part without a name":          {func(o *objects, m replay.Manifest) { resign(o, m.ID(), replacing(`"name":"t3"`, `"name":""`)) }, "makes no sense"},
		"part that there is not":       {func(o *objects, m replay.Manifest) { resign(o, m.ID(), replacing(`"name":"t3"`, `"name":"tq"`)) }, "makes no sense"},
		"part twice":                   {func(o *objects, m replay.Manifest) { resign(o, m.ID(), replacing(`"name":"t3"`, `"name":"t2"`)) }, "makes no sense"},
		"capture left out":             {func(o *objects, m replay.Manifest) { resign(o, m.ID(), without(`{"name":"capture"[^}]*},`)) }, "no part capture"},
		"groups left out":              {func(o *objects, m replay.Manifest) { resign(o, m.ID(), without(`{"name":"g[0-9a-f]{2}"[^}]*},`)) }, "its manifest says 1"},
		"manifest of another":          {func(o *objects, m replay.Manifest) { o.all[m.ID()+"/manifest"] = o.all["s100/manifest"] }, "is that of s100"},
	} {
		t.Run(name, func(t *testing.T) {
			o := newObjects()
			s, _ := open(t, o)
			take(t, s, log, 100)
			m := take(t, s, log, 200)
			c.damage(o, m)
			s, warned := open(t, o)
			st, _, ok, err := s.Newest(t.Context(), log)
			require.NoError(t, err)
			require.True(t, ok)
			require.EqualValues(t, 100, st.Seq(), "the one before is used")
			require.Contains(t, warned.String(), c.says)
			require.Contains(t, warned.String(), "snapshot=s200")
			require.Len(t, s.List(), 1)
			got, err := s.StateAt(t.Context(), log, replay.Point{}, replay.Scope{})
			require.NoError(t, err)
			require.Equal(t, bytesOf(stateAt(t, log, replay.Point{}, replay.Scope{})), bytesOf(got))
			require.NoError(t, s.Delete(t.Context(), "s200"), "what cannot be used can still be removed")
		})
	}
}

// A stream was made anew, or lost its end and went on with other records: a snapshot of before is
// not of this log. There is no waiting until the log has come to its sequence.
func TestREP03SnapshotOfAStreamThatNoLongerExists(t *testing.T) {
	log := twoHundred()
	o := newObjects()
	s, _ := open(t, o)
	take(t, s, log, 100)

	t.Run("made anew", func(t *testing.T) {
		s, err := replay.OpenSnapshots(t.Context(), replay.SnapshotConfig{Store: o, Incarnation: uuid.UUID{9}})
		require.NoError(t, err)
		require.Empty(t, s.List())
	})
	t.Run("ahead of the log", func(t *testing.T) {
		s, _ := open(t, o)
		short := log[:96]
		_, _, ok, err := s.Newest(t.Context(), short)
		require.NoError(t, err)
		require.False(t, ok)
		require.EqualValues(t, 96, stateAtWith(t, s, short).Seq())
	})
	t.Run("gone on with other records", func(t *testing.T) {
		s, warned := open(t, o)
		other := slices.Clone(log[:96])
		for i := range int64(10) {
			other.add(14*hour, commit("g", 14*hour+i, row(0, 7, 300+i, 14*hour+i)))
		}
		require.Equal(t, bytesOf(stateAt(t, other, replay.Point{}, replay.Scope{})), bytesOf(stateAtWith(t, s, other)))
		require.Contains(t, warned.String(), "the log has lost its end since")
	})
}

func stateAtWith(t *testing.T, s *replay.Snapshots, r replay.Reader) *projection.State {
	st, err := s.StateAt(t.Context(), r, replay.Point{}, replay.Scope{})
	require.NoError(t, err)
	return st
}

// A replay tells nobody anything. Rebuilding a view of a thousand records with five rewinds and two
// expiries, from the start or from a snapshot, writes nothing,
// and tells of every incident once.
func TestREP06ReplayDoesNotAct(t *testing.T) {
	var log memory
	for i := range int64(1000) {
		ev := commit("g", i*5000, row(0, 100+i, i, i*5000))
		switch {
		case i%200 == 100:
			ev.Offsets[0].At = 5
		case i == 450 || i == 850:
			ev.Kind, ev.Cause = ledger.KindDeleted, ledger.CauseExpired
		}
		log.add(0, ev)
	}
	whole := projection.NewView()
	require.NoError(t, whole.Run(t.Context(), log.Read(t.Context(), 1, 1000, ledger.Filter{})))
	part := projection.NewView()
	require.NoError(t, part.Run(t.Context(), log.Read(t.Context(), 1, 950, ledger.Filter{})))
	o := newObjects()
	s, _ := open(t, o)
	_, err := s.Take(t.Context(), replay.Taking{Read: part.ReadIncidents})
	require.NoError(t, err)
	before := maps.Clone(o.all)
	st := stateAtWith(t, s, log)
	g, _ := st.Group("c", "g")
	require.EqualValues(t, 5, g.Statistics.Rewinds)

	start, incidents, ok, err := s.Newest(t.Context(), log)
	require.NoError(t, err)
	require.True(t, ok)
	again := projection.NewView()
	again.Resume(start, incidents)
	require.EqualValues(t, 950, again.Seq())
	require.NoError(t, again.Run(t.Context(), log.Read(t.Context(), 951, 1000, ledger.Filter{})))
	require.Equal(t, before, o.all, "nothing is written")
	require.Equal(t, acts(whole), acts(again), "none is lost, and none told twice")
	require.Len(t, acts(again), 5+2+2)
	again.Read(func(got *projection.State) { require.Equal(t, bytesOf(st), bytesOf(got)) })
}

// acts are the incidents of a view.
func acts(v *projection.View) (all []projection.Incident) {
	v.ReadIncidents(func(_ *projection.State, in *projection.Incidents) {
		for i := range in.All("") {
			all = append(all, i.Copy())
		}
	})
	return all
}

// An object that is larger than a message is none of the snapshot's business: 20,000 groups of ten
// partitions are written and read, and no part is half of it.
func TestREP09SnapshotLargerThanAMessage(t *testing.T) {
	var log memory
	for g := range 20_000 {
		var rows []ledger.Offset
		for p := range int32(10) {
			rows = append(rows, row(p, int64(g)*7919%1_000_003, int64(g*10)+int64(p), 1000+int64(g)))
		}
		log.add(0, commit(fmt.Sprintf("group-%d", g), 1000+int64(g), rows...))
	}
	o := newObjects()
	s, _ := open(t, o)
	m := take(t, s, log, len(log))
	require.Equal(t, 200_000, m.Partitions)
	require.Equal(t, 20_000, m.Groups)
	require.Len(t, m.Parts, 256+16+2)
	s, _ = open(t, o)
	require.Equal(t, bytesOf(stateAt(t, log, replay.Point{}, replay.Scope{})), bytesOf(stateAtWith(t, s, log)))
	one, err := s.StateAt(t.Context(), log, replay.Point{}, replay.OfGroup("c", "group-77"))
	require.NoError(t, err)
	require.Len(t, one.Groups("c"), 1)
}

// Whatever a broker stores comes back as it was: odd names, the limits of numbers, what was never
// there, what is no text, what was deleted, what could not be decoded.
func TestREP10SnapshotsKeepEverything(t *testing.T) {
	var log memory
	for g, name := range []string{"", "a/b", strings.Repeat("n", 3000), "\xff\x00"} {
		rows := []ledger.Offset{row(0, 0, int64(g*10), 1000), row(1, 1<<53+1, int64(g*10+1), 1000), row(2, math.MaxInt64, int64(g*10+2), 1000), row(3, -1, int64(g*10+3), 1000)}
		rows[0].LeaderEpoch, rows[1].LeaderEpoch = ledger.EpochOf(-1), ledger.EpochOf(0)
		rows[0].Flags, rows[2].Metadata = ledger.FlagNoMetadata, "\x00\xfe binary"
		gone := commit(name, 2000, ledger.Offset{Topic: "t", Partition: 2, SourceOffset: int64(g*10 + 5), Effective: millis(2000)})
		gone.Kind, gone.Cause = ledger.KindDeleted, ledger.CauseDeleted
		opaque := ledger.Event{Kind: ledger.KindOpaque, Cluster: "c", Time: millis(2001), Source: ledger.Source{Kind: ledger.SourceTail, Partition: 3},
			Opaque: &ledger.Opaque{Key: []byte("\x00\x01\x00\x03a/b\x00\x01t\x00\x00\x00\x00"), Value: []byte{1}}}
		log.add(0, commit(name, 1000, rows...), gone, opaque)
	}
	o := newObjects()
	s, _ := open(t, o)
	take(t, s, log, len(log))
	s, _ = open(t, o)
	want, got := stateAt(t, log, replay.Point{}, replay.Scope{}), stateAtWith(t, s, log)
	require.Equal(t, bytesOf(want), bytesOf(got))
	require.Equal(t, want.Groups("c"), got.Groups("c"))
	for _, g := range want.Groups("c") {
		require.Equal(t, want.Partitions("c", g.Name), got.Partitions("c", g.Name))
	}
	unreadable, _ := got.Partition("c", "a/b", "t", 0)
	require.True(t, unreadable.Unreadable)
}

// What a crash leaves of a snapshot is not one. The next removes it.
func TestHalfASnapshotIsNone(t *testing.T) {
	log := twoHundred()
	for _, stops := range []string{"/capture", "/t7", "/manifest"} {
		o := newObjects()
		s, _ := open(t, o)
		take(t, s, log, 100)
		o.fail = func(name string) error {
			if strings.HasSuffix(name, stops) {
				return fmt.Errorf("no space for %s", name)
			}
			return nil
		}
		st := stateAt(t, log, replay.Point{}, replay.Scope{})
		_, err := s.Take(t.Context(), replay.Taking{Read: func(read func(*projection.State, *projection.Incidents)) { read(st, nil) }})
		require.ErrorContains(t, err, "no space")
		o.fail = nil
		s, _ = open(t, o)
		require.Len(t, s.List(), 1)
		take(t, s, log, 150)
		names, _ := o.Names(t.Context())
		require.False(t, slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, "s200/") }))
		require.Len(t, s.List(), 2)
	}
}

// A snapshot that some version has written is read by every later one of the same format.
func TestGoldenSnapshot(t *testing.T) {
	log := twoHundred()
	for i := range log { // several groups, and all that a tail records
		log[i].Event.Group = []string{"g", "", "a/b"}[i%3]
	}
	log.add(0, cursor(16*hour, 16*hour), watermarks(16*hour, 500))
	const dir = "testdata/snapshot/v1"
	o := newObjects()
	if _, err := os.Stat(dir); os.IsNotExist(err) && *update {
		s, _ := open(t, o)
		take(t, s, log, len(log))
		for name, b := range o.all {
			file := filepath.Join(dir, filepath.FromSlash(name))
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
			require.NoError(t, os.WriteFile(file, b, 0o644))
		}
	}
	files, err := filepath.Glob(dir + "/s202/*")
	require.NoError(t, err)
	require.Len(t, files, 3+16+2+1, "run with -update if there are none")
	for _, file := range files {
		o.all["s202/"+filepath.Base(file)], err = os.ReadFile(file)
		require.NoError(t, err)
	}
	s, warned := open(t, o)
	st, _, ok, err := s.Newest(t.Context(), log)
	require.NoError(t, err)
	require.True(t, ok, warned.String())
	require.Equal(t, bytesOf(stateAt(t, log, replay.Point{}, replay.Scope{})), bytesOf(st))
}

// Taken twice of one state it is one snapshot; and whoever reads one that is being deleted gets the
// answer all the same.
func TestOneSnapshotOfOneState(t *testing.T) {
	log := twoHundred()
	o := newObjects()
	s, _ := open(t, o)
	first := take(t, s, log, 150)
	require.Equal(t, first, take(t, s, log, 150))
	require.Len(t, s.List(), 1)
	var g errgroup.Group
	for range 4 {
		g.Go(func() error {
			for range 20 {
				st, err := s.StateAt(context.Background(), log, replay.Point{}, replay.OfGroup("c", "g"))
				if err != nil {
					return err
				}
				if st.Seq() != 200 {
					return fmt.Errorf("the state is at %d", st.Seq())
				}
			}
			return nil
		})
	}
	for range 20 {
		require.NoError(t, s.Delete(t.Context(), "s150"))
		take(t, s, log, 150)
	}
	require.NoError(t, g.Wait())
}

// A state between the parts of one event is never written.
func TestNoSnapshotOfHalfAnEvent(t *testing.T) {
	st := projection.NewState()
	ev := commit("g", 1000, row(0, 1, 0, 1000))
	ev.ID, ev.Part, ev.Parts = uuid.UUID{4}, 1, 2
	_, err := st.Apply(ledger.Record{Seq: 1, Appended: time.UnixMilli(1), Event: ev})
	require.NoError(t, err)
	s, _ := open(t, newObjects())
	_, err = s.Take(t.Context(), replay.Taking{Read: func(read func(*projection.State, *projection.Incidents)) { read(st, nil) }})
	require.ErrorIs(t, err, replay.ErrHalfRead)
}

// A snapshot is due by growth, or after a while; and of those of long ago few are kept.
func TestSnapshotsAreDueAndThinned(t *testing.T) {
	log := twoHundred()
	s, _ := open(t, newObjects())
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	require.False(t, s.Due(begin, 1, 1<<20))
	require.True(t, s.Due(begin, 1, 8<<20))
	for i := range 199 {
		st := stateAt(t, log, replay.Point{Seq: uint64(i + 1)}, replay.Scope{})
		_, err := s.Take(t.Context(), replay.Taking{Read: func(read func(*projection.State, *projection.Incidents)) { read(st, nil) }, Now: begin.Add(time.Duration(i) * 20 * time.Minute), LogBytes: 100})
		require.NoError(t, err)
	}
	all := s.List()
	require.EqualValues(t, 199, all[0].Seq)
	require.Equal(t, 4+3, len(all), "66 hours: those of the last one, and one a day")
	now := all[0].Taken
	require.False(t, s.Due(now.Add(time.Hour), 199, 100), "nothing was recorded")
	require.False(t, s.Due(now.Add(time.Minute), 200, 100+8<<20-1))
	require.True(t, s.Due(now.Add(time.Minute), 200, 100+8<<20))
	require.True(t, s.Due(now.Add(15*time.Minute), 200, 100))
}
