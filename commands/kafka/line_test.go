package kafka

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// lineTest feeds one line by hand and keeps what it gives out.
type lineTest struct {
	t    testing.TB
	line *sourceLine
	now  ledger.Time // capture clock
	log  []ledger.Event
}

const farFuture = 4102444800000 // 2100: a capture clock that caps nothing

func newLineTest(t testing.TB) *lineTest {
	shared := &lineShared{cluster: "c", out: &batch{}}
	return &lineTest{t: t, line: newLine(shared, 3, 0), now: ledger.AtMillis(farFuture)}
}

// feed gives records to the line, then closes the run, and returns the events of it all.
func (lt *lineTest) feed(records ...sourceRecord) []ledger.Event {
	for i := range records {
		for taken := false; !taken; taken = lt.line.read > records[i].offset {
			require.NoError(lt.t, lt.line.feed(&records[i], lt.now))
		}
	}
	lt.line.flush(lt.now)
	return lt.drain()
}

func (lt *lineTest) cursor() ledger.SourceLine {
	room := cursorRoom
	return lt.line.cursor(&room)
}

// drain takes the events given out so far.
func (lt *lineTest) drain() []ledger.Event {
	out := lt.line.out
	lt.line.out = &batch{}
	lt.log = append(lt.log, out.events...)
	return out.events
}

// crash forgets the line and everything it did not give out, and goes on from its cursor. It
// returns the position from which records have to be fed again.
func (lt *lineTest) crash() int64 {
	lt.drain()
	cursor := lt.cursor()
	var told []OffsetKey
	if cursor.Hole != nil {
		told = lt.takeUp(cursor).Told[cursor.Partition]
	}
	lt.line = resumeLine(&lineShared{cluster: "c", out: &batch{}, retention: lt.line.retention}, cursor, told)
	return lt.line.read
}

// takeUp is where the folded ledger says that capture stands after a cursor.
func (lt *lineTest) takeUp(cursor ledger.SourceLine) Resume {
	f := newFold(lt.t)
	f.apply(lt.log)
	f.apply([]ledger.Event{{Kind: ledger.KindCursor, Cluster: "c", Cursor: &ledger.Cursor{
		Shard: ledger.CursorShardAll, Lines: []ledger.SourceLine{cursor}}}})
	cfg := TailConfig{Cluster: "c"}
	cfg.TakeUp(f.state)
	return cfg.Resume
}

// source makes the records of one partition of __consumer_offsets, as a coordinator does.
type source struct {
	next  int64
	epoch int32
	at    int64 // clock of the coordinator, in milliseconds
	all   []sourceRecord
}

func (s *source) append(rec *kgo.Record, producerID int64, transactional bool) sourceRecord {
	r := sourceRecord{
		offset: s.next, epoch: ledger.EpochOf(s.epoch), timestamp: ledger.AtMillis(s.at),
		producerID: producerID, transactional: transactional, key: rec.Key, value: rec.Value,
	}
	s.next++
	s.all = append(s.all, r)
	return r
}

// plain is the commit of one partition outside of any transaction.
func (s *source) plain(group, topic string, partition int32, at int64) sourceRecord {
	return s.append(s.commit(group, topic, partition, at), -1, false)
}

// within is the commit of one partition in the transaction of a producer.
func (s *source) within(producerID int64, group, topic string, partition int32, at int64) sourceRecord {
	return s.append(s.commit(group, topic, partition, at), producerID, true)
}

func (s *source) commit(group, topic string, partition int32, at int64) *kgo.Record {
	v := kmsg.NewOffsetCommitValue()
	v.Version, v.Offset, v.LeaderEpoch, v.CommitTimestamp = 3, at, -1, s.at
	return &kgo.Record{Key: kafkatest.OffsetKey(group, topic, partition), Value: v.AppendTo(nil)}
}

func (s *source) tombstone(group, topic string, partition int32) sourceRecord {
	return s.append(kafkatest.Tombstone(group, topic, partition), -1, false)
}

func (s *source) groupTombstone(group string) sourceRecord {
	return s.append(kafkatest.GroupTombstone(group), -1, false)
}

// marker ends the transaction of a producer.
func (s *source) marker(producerID int64, commit bool) sourceRecord {
	key := []byte{0, 0, 0, controlAbort}
	if commit {
		key[3] = controlCommit
	}
	r := s.append(&kgo.Record{Key: key, Value: []byte{0, 0, 0, 0, 0, 0}}, producerID, true)
	r.control = true
	s.all[len(s.all)-1] = r
	return r
}

// fold is the folded state of one cluster, and what clients can read by it.
type fold struct {
	t       testing.TB
	state   *projection.State
	changes []projection.Change
	visible map[groupKey]int64
}

func newFold(t testing.TB) *fold {
	return &fold{t: t, state: projection.NewState(), visible: map[groupKey]int64{}}
}

func (f *fold) apply(events []ledger.Event) {
	for _, e := range events {
		changes, err := f.state.Apply(ledger.Record{Seq: f.state.Seq() + 1, Event: e})
		require.NoError(f.t, err)
		for _, c := range changes {
			f.changes = append(f.changes, c)
			key := groupKey{c.Group, ledger.TopicPartition{Topic: c.Topic, Partition: c.Partition}}
			delete(f.visible, key)
			if c.To.Exists {
				f.visible[key] = c.To.At
			}
		}
	}
}

func key(group, topic string, partition int32) groupKey {
	return groupKey{group, ledger.TopicPartition{Topic: topic, Partition: partition}}
}

// ats are the offsets in the rows of an event.
func ats(e ledger.Event) (at []int64) {
	for _, o := range e.Offsets {
		at = append(at, o.At)
	}
	return at
}

func kinds(events []ledger.Event) (k []string) {
	for _, e := range events {
		k = append(k, e.Kind.String())
	}
	return k
}

// The rows of one request come in any order and are one event; another group, another commit
// time and a key that comes again begin a new one.
func TestRunsAreWhatOneRequestWrote(t *testing.T) {
	lt, s := newLineTest(t), &source{at: 1000}
	events := lt.feed(s.plain("g", "t", 2, 12), s.plain("g", "t", 0, 10), s.plain("g", "u", 0, 5),
		s.plain("h", "t", 0, 1),
		s.plain("g", "t", 0, 11), s.plain("g", "t", 0, 12),
		s.tombstone("g", "t", 0))
	require.Equal(t, [][]int64{{12, 10, 5}, {1}, {11}, {12}, {0}}, mapEvents(events, ats))
	require.Equal(t, []string{"committed", "committed", "committed", "committed", "deleted"}, kinds(events))
	require.Equal(t, []int64{0, 3, 4, 5, 6}, mapEvents(events, func(e ledger.Event) int64 { return e.Source.Offset }))
	require.Equal(t, int64(1), events[0].Offsets[1].SourceOffset)

	first := s.plain("g", "t", 0, 20)
	s.at++
	events = lt.feed(first, s.plain("g", "t", 1, 21))
	require.Equal(t, [][]int64{{20}, {21}}, mapEvents(events, ats), "another millisecond is another request")
	require.Equal(t, int64(9), lt.line.next)
}

// A request of many partitions is one event, and a key that comes again still begins a new one.
func TestRunOfManyRows(t *testing.T) {
	lt, s := newLineTest(t), &source{at: 1000}
	var records []sourceRecord
	for p := range int32(500) {
		records = append(records, s.plain("g", "t", 499-p, int64(p)))
	}
	records = append(records, s.plain("g", "t", 250, 7))
	events := lt.feed(records...)
	require.Len(t, events, 2)
	require.Len(t, events[0].Offsets, 500)
	require.Equal(t, []int64{7}, ats(events[1]))
}

func mapEvents[T any](events []ledger.Event, f func(ledger.Event) T) (all []T) {
	for _, e := range events {
		all = append(all, f(e))
	}
	return all
}

// A group that assigned its partitions by hand is deleted: Kafka writes a null for each of its
// offsets and never a record for the group (Burrow kept alarming about it).
func TestCAP04GroupDeletedByOffsetTombstonesOnly(t *testing.T) {
	lt, s, f := newLineTest(t), &source{at: 1000}, newFold(t)
	f.apply(lt.feed(s.plain("g", "t", 0, 10), s.plain("g", "t", 1, 20)))
	require.Equal(t, map[groupKey]int64{key("g", "t", 0): 10, key("g", "t", 1): 20}, f.visible)
	s.at = 5000
	events := lt.feed(
		s.append(&kgo.Record{Key: []byte("\x00\x01\x00\x01g\x00\x01t\x00\x00\x00\x00")}, -1, false),
		s.append(&kgo.Record{Key: []byte("\x00\x01\x00\x01g\x00\x01t\x00\x00\x00\x01")}, -1, false))
	require.Len(t, events, 1)
	require.Equal(t, ledger.KindDeleted, events[0].Kind)
	require.Len(t, events[0].Offsets, 2)
	require.Equal(t, ledger.AtMillis(5000), events[0].Time)
	require.True(t, events[0].CauseInferred)
	f.apply(events)
	require.Empty(t, f.visible)
}

// Group metadata of every kind is in the same topic, with and without values, and a key type
// that nobody knows: none of it is the end of an offset.
func TestCAP05OtherKeysEndNoOffset(t *testing.T) {
	lt, s := newLineTest(t), &source{at: 1000}
	lt.feed(s.plain("g1", "t", 0, 10))
	for _, k := range []string{"\x00\x02\x00\x02g1", "\x00\x03\x00\x02g1", "\x00\x05\x00\x02g1\x00\x08member-1", "\x00\x63\x00\x02g1"} {
		for _, v := range [][]byte{nil, {0, 0}} {
			for _, e := range lt.feed(s.append(&kgo.Record{Key: []byte(k), Value: v}, -1, false)) {
				require.Contains(t, []ledger.Kind{ledger.KindGroup, ledger.KindOpaque}, e.Kind, "key %q", k)
			}
		}
	}
	events := lt.feed(s.append(&kgo.Record{Key: []byte("\x00\x04\x00\x02g1"), Value: []byte{0, 0}}, -1, false))
	require.Empty(t, events)
	require.Equal(t, uint64(1), lt.line.counts.Types[4])
	require.Equal(t, int64(10), lt.line.next, "what is only counted moves the position")
	events = lt.feed(s.plain("connect-sink", "t", 0, 3))
	require.Equal(t, ledger.KindCommitted, events[0].Kind)
}

// An offset sent inside a transaction is in the log at once and counts only from the marker.
func TestCAP06TransactionThatAborts(t *testing.T) {
	lt, s, f := newLineTest(t), &source{at: 1000}, newFold(t)
	f.apply(lt.feed(s.plain("g", "t", 0, 100)))
	s.at = 2000
	require.Empty(t, lt.feed(s.within(7, "g", "t", 0, 500)), "before the marker only the cursor speaks of it")
	require.Equal(t, []ledger.OpenTransaction{{ProducerID: 7, First: 1, Since: ledger.AtMillis(2000),
		Rows: []ledger.PendingOffset{{Group: "g", Topic: "t", Partition: 0, At: 500, Position: 1}}}}, lt.cursor().Open)
	s.at = 3000
	events := lt.feed(s.marker(7, false))
	require.Equal(t, []string{"failed"}, kinds(events))
	require.Equal(t, ledger.CauseAborted, events[0].Cause)
	require.Equal(t, []int64{500}, ats(events[0]))
	f.apply(events)
	require.Equal(t, map[groupKey]int64{key("g", "t", 0): 100}, f.visible)
	require.Len(t, f.changes, 1, "no client ever read 500")
	require.Empty(t, lt.cursor().Open)
}

func TestCAP06TransactionThatCommits(t *testing.T) {
	lt, s, f := newLineTest(t), &source{at: 1000}, newFold(t)
	f.apply(lt.feed(s.plain("g", "t", 0, 100)))
	s.at = 2000
	row := s.within(7, "g", "t", 0, 500)
	s.next, s.at = 210, 3000
	marker := s.marker(7, true)
	f.apply(lt.feed(row))
	require.Equal(t, int64(100), f.visible[key("g", "t", 0)])
	lt.line.read, lt.line.next = 210, 210
	events := lt.feed(marker)
	require.Equal(t, int64(210), events[0].Source.Offset)
	require.Equal(t, int64(1), events[0].Offsets[0].SourceOffset)
	require.Equal(t, ledger.AtMillis(3000), events[0].Offsets[0].Effective, "from the marker, not from the row")
	require.Equal(t, ledger.AtMillis(2000), events[0].Offsets[0].CommitTime)
	f.apply(events)
	require.Equal(t, int64(500), f.visible[key("g", "t", 0)])
}

// Neither marker has come: what was committed before stays, and is shown as pending.
func TestCAP06TransactionThatIsOpen(t *testing.T) {
	lt, s, f := newLineTest(t), &source{at: 1000}, newFold(t)
	f.apply(lt.feed(s.plain("g", "t", 0, 100), s.within(7, "g", "t", 0, 500), s.plain("h", "t", 0, 1)))
	require.Equal(t, int64(100), f.visible[key("g", "t", 0)])
	require.Equal(t, int64(1), f.visible[key("h", "t", 0)], "nothing else waits for it")
	require.Equal(t, int64(500), lt.cursor().Open[0].Rows[0].At)
	since, ok := lt.line.pending.oldest()
	require.True(t, ok)
	require.Equal(t, ledger.AtMillis(1000), since)
}

// Some clients commit an unchanged offset every few seconds: each is an event, so that the
// time of the last sign of life is not lost.
func TestCAP15SameOffsetAgain(t *testing.T) {
	lt, s := newLineTest(t), &source{at: 1000}
	for range 100 {
		events := lt.feed(s.plain("g", "t", 0, 10))
		require.Len(t, events, 1)
		require.Equal(t, ledger.AtMillis(s.at), events[0].Offsets[0].CommitTime)
		s.at += 5000
	}
}

// A key cut short and a value of zero bytes cannot be decoded: both are kept raw and capture
// goes on; bytes after a value are flagged.
func TestCAP17DamageDoesNotStopTheLine(t *testing.T) {
	lt, s := newLineTest(t), &source{at: 1000}
	good := s.commit("g", "t", 0, 10)
	damaged := append(append([]byte(nil), good.Value...), 0xde, 0xad)
	events := lt.feed(
		s.append(&kgo.Record{Key: []byte("\x00\x01\x00\x02g1\x00"), Value: good.Value}, -1, false),
		s.append(&kgo.Record{Key: good.Key, Value: []byte{}}, -1, false),
		s.append(&kgo.Record{Key: good.Key, Value: damaged}, -1, false))
	require.Equal(t, []string{"opaque", "opaque", "committed"}, kinds(events))
	require.Equal(t, []byte("\x00\x01\x00\x02g1\x00"), events[0].Opaque.Key)
	require.Equal(t, good.Value, events[0].Opaque.Value)
	require.False(t, events[1].Opaque.ValueNull)
	require.Equal(t, ledger.AtMillis(1000), events[0].Time, "when the record was written, not when it was read")
	require.Equal(t, ledger.FlagTrailingBytes, events[2].Offsets[0].Flags)
	require.Equal(t, uint64(2), lt.line.counts.Opaque)
}

// A key that names no topic could not be a row of an event: it is kept raw.
func TestKeyWithoutTopicIsOpaque(t *testing.T) {
	lt, s := newLineTest(t), &source{at: 1000}
	require.Equal(t, []string{"opaque", "opaque"}, kinds(lt.feed(s.plain("g", "", 0, 1), s.tombstone("g", "", 0))))
}

// A former owner of a partition commits a lower offset last: the broker keeps the last write,
// so the group goes backwards, once.
func TestPRJ06LateOldCommitOvertakesANewerOne(t *testing.T) {
	lt, s, f := newLineTest(t), &source{at: 1000, next: 50}, newFold(t)
	lt.line.read, lt.line.next = 50, 50
	for _, step := range []struct {
		at   int64
		move projection.Movement
	}{{2, projection.MovementAdvance}, {1, projection.MovementRewind}, {1, projection.MovementRecommit}, {3, projection.MovementAdvance}} {
		f.apply(lt.feed(s.plain("g", "t", 0, step.at)))
		s.at += 1000
		require.Equal(t, step.at, f.visible[key("g", "t", 0)])
		require.Equal(t, step.move, f.changes[len(f.changes)-1].Movement)
	}
}
