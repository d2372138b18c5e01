package projection

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/offsetledger/offsetledger/ledger"
)

// written is a state as bytes: all parts of all clusters.
func written(s *State) map[string]string {
	out := map[string]string{}
	for _, c := range s.Clusters() {
		out[c+" capture"] = string(s.AppendCapture(nil, c))
		for shard := range int32(ledger.WatermarkShards) {
			out[c+" topics "+string('a'+shard)] = string(s.AppendTopics(nil, c, shard))
		}
		for name := range s.GroupNames(c) {
			out[c+" group "+name] = string(s.AppendGroup(nil, c, name))
		}
	}
	return out
}

// spelled is all that a value holds, unexported fields too: the same for nil and empty.
func spelled(v reflect.Value) string {
	var parts []string
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return "nil"
		}
		return "&" + spelled(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			parts = append(parts, v.Type().Field(i).Name+":"+spelled(v.Field(i)))
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			parts = append(parts, spelled(v.Index(i)))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			parts = append(parts, spelled(k)+"="+spelled(v.MapIndex(k)))
		}
		slices.Sort(parts)
	default:
		return fmt.Sprintf("%#v", v)
	}
	return "{" + strings.Join(parts, " ") + "}"
}

// loaded writes a state and loads what was written.
func loaded(t require.TestingT, s *State) *State {
	l := NewLoader(s.Seq(), s.Appended(), s.Latest())
	for _, c := range s.Clusters() {
		for name := range s.GroupNames(c) {
			require.NoError(t, l.Group(c, name, s.AppendGroup(nil, c, name)))
		}
		for shard := range int32(ledger.WatermarkShards) {
			require.NoError(t, l.Topics(c, shard, s.AppendTopics(nil, c, shard)))
		}
		require.NoError(t, l.Capture(c, s.AppendCapture(nil, c)))
	}
	return l.State()
}

// whatever draws an event of any kind that a fold looks at, with few names and numbers, so that
// events meet.
type whatever struct {
	t        *rapid.T
	ms       int64
	position int64
}

func pick[T any](w *whatever, of ...T) T { return rapid.SampledFrom(of).Draw(w.t, "one of") }
func (w *whatever) upTo(n int) int       { return rapid.IntRange(0, n).Draw(w.t, "n") }
func (w *whatever) often() bool          { return w.upTo(3) > 0 }

func (w *whatever) moment() ledger.Time {
	if w.often() {
		return ledger.AtMillis(w.ms)
	}
	return pick(w, ledger.Time{}, ledger.AtMillis(w.ms-700), ledger.AtMillis(w.ms+60_000), ledger.AtMillis(-1<<63+1), ledger.AtMillis(1<<63-1))
}

func (w *whatever) rows() []ledger.Offset {
	var rows []ledger.Offset
	topic, id := pick(w, "t", "u", "a/b", ""), pick(w, uuid.UUID{}, uuid.UUID{1}, uuid.UUID{2})
	for p := range int32(w.upTo(4) + 1) {
		w.position++
		r := ledger.Offset{Topic: topic, TopicID: id, Partition: p * pick(w, int32(1), 1, 7), At: w.position * 10, SourceOffset: w.position,
			CommitTime: w.moment(), Effective: pick(w, ledger.AtMillis(w.ms), ledger.AtMillis(w.ms), ledger.AtMillis(w.ms+3000), ledger.Time{}), Metadata: pick(w, "", "", "m1", "\xff\x00")}
		if !w.often() {
			r.At = pick(w, int64(0), -1, 1<<53+1, 1<<63-1, 5)
			r.ExpireTime = w.moment()
			r.LeaderEpoch = ledger.EpochOf(int32(w.upTo(3)) - 1)
			r.Flags = pick(w, ledger.Flags(0), ledger.FlagReplaced)
		}
		rows = append(rows, r)
	}
	return rows
}

func (w *whatever) event() ledger.Event {
	w.ms += int64(w.upTo(2000))
	ev := ledger.Event{Cluster: pick(w, "c", "c", "c", "d"), Group: pick(w, "g", "g", "", "a/b"), Time: ledger.AtMillis(w.ms),
		Source: ledger.Source{Kind: ledger.SourceTail, Partition: 3, Offset: w.position}}
	switch w.upTo(15) {
	case 0:
		ev.Kind, ev.Group, ev.Cursor = ledger.KindCursor, "", w.cursor()
	case 1:
		ev.Kind, ev.Gap = ledger.KindGap, &ledger.Gap{OfGroup: w.upTo(1) == 0, SourcePartition: 3, First: int64(w.upTo(20)), Last: 30, From: w.moment(), To: w.moment()}
		ev.Cause = pick(w, ledger.CauseTruncated, ledger.CauseUnknown)
		if w.often() {
			ev.Offsets = w.rows()
		}
	case 2:
		ev.Kind, ev.Opaque = ledger.KindOpaque, &ledger.Opaque{Key: []byte("\x00\x01\x00\x01g\x00\x01t\x00\x00\x00\x00")}
	case 3:
		topic := pick(w, "t", "u")
		ev.Kind, ev.Group, ev.NotBefore = ledger.KindWatermarks, "", pick(w, ledger.Time{}, ledger.AtMillis(w.ms-50))
		ev.Watermarks = &ledger.Watermarks{Shard: ledger.WatermarkShard(topic), Complete: w.upTo(1) == 0,
			Rows: []ledger.Watermark{{Topic: topic, TopicID: pick(w, uuid.UUID{}, uuid.UUID{1}), Partition: int32(w.upTo(3)), LogStart: int64(w.upTo(9)), LastStable: 50, LogEnd: 60}}}
		if w.upTo(1) == 0 {
			ev.Watermarks.Unanswered = []ledger.TopicPartitions{{Topic: topic, Partitions: []int32{5, 6}}}
		}
	case 4:
		ev.Kind, ev.Group, ev.Topic = ledger.KindTopic, "", pick(w, "t", "u")
		ev.TopicInfo = &ledger.TopicInfo{TopicID: pick(w, uuid.UUID{}, uuid.UUID{1}, uuid.UUID{2}), Partitions: 4, Deleted: w.upTo(2) == 0}
	case 5, 6, 7:
		ev.Kind, ev.Membership = ledger.KindGroup, w.membership()
	case 8:
		ev.Kind, ev.Source.Kind, ev.Source.Instance = ledger.KindClaim, ledger.SourceManager, "i1"
		ev.Claim = &ledger.Claim{Instance: "i1"}
	case 9:
		ev.Kind, ev.Checkpoint = ledger.KindCheckpoint, &ledger.Checkpoint{Name: pick(w, "a", "b")}
	case 10:
		ev.Kind, ev.Source.Kind, ev.Plan, ev.Reason, ev.Actor = ledger.KindIntent, ledger.SourceOperator, pick(w, "p1", "p2"), "why", "ann"
		ev.Offsets = w.rows()
		for i := range ev.Offsets {
			ev.Offsets[i].At = pick(w, ev.Offsets[i].At, -1)
		}
	case 11:
		ev.Kind = pick(w, ledger.KindReset, ledger.KindFailed, ledger.KindDeleted)
		ev.Source.Kind, ev.Plan, ev.Offsets = ledger.SourceOperator, pick(w, "p1", "p2"), w.rows()
	case 12:
		ev.Kind, ev.Offsets, ev.Cause = ledger.KindDeleted, w.rows(), pick(w, ledger.CauseDeleted, ledger.CauseExpired)
		ev.CauseInferred = w.upTo(1) == 0
	default:
		ev.Kind, ev.Offsets = ledger.KindCommitted, w.rows()
		ev.Source.Transactional = !w.often()
		if !w.often() {
			ev.Source.Kind = pick(w, ledger.SourceManager, ledger.SourcePoll, ledger.SourceReconcile)
			ev.NotBefore = ledger.AtMillis(w.ms - 400)
		}
	}
	return ev
}

func (w *whatever) cursor() *ledger.Cursor {
	cur := &ledger.Cursor{Shard: pick(w, "0", "1"), Complete: true, TopicID: pick(w, uuid.UUID{7}, uuid.UUID{7}, uuid.UUID{8})}
	if w.upTo(4) == 0 {
		return cur // of a capture that polls
	}
	l := ledger.SourceLine{Partition: 3, Next: w.position, LeaderEpoch: ledger.EpochOf(2), MaxEffective: w.moment(), CompleteThrough: w.moment()}
	if w.upTo(1) == 0 {
		l.Open = []ledger.OpenTransaction{{ProducerID: 4, First: w.position, Since: w.moment(),
			Rows: []ledger.PendingOffset{{Group: "g", Topic: "t", Partition: 1, At: 9, Position: w.position}}}}
	}
	if w.upTo(3) == 0 {
		l.Hole = &ledger.Hole{First: 1, Last: 2, Until: 9, From: w.moment(), Removed: true}
	}
	cur.Lines = []ledger.SourceLine{l}
	return cur
}

func (w *whatever) membership() *ledger.Membership {
	m := &ledger.Membership{Type: pick(w, ledger.GroupTypeClassic, ledger.GroupTypeConsumer), Generation: int32(w.upTo(3)), Deleted: w.upTo(4) == 0,
		RecordType: pick(w, ledger.RecordClassicGroup, ledger.RecordGroup, ledger.RecordMember, ledger.RecordAssignment), ProtocolType: "consumer"}
	for _, id := range []string{"m1", "m2"}[:w.upTo(2)] {
		a := ledger.TopicPartitions{Partitions: []int32{0, int32(w.upTo(3))}}
		if w.upTo(1) == 0 {
			a.Topic = "t"
		} else {
			a.TopicID = uuid.UUID{1}
		}
		m.Members = append(m.Members, ledger.Member{ID: id, ClientID: "x", Host: "/h", SessionTimeoutMillis: 5, Subscriptions: []string{"t"}, Assigned: []ledger.TopicPartitions{a}})
	}
	return m
}

func (w *whatever) log() []ledger.Record {
	var recs []ledger.Record
	for n := range rapid.IntRange(1, 60).Draw(w.t, "events") {
		recs = append(recs, ledger.Record{Seq: uint64(n + 1), Appended: time.UnixMilli(w.ms + int64(w.upTo(3000))).UTC(), Event: w.event()})
	}
	return recs
}

// A state that was written and loaded goes on as if it had never been interrupted: what every
// record does to it is the same, and so are the bytes in the end.
func TestAStateGoesOnWhereItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := whatever{t: t, ms: 1_700_000_000_000}
		recs := w.log()
		through, resumed := NewState(), NewState()
		cut := rapid.SliceOfN(rapid.IntRange(0, len(recs)), 1, 3).Draw(t, "written at")
		for i, rec := range recs {
			if slices.Contains(cut, i) {
				before := written(resumed)
				resumed = loaded(t, resumed)
				require.Equal(t, before, written(resumed))
				require.Equal(t, spelled(reflect.ValueOf(through.clusters)), spelled(reflect.ValueOf(resumed.clusters)))
			}
			want, err := through.Apply(rec)
			require.NoError(t, err)
			got, err := resumed.Apply(rec)
			require.NoError(t, err)
			require.Equal(t, slices.Concat([]Change{}, want), slices.Concat([]Change{}, got))
		}
		require.Equal(t, written(through), written(resumed))
		require.Equal(t, through.Seq(), resumed.Seq())
		require.Equal(t, through.Latest(), resumed.Latest())
		for _, c := range through.Clusters() {
			require.Equal(t, through.Groups(c), resumed.Groups(c))
			require.Equal(t, through.Topics(c), resumed.Topics(c))
			for _, g := range through.Groups(c) {
				require.Equal(t, through.Partitions(c, g.Name), resumed.Partitions(c, g.Name))
			}
		}
	})
}

// Up to the moment that the state calls its latest, nothing depends on the moment asked for.
func TestNothingIsLaterThanTheLatest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := whatever{t: t, ms: 1_700_000_000_000}
		recs := w.log()
		all, asOf := NewState(), NewState()
		for _, rec := range recs {
			require.NoError(t, all.ApplyUpTo(rec, ledger.Time{}))
		}
		for _, rec := range recs {
			require.NoError(t, asOf.ApplyUpTo(rec, all.Latest()))
			if c := rec.Event.Cluster; rec.Seq < all.Seq() {
				require.False(t, asOf.Past(c, all.Latest()), "reading would have ended at %d", rec.Seq)
			}
		}
		require.Equal(t, written(all), written(asOf))
	})
}

// Incidents go on where they were written: what is going on, too.
func TestIncidentsGoOnWhereTheyWereWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := whatever{t: t, ms: 1_700_000_000_000}
		recs := w.log()
		s, through, resumed := NewState(), NewIncidents(), NewIncidents()
		through.limit, resumed.limit = 5, 5
		cut := rapid.IntRange(0, len(recs)).Draw(t, "written at")
		for i, rec := range recs {
			if i == cut {
				b := resumed.Append(nil)
				var err error
				resumed, err = LoadIncidents(b)
				require.NoError(t, err)
				resumed.limit = 5
				require.Equal(t, b, resumed.Append(nil))
			}
			changes, err := s.Apply(rec)
			require.NoError(t, err)
			if whole, ok := s.Folded(); ok {
				through.Apply(s, whole, changes)
				resumed.Apply(s, whole, changes)
			}
		}
		require.Equal(t, through.Append(nil), resumed.Append(nil))
		require.Equal(t, slices.Collect(through.All("")), slices.Collect(resumed.All("")))
		require.Equal(t, spelled(reflect.ValueOf(*through)), spelled(reflect.ValueOf(*resumed)))
		for key := range through.groups {
			want, _ := through.Last(key.cluster, key.group)
			got, _ := resumed.Last(key.cluster, key.group)
			require.Equal(t, want, got)
		}
	})
}
