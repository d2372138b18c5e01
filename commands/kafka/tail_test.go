package kafka

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/ledgertest"
	"github.com/offsetledger/offsetledger/projection"
)

// patience is how long a test waits for something that takes milliseconds.
const patience = time.Minute

func startFake(t testing.TB, cfg kafkatest.FakeConfig) *kafkatest.Fake {
	fake, err := kafkatest.StartFake(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, fake.Close()) })
	return fake
}

// running is a capture that runs.
type running struct {
	*Tail
	asking *kadm.Client // the test's own
	t      testing.TB
	stop   context.CancelFunc
	done   chan error
}

// reachable is a Kafka cluster, in-process or real.
type reachable interface {
	Options(more ...kgo.Opt) []kgo.Opt
}

// ledgerLog is a log of any lifetime.
type ledgerLog interface {
	Appender
	Read(ctx context.Context, from, to uint64, f ledger.Filter) iter.Seq2[ledger.Record, error]
	Follow(ctx context.Context, from uint64, f ledger.Filter) iter.Seq2[ledger.Record, error]
}

// view folds log live until the test ends.
func view(t testing.TB, log ledgerLog) *projection.View {
	v := projection.NewView()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- v.Run(ctx, log.Follow(ctx, 1, ledger.Filter{})) }()
	t.Cleanup(func() {
		stop()
		<-done
	})
	return v
}

// capture runs a tail that goes on where log says, until the test ends or stops it.
func capture(t testing.TB, kafka reachable, log ledgerLog, change func(*TailConfig)) *running {
	cfg := TailConfig{Options: kafka.Options(), Cluster: "c", Log: log, Interval: 100 * time.Millisecond}
	cfg.TakeUp(folded(t, log))
	if change != nil {
		change(&cfg)
	}
	tail, err := NewTail(cfg)
	require.NoError(t, err)
	client, err := kgo.NewClient(kafka.Options()...)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	r := &running{Tail: tail, asking: kadm.NewClient(client), t: t, stop: stop, done: make(chan error, 1)}
	go func() { r.done <- tail.Run(ctx) }()
	t.Cleanup(func() {
		r.kill()
		client.Close()
	})
	return r
}

// kill stops capture at whatever it is doing and returns what Run returned.
func (r *running) kill() error {
	r.stop()
	err := <-r.done
	r.done <- err
	return err
}

// ready waits until what was there at the start has been captured.
func (r *running) ready() {
	r.t.Helper()
	select {
	case <-r.Ready():
	case err := <-r.done:
		require.NoError(r.t, err, "capture ended")
	case <-time.After(patience):
		require.Fail(r.t, "capture is not ready", "%+v", r.Status())
	}
}

// caughtUp waits until everything that is in __consumer_offsets now is in the ledger.
func (r *running) caughtUp() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	ends, err := r.list(ctx, r.asking.ListEndOffsets)
	require.NoError(r.t, err)
	r.eventually(func(s Status) bool {
		for _, l := range s.Lines {
			if l.Next < ends[l.Partition] {
				return false
			}
			delete(ends, l.Partition)
		}
		return len(ends) == 0
	})
}

func (r *running) eventually(holds func(Status) bool) {
	r.t.Helper()
	require.Eventually(r.t, func() bool {
		select {
		case err := <-r.done:
			r.done <- err
			require.NoError(r.t, err, "capture ended")
		default:
		}
		return holds(r.Status())
	}, patience, 2*time.Millisecond, "%+v", r.Status())
}

func recordsOf(t testing.TB, log ledgerLog) (all []ledger.Record) {
	for rec, err := range log.Read(t.Context(), 1, 0, ledger.Filter{}) {
		require.NoError(t, err)
		all = append(all, rec.Clone())
	}
	return all
}

// eventsOf returns the stored events of some kinds, in order.
func eventsOf(t testing.TB, log ledgerLog, kinds ...ledger.Kind) (events []ledger.Event) {
	for _, rec := range recordsOf(t, log) {
		for _, k := range kinds {
			if rec.Event.Kind == k {
				events = append(events, rec.Event)
			}
		}
	}
	return events
}

func folded(t testing.TB, log ledgerLog) *projection.State {
	s := projection.NewState()
	for rec, err := range log.Read(t.Context(), 1, 0, ledger.Filter{}) {
		require.NoError(t, err)
		_, err = s.Apply(rec)
		require.NoError(t, err)
	}
	return s
}

func commits(group, topic string, partition int32, ats ...int64) (records []*kgo.Record) {
	for _, at := range ats {
		records = append(records, kafkatest.Commit{Group: group, Topic: topic, Partition: partition, At: at, LeaderEpoch: -1, Version: 3}.Record())
	}
	return records
}

// What clients commit through the group API is in the ledger, once and in order; the watermarks
// of the topic they commit to as well.
func TestTailCapturesWhatClientsCommit(t *testing.T) {
	fake := startFake(t, kafkatest.FakeConfig{Topics: map[string]int32{"orders": 3}})
	log := ledgertest.New(t)
	require.NoError(t, fake.Produce(t.Context(), "orders", 1, 7))
	require.NoError(t, fake.Commit(t.Context(), "g", "orders", map[int32]int64{0: 1, 1: 2, 2: 3}))
	require.NoError(t, fake.Sync(t.Context()))
	r := capture(t, fake, log, nil)
	r.ready()
	for at := range int64(5) {
		require.NoError(t, fake.Commit(t.Context(), "g", "orders", map[int32]int64{1: 5 - at}))
		require.NoError(t, fake.Sync(t.Context()))
	}
	r.caughtUp()
	var history []int64
	for _, e := range eventsOf(t, log, ledger.KindCommitted) {
		for _, o := range e.Offsets {
			if o.Partition == 1 {
				history = append(history, o.At)
			}
		}
	}
	require.Equal(t, []int64{2, 5, 4, 3, 2, 1}, history)

	require.Eventually(t, func() bool {
		w, ok := folded(t, log).Watermark("c", "orders", 1)
		return ok && w.LogEnd == 7
	}, patience, 10*time.Millisecond)
	s := r.Status()
	require.True(t, s.Ready)
	require.True(t, s.Healthy())
	require.Equal(t, uint64(8), s.Counts.Rows)
	behind, ok := s.Behind(time.Now())
	require.True(t, ok)
	require.Less(t, behind, patience)
	require.ErrorIs(t, r.kill(), context.Canceled)
}

// Partitions that are empty but not at zero, that end in a marker, that hold one record, that
// never had one: readiness that compared the last record with the end minus one never came, or
// came one record early.
func TestCAP08ReadyWhenEveryLineIsAtItsEnd(t *testing.T) {
	fake := startFake(t, kafkatest.FakeConfig{Partitions: 4})
	ctx, log := t.Context(), ledgertest.New(t)
	group := groupIn(t, 1, 4)

	require.NoError(t, fake.WriteTo(ctx, 0, manyCommits("g0", 5000)...))
	fake.Kafka.DeleteRecords(offsetsTopic, 0, 5000)
	require.NoError(t, fake.WriteTo(ctx, 1, manyCommits(group, 99)...))
	tx, err := fake.Begin(ctx, "tx")
	require.NoError(t, err)
	require.NoError(t, tx.Write(ctx, group, commits(group, "t", 0, 500)...))
	require.NoError(t, tx.Abort(ctx))
	require.NoError(t, fake.WriteTo(ctx, 2, manyCommits("g2", 41)...))
	require.NoError(t, fake.WriteTo(ctx, 2, commits("g2", "t", 0, 777)...))
	fake.Kafka.DeleteRecords(offsetsTopic, 2, 41)

	r := capture(t, fake, log, nil)
	r.ready()
	var next []int64
	for _, l := range r.Status().Lines {
		next = append(next, l.Next)
	}
	require.Equal(t, []int64{5000, 101, 42, 0}, next)
	p, ok := folded(t, log).Partition("c", "g2", "t", 0)
	require.True(t, ok)
	require.Equal(t, int64(777), p.Committed.At)
	require.Empty(t, eventsOf(t, log, ledger.KindGap), "at the first start there is nothing to miss")
}

func manyCommits(group string, n int) (records []*kgo.Record) {
	for i := range n {
		records = append(records, commits(group, "t", 0, int64(i))...)
	}
	return records
}

// groupIn is the id of a group that lives in a partition.
func groupIn(t testing.TB, partition, partitions int32) string {
	for i := range 1000 {
		if g := fmt.Sprintf("group-%d", i); kafkatest.PartitionFor(g, partitions) == partition {
			return g
		}
	}
	require.Fail(t, "no group")
	return ""
}

// Capture is killed twenty times while commits, transactions and deletions flow, and the
// ledger with it now and then; in the end every record is told once, in order, and no gap.
func TestKilledAtAnyMomentNothingIsLostOrDoubled(t *testing.T) {
	fake := startFake(t, kafkatest.FakeConfig{Partitions: 2})
	log := ledgertest.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	flowing := make(chan error, 1)
	go func() { flowing <- flow(ctx, fake) }()
	for i := range 20 {
		r := capture(t, fake, log, nil)
		at := r.Status().Seq + rand.Uint64N(40)
		r.eventually(func(s Status) bool { return s.Seq > at })
		require.ErrorIs(t, r.kill(), context.Canceled)
		if i%7 == 6 {
			log.Crash()
		}
	}
	cancel()
	require.NoError(t, <-flowing)
	r := capture(t, fake, log, nil)
	r.ready()
	r.caughtUp()
	require.ErrorIs(t, r.kill(), context.Canceled)

	require.Equal(t, toldAtOnce(t, fake), toldByPartition(t, log))
	require.Empty(t, eventsOf(t, log, ledger.KindGap))
}

// flow writes what many clients would, until ctx ends.
func flow(ctx context.Context, fake *kafkatest.Fake) error {
	for n := int64(0); ctx.Err() == nil; n++ {
		group := fmt.Sprintf("g%d", n%5)
		records := append(commits(group, "t", 0, n), commits(group, "t", 1, n)...)
		if n%11 == 0 {
			records = append(records, kafkatest.Tombstone(group, "t", 0))
		}
		if err := fake.Write(context.Background(), group, records...); err != nil {
			return err
		}
		if n%7 != 0 {
			continue
		}
		tx, err := fake.Begin(context.Background(), fmt.Sprintf("tx-%d", n%3))
		if err != nil {
			return err
		}
		if err := tx.Write(context.Background(), group, commits(group, "t", 2, n, n+1)...); err != nil {
			return err
		}
		end := tx.Commit
		if n%2 == 0 {
			end = tx.Abort
		}
		if err := end(context.Background()); err != nil {
			return err
		}
	}
	return nil
}

// told is what an event says of one record.
type told struct {
	kind     ledger.Kind
	group    string
	position int64
	at       int64
}

// toldAtOnce is what lines give out that read all of __consumer_offsets without a break.
func toldAtOnce(t testing.TB, fake *kafkatest.Fake) map[int32][]told {
	records, err := fake.ReadOffsets(t.Context())
	require.NoError(t, err)
	lines := map[int32]*lineTest{}
	for _, r := range records {
		if lines[r.Partition] == nil {
			lines[r.Partition] = newLineTest(t)
		}
		rec := fetched(r)
		require.NoError(t, lines[r.Partition].line.feed(&rec, ledger.AtMillis(farFuture)))
	}
	all := map[int32][]told{}
	for p, lt := range lines {
		for _, e := range lt.feed() {
			all[p] = append(all[p], tell(e)...)
		}
	}
	return all
}

func toldByPartition(t testing.TB, log ledgerLog) map[int32][]told {
	all := map[int32][]told{}
	for _, e := range eventsOf(t, log, ledger.KindCommitted, ledger.KindDeleted, ledger.KindFailed) {
		all[e.Source.Partition] = append(all[e.Source.Partition], tell(e)...)
	}
	return all
}

func tell(e ledger.Event) (all []told) {
	for _, o := range e.Offsets {
		all = append(all, told{e.Kind, e.Group, o.SourceOffset, o.At})
	}
	return all
}

// A transaction is open when capture dies; its rows are read again, and nothing else is told
// twice.
func TestOpenTransactionOutlivesCapture(t *testing.T) {
	fake := startFake(t, kafkatest.FakeConfig{Partitions: 1})
	log := ledgertest.New(t)
	ctx := t.Context()
	require.NoError(t, fake.Write(ctx, "g", commits("g", "t", 0, 5)...))
	tx, err := fake.Begin(ctx, "tx")
	require.NoError(t, err)
	require.NoError(t, tx.Write(ctx, "g", commits("g", "t", 0, 100)...))
	require.NoError(t, fake.Write(ctx, "g", commits("g", "t", 1, 6)...))

	r := capture(t, fake, log, nil)
	r.ready()
	require.True(t, r.Status().Lines[0].OpenSince.Known())
	require.ErrorIs(t, r.kill(), context.Canceled)
	p, _ := folded(t, log).Partition("c", "g", "t", 0)
	require.Equal(t, int64(5), p.Committed.At)
	require.NotNil(t, p.Pending)
	require.Equal(t, int64(100), p.Pending.At)

	r = capture(t, fake, log, nil)
	require.NoError(t, tx.Commit(ctx))
	r.caughtUp()
	require.Equal(t, []int64{5, 6, 100}, allAts(eventsOf(t, log, ledger.KindCommitted)))
	p, _ = folded(t, log).Partition("c", "g", "t", 0)
	require.Equal(t, int64(100), p.Committed.At)
	require.Nil(t, p.Pending)
}

func allAts(events []ledger.Event) (all []int64) {
	for _, e := range events {
		all = append(all, ats(e)...)
	}
	return all
}

// Two captures of one cluster collide, and it is the second to append that gives way.
func TestSecondCaptureGivesWay(t *testing.T) {
	fake := startFake(t, kafkatest.FakeConfig{})
	log := ledgertest.New(t)
	first := capture(t, fake, log, nil)
	first.ready()
	first.eventually(func(s Status) bool { return s.Seq > 0 })
	second := capture(t, fake, log, func(cfg *TailConfig) { cfg.Resume = Resume{} })
	select {
	case err := <-second.done:
		second.done <- err
		require.ErrorIs(t, err, ledger.ErrConflict)
	case <-time.After(patience):
		require.Fail(t, "the second capture goes on")
	}
	require.True(t, first.Status().Healthy())
}

// The brokers are not those of the cluster that the ledger holds under the name.
func TestOtherClusterBehindTheSameName(t *testing.T) {
	fake := startFake(t, kafkatest.FakeConfig{})
	log := ledgertest.New(t)
	r := capture(t, fake, log, func(cfg *TailConfig) { cfg.Resume.Cursor.KafkaClusterID = "elsewhere" })
	err := <-r.done
	r.done <- err
	require.ErrorIs(t, err, ErrOtherCluster)
	require.ErrorContains(t, err, "elsewhere")
	require.ErrorContains(t, err, "kfake")
}

// A power cut took the end of the ledger, and with it, being in the same place, the position:
// what is missing is read again.
func TestNAT08PositionIsThatOfTheLastStoredEvent(t *testing.T) {
	fake := startFake(t, kafkatest.FakeConfig{Partitions: 1})
	log, cut := ledgertest.New(t), ledgertest.New(t)
	for at := range int64(10) {
		require.NoError(t, fake.Write(t.Context(), "g", commits("g", "t", 0, at)...))
		r := capture(t, fake, log, nil)
		r.ready()
		require.ErrorIs(t, r.kill(), context.Canceled)
	}
	for _, rec := range recordsOf(t, log) {
		if rec.Event.Kind == ledger.KindCommitted && rec.Event.Offsets[0].At > 5 {
			break
		}
		_, err := cut.Append(t.Context(), []ledger.Event{rec.Event})
		require.NoError(t, err)
	}
	require.Equal(t, []int64{0, 1, 2, 3, 4, 5}, allAts(eventsOf(t, cut, ledger.KindCommitted)))
	r := capture(t, fake, cut, nil)
	r.ready()
	require.Equal(t, []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, allAts(eventsOf(t, cut, ledger.KindCommitted)))
}

// While the log cannot store, capture stands at its position and says so; nothing is skipped.
func TestLogAway(t *testing.T) {
	fake := startFake(t, kafkatest.FakeConfig{Partitions: 1})
	log := ledgertest.New(t)
	full := errors.New("no space left on device")
	faulty := ledgertest.NewFaulty(log)
	for range 4 {
		faulty.FailBefore(full)
	}
	require.NoError(t, fake.Write(t.Context(), "g", commits("g", "t", 0, 1, 2, 3)...))
	r := capture(t, fake, log, func(cfg *TailConfig) { cfg.Log = faulty })
	r.eventually(func(s Status) bool { return errors.Is(s.LogError, full) && !s.Healthy() })
	r.ready()
	require.NoError(t, r.Status().LogError)
	require.Equal(t, []int64{1, 2, 3}, allAts(eventsOf(t, log, ledger.KindCommitted)))
}

// stalledLog is a log that takes nothing until it is let go on, and does not say why.
type stalledLog struct {
	Appender
	goOn chan struct{}
}

func (l stalledLog) Append(ctx context.Context, events []ledger.Event, expects ...ledger.Expect) (ledger.Receipt, error) {
	select {
	case <-l.goOn:
		return l.Appender.Append(ctx, events, expects...)
	case <-ctx.Done():
		return ledger.Receipt{}, ctx.Err()
	}
}

// A log that tries by itself for long, as on a full disk, has not failed yet; that it takes nothing
// is told all the same.
func TestLogTakesNothingForLong(t *testing.T) {
	t.Parallel() // it waits more than it works
	fake := startFake(t, kafkatest.FakeConfig{Partitions: 1})
	log := ledgertest.New(t)
	stalled := stalledLog{log, make(chan struct{})}
	require.NoError(t, fake.Write(t.Context(), "g", commits("g", "t", 0, 1)...))
	r := capture(t, fake, log, func(cfg *TailConfig) { cfg.Log = stalled })
	r.eventually(func(s Status) bool { return s.LogError != nil })
	require.ErrorContains(t, r.Status().LogError, "has not taken an append for 3s")
	close(stalled.goOn)
	r.ready()
	require.NoError(t, r.Status().LogError)
}

// The log stored a batch and could not say so. Capture does not guess: it ends, and the next
// one goes on behind what is stored.
func TestOutcomeOfAnAppendUnknown(t *testing.T) {
	fake := startFake(t, kafkatest.FakeConfig{Partitions: 1})
	log := ledgertest.New(t)
	faulty := ledgertest.NewFaulty(log)
	faulty.FailAfter(errors.New("the answer was lost"))
	require.NoError(t, fake.Write(t.Context(), "g", commits("g", "t", 0, 1, 2, 3)...))
	r := capture(t, fake, log, func(cfg *TailConfig) { cfg.Log = faulty })
	err := <-r.done
	r.done <- err
	require.ErrorIs(t, err, ErrUncertain)
	r = capture(t, fake, log, nil)
	r.ready()
	require.Equal(t, []int64{1, 2, 3}, allAts(eventsOf(t, log, ledger.KindCommitted)))
}

// The brokers removed records before capture had read them. It goes on at the first that is
// left, and says what it may have missed.
func TestRecordsRemovedBeforeTheyWereRead(t *testing.T) {
	fake := startFake(t, kafkatest.FakeConfig{Partitions: 1})
	log := ledgertest.New(t)
	require.NoError(t, fake.Write(t.Context(), "g", commits("g", "t", 0, 1, 2)...))
	r := capture(t, fake, log, nil)
	r.ready()
	require.ErrorIs(t, r.kill(), context.Canceled)
	require.NoError(t, fake.Write(t.Context(), "g", commits("g", "t", 0, 3, 4, 5, 6)...))
	fake.Kafka.DeleteRecords(offsetsTopic, 0, 5)
	r = capture(t, fake, log, nil)
	r.ready()
	require.Equal(t, []int64{1, 2, 6}, allAts(eventsOf(t, log, ledger.KindCommitted)))
	gaps := eventsOf(t, log, ledger.KindGap)
	require.Len(t, gaps, 1)
	require.Equal(t, ledger.CauseCompacted, gaps[0].Cause)
	require.Equal(t, int64(2), gaps[0].Gap.First)
	require.Equal(t, int64(4), gaps[0].Gap.Last)
}

// Partitions are added to __consumer_offsets while capture runs.
func TestNewPartitionsArePickedUp(t *testing.T) {
	fake := startFake(t, kafkatest.FakeConfig{Partitions: 1})
	log := ledgertest.New(t)
	r := capture(t, fake, log, nil)
	r.ready()
	_, err := r.asking.UpdatePartitions(t.Context(), 2, offsetsTopic)
	require.NoError(t, err)
	r.eventually(func(s Status) bool { return len(s.Lines) == 2 })
	require.NoError(t, fake.WriteTo(t.Context(), 1, commits("g", "t", 0, 9)...))
	r.caughtUp()
	require.Equal(t, []int64{9}, allAts(eventsOf(t, log, ledger.KindCommitted)))
}

// Nobody has ever committed, so that there is no __consumer_offsets. Capture is ready, and
// reads the topic from its first record once it is made; none of that is a loss.
func TestOffsetsTopicThatIsMadeLater(t *testing.T) {
	fake := startFake(t, kafkatest.FakeConfig{Partitions: 1})
	require.NoError(t, fake.Kafka.DeleteTopic(offsetsTopic))
	log := ledgertest.New(t)
	r := capture(t, fake, log, nil)
	r.ready()
	require.Empty(t, r.Status().Lines)
	require.NoError(t, fake.Kafka.CreateTopic(offsetsTopic, 2, nil))
	writeAnew(t, fake, commits("g", "t", 0, 1, 2)...)
	r.eventually(func(s Status) bool { return len(s.Lines) == 2 && s.Lines[0].Next == 2 })
	require.Equal(t, []int64{1, 2}, allAts(eventsOf(t, log, ledger.KindCommitted)))
	require.Empty(t, eventsOf(t, log, ledger.KindGap))
}
