package kafka

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetledger/offsetledger/commands"
	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/ledgertest"
)

// pod is a process of a consumer group: a manager, and a client that is bound to it.
type pod struct {
	*kgo.Client
	t      testing.TB
	m      *commands.Manager
	stop   context.CancelFunc
	run    chan error
	closed bool
}

// podConfig is what differs between pods.
type podConfig struct {
	bind    Bind
	manager commands.Config
	opts    []kgo.Opt
}

func startPod(t testing.TB, kafka reachable, log commands.Log, group, topic string, cfg podConfig) *pod {
	t.Helper()
	cfg.manager.Cluster, cfg.manager.Group, cfg.manager.KafkaCommits = "c", group, true
	if cfg.manager.Strategy == (commands.Strategy{}) {
		cfg.manager.Strategy = commands.Periodic(50 * time.Millisecond)
	}
	m, err := commands.NewManager(t.Context(), log, cfg.manager)
	require.NoError(t, err)
	opts := append(kafka.Options(
		kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxWait(50*time.Millisecond), kgo.HeartbeatInterval(200*time.Millisecond),
	), cfg.opts...)
	client, err := kgo.NewClient(append(opts, Opts(m, cfg.bind)...)...)
	require.NoError(t, err)
	p := &pod{Client: client, t: t, m: m, run: make(chan error, 1)}
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	go func() { p.run <- m.Run(ctx) }()
	t.Cleanup(p.kill)
	return p
}

// leave ends the pod in good order.
func (p *pod) leave() {
	p.t.Helper()
	p.closed = true
	p.CloseAllowingRebalance()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	require.NoError(p.t, p.m.Close(ctx))
	require.NoError(p.t, <-p.run)
	p.stop()
}

// kill ends the pod so that nothing more is committed.
func (p *pod) kill() {
	if p.closed {
		return
	}
	p.closed = true
	p.stop()
	<-p.run
	var all []ledger.TopicPartition
	for tp := range p.m.Pending() {
		all = append(all, tp)
	}
	p.m.Drop(all...)
	p.CloseAllowingRebalance()
}

// poll polls until n records have come, which it returns by offset of partition 0 and up.
func (p *pod) poll(n int) []*kgo.Record {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	var got []*kgo.Record
	for len(got) < n {
		fetches := p.PollRecords(ctx, n-len(got))
		require.NoError(p.t, fetches.Err())
		got = append(got, fetches.Records()...)
	}
	return got
}

func (p *pod) done(records ...*kgo.Record) {
	p.t.Helper()
	for _, r := range records {
		require.NoError(p.t, Done(p.m, r))
	}
}

// committedAt is what the broker has of a partition; -1 if nothing.
func committedAt(t testing.TB, kafka reachable, group, topic string, partition int32) int64 {
	t.Helper()
	client, err := kgo.NewClient(kafka.Options()...)
	require.NoError(t, err)
	defer client.Close()
	resp, err := kadm.NewClient(client).FetchOffsets(t.Context(), group)
	if errors.Is(err, kerr.GroupIDNotFound) {
		return -1
	}
	require.NoError(t, err)
	o, ok := resp.Lookup(topic, partition)
	if !ok {
		return -1
	}
	return o.At
}

// positionsIn are the offsets of a partition that events of a kind hold, in order.
func positionsIn(t testing.TB, log ledgerLog, kind ledger.Kind, topic string, partition int32) (ats []int64) {
	t.Helper()
	for _, e := range eventsOf(t, log, kind) {
		for _, r := range e.Offsets {
			if r.Topic == topic && r.Partition == partition {
				ats = append(ats, r.At)
			}
		}
	}
	return ats
}

func TestBoundConsumerCommitsWhatIsDone(t *testing.T) {
	fake := startFake(t, kafkatest.FakeConfig{Topics: map[string]int32{"orders": 1}})
	require.NoError(t, fake.Produce(t.Context(), "orders", 0, 10))
	log := ledgertest.New(t)
	p := startPod(t, fake, log, "billing", "orders", podConfig{manager: commands.Config{Strategy: commands.Manual()}})
	records := p.poll(10)
	member, _ := p.GroupMetadata()
	slices.Reverse(records) // workers end in any order
	p.done(records[:9]...)
	n, err := p.m.Commit(t.Context())
	require.NoError(t, err)
	require.Zero(t, n, "record 0 is not done")
	p.done(records[9])
	n, err = p.m.Commit(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, n)

	require.EqualValues(t, 10, committedAt(t, fake, "billing", "orders", 0))
	told := eventsOf(t, log, ledger.KindCommitted)
	require.Len(t, told, 1)
	row := told[0].Offsets[0]
	require.EqualValues(t, 10, row.At)
	require.Equal(t, member, row.Metadata, "as it was sent to the broker")
	require.NotZero(t, row.TopicID)
	require.Equal(t, ledger.SourceManager, told[0].Source.Kind)
	p.leave()
}

// Partitions move between members while records are being worked on. The old owner finished
// later and committed a lower offset over the new owner's: here it cannot.
func TestCMT05RevokedWithWorkInFlight(t *testing.T) {
	fake := startFake(t, kafkatest.FakeConfig{Topics: map[string]int32{"orders": 1}})
	require.NoError(t, fake.Produce(t.Context(), "orders", 0, 10))
	log := ledgertest.New(t)
	revoked := make(chan struct{}, 1)
	a := startPod(t, fake, log, "billing", "orders", podConfig{
		manager: commands.Config{Strategy: commands.Periodic(time.Hour)},
		bind: Bind{OnRevoked: func(_ context.Context, _ *kgo.Client, ps map[string][]int32) {
			if len(ps) > 0 {
				revoked <- struct{}{}
			}
		}},
	})
	records := a.poll(10)
	a.done(records[:4]...)
	a.ForceRebalance()
	leaving := make(chan struct{})
	go func() { defer close(leaving); a.LeaveGroup() }()
	<-revoked
	<-leaving
	require.EqualValues(t, 4, committedAt(t, fake, "billing", "orders", 0))

	b := startPod(t, fake, log, "billing", "orders", podConfig{manager: commands.Config{Strategy: commands.Periodic(time.Hour)}})
	again := b.poll(6)
	require.EqualValues(t, 4, again[0].Offset)
	b.done(again[:4]...)
	for _, r := range records[4:] {
		require.ErrorIs(t, Done(a.m, r), commands.ErrNotOwned)
	}
	n, err := a.m.Commit(t.Context())
	require.NoError(t, err)
	require.Zero(t, n)
	b.leave()
	require.EqualValues(t, 8, committedAt(t, fake, "billing", "orders", 0))
	require.Equal(t, []int64{4, 8}, positionsIn(t, log, ledger.KindCommitted, "orders", 0))
}

// Polled is not processed: at the end of a process, in good order or not, what is committed is
// what was done.
func TestCMT06PolledIsNotProcessed(t *testing.T) {
	for name, end := range map[string]struct {
		how  func(*pod)
		want int64
	}{
		"closed": {(*pod).leave, 4},
		"killed": {(*pod).kill, -1},
	} {
		t.Run(name, func(t *testing.T) {
			fake := startFake(t, kafkatest.FakeConfig{Topics: map[string]int32{"orders": 1}})
			require.NoError(t, fake.Produce(t.Context(), "orders", 0, 10))
			p := startPod(t, fake, ledgertest.New(t), "billing", "orders", podConfig{manager: commands.Config{Strategy: commands.Periodic(time.Hour)}})
			p.done(p.poll(10)[:4]...)
			end.how(p)
			require.Equal(t, end.want, committedAt(t, fake, "billing", "orders", 0))
		})
	}
}

// With automatic commits switched off a library wrote marked offsets on close all the same.
func TestCMT07ManualMeansManual(t *testing.T) {
	fake := startFake(t, kafkatest.FakeConfig{Topics: map[string]int32{"orders": 2}})
	require.NoError(t, fake.Produce(t.Context(), "orders", 0, 10))
	log := ledgertest.New(t)
	p := startPod(t, fake, log, "billing", "orders", podConfig{manager: commands.Config{Strategy: commands.Manual()}})
	p.done(p.poll(10)...)
	p.ForceRebalance()
	p.leave()
	require.EqualValues(t, -1, committedAt(t, fake, "billing", "orders", 0))
	require.Empty(t, eventsOf(t, log, ledger.KindCommitted))
}

// Of three partitions the broker takes one. Only that one is committed: the answer counts and
// not the request.
func TestCAP18TheAnswerCountsNotTheRequest(t *testing.T) {
	fake := startFake(t, kafkatest.FakeConfig{Topics: map[string]int32{"orders": 3}})
	for p := range int32(3) {
		require.NoError(t, fake.Produce(t.Context(), "orders", p, 5))
	}
	log := ledgertest.New(t)
	p := startPod(t, fake, log, "billing", "orders", podConfig{manager: commands.Config{Strategy: commands.Manual()}})
	p.done(p.poll(15)...)
	fake.Kafka.ControlKey(int16(kmsg.OffsetCommit), func(req kmsg.Request) (kmsg.Response, error, bool) {
		commit := req.(*kmsg.OffsetCommitRequest)
		resp := commit.ResponseKind().(*kmsg.OffsetCommitResponse)
		for _, topic := range commit.Topics {
			out := kmsg.NewOffsetCommitResponseTopic()
			out.Topic, out.TopicID = topic.Topic, topic.TopicID
			for _, part := range topic.Partitions {
				answer := kmsg.NewOffsetCommitResponseTopicPartition()
				answer.Partition = part.Partition
				answer.ErrorCode = map[int32]int16{0: 0, 1: 22, 2: 12}[part.Partition]
				out.Partitions = append(out.Partitions, answer)
			}
			resp.Topics = append(resp.Topics, out)
		}
		return resp, nil, true
	})
	n, err := p.m.Commit(t.Context())
	require.Equal(t, 1, n)
	var refused *commands.RefusedError
	require.ErrorAs(t, err, &refused)
	require.Len(t, refused.Rows, 2)
	require.Equal(t, []int64{5}, positionsIn(t, log, ledger.KindCommitted, "orders", 0))
	for partition, code := range map[int32]int16{1: 22, 2: 12} {
		require.Empty(t, positionsIn(t, log, ledger.KindCommitted, "orders", partition))
		failed := eventsOf(t, log, ledger.KindFailed)
		require.Len(t, failed, 1)
		i := slices.IndexFunc(failed[0].Offsets, func(r ledger.Offset) bool { return r.Partition == partition })
		require.Equal(t, code, failed[0].Offsets[i].ErrorCode)
		_, known := p.m.Offset("orders", partition)
		require.False(t, known)
	}
}

// A commit takes two requests, and the second gets no answer. What the first has committed is
// committed: only the others have failed, and go with the next commit.
func TestCommitOfSeveralRequestsBrokenOffBetween(t *testing.T) {
	const partitions = 200
	fake := startFake(t, kafkatest.FakeConfig{Topics: map[string]int32{"orders": partitions}})
	require.NoError(t, fake.Produce(t.Context(), "orders", 0, 1))
	log := ledgertest.New(t)
	p := startPod(t, fake, log, "billing", "orders", podConfig{manager: commands.Config{Strategy: commands.Manual()}})
	p.poll(1)
	metadata := strings.Repeat("m", 4000)
	for i := range int32(partitions) {
		require.NoError(t, p.m.Update(commands.Update{Topic: "orders", Partition: i, Offset: 1, Metadata: metadata}))
	}
	ctx, cancel := context.WithCancel(t.Context())
	requests := 0
	fake.Kafka.ControlKey(int16(kmsg.OffsetCommit), func(kmsg.Request) (kmsg.Response, error, bool) {
		fake.Kafka.KeepControl()
		if requests++; requests != 2 {
			return nil, nil, false
		}
		cancel()
		return nil, errors.New("the connection breaks"), true
	})
	first, err := p.m.Commit(ctx)
	require.Error(t, err)
	require.Positive(t, first)
	require.Less(t, first, partitions)
	rest, err := p.m.Commit(t.Context())
	require.NoError(t, err)
	require.Equal(t, partitions, first+rest)

	failed := map[int32]bool{}
	for _, event := range eventsOf(t, log, ledger.KindFailed) {
		for _, row := range event.Offsets {
			require.Equal(t, kerr.RequestTimedOut.Code, row.ErrorCode)
			failed[row.Partition] = true
		}
	}
	require.Len(t, failed, rest)
	for i := range int32(partitions) {
		require.Equal(t, []int64{1}, positionsIn(t, log, ledger.KindCommitted, "orders", i), "partition %d", i)
	}
}

// On watermark, records that workers finish out of order are committed as far as the timestamps of
// all of them lie before it.
func TestCMT02WatermarkOverRecordsDoneInAnyOrder(t *testing.T) {
	fake := startFake(t, kafkatest.FakeConfig{Topics: map[string]int32{"orders": 1}})
	client, err := kgo.NewClient(fake.Options(kgo.DefaultProduceTopic("orders"))...)
	require.NoError(t, err)
	defer client.Close()
	noon := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	at := func(minute int) time.Time { return noon.Add(time.Duration(minute) * time.Minute) }
	for _, minute := range []int{1, 9, 3, 4} {
		require.NoError(t, client.ProduceSync(t.Context(), &kgo.Record{Timestamp: at(minute), Value: []byte("x")}).FirstErr())
	}
	p := startPod(t, fake, ledgertest.New(t), "billing", "orders", podConfig{manager: commands.Config{Strategy: commands.OnWatermark()}})
	records := p.poll(4)
	p.done(records[0], records[2], records[1], records[3])
	for _, c := range []struct {
		watermark int
		committed bool
		want      int64
	}{{0, false, -1}, {5, true, 1}, {8, false, 1}, {9, true, 4}} {
		committed, err := p.m.NotifyWatermark(t.Context(), at(c.watermark))
		require.NoError(t, err)
		require.Equal(t, c.committed, committed, "minute %d", c.watermark)
		require.Equal(t, c.want, committedAt(t, fake, "billing", "orders", 0))
	}
}

// A group that commits to the ledger alone starts from there, and Kafka has no offsets of it.
func TestLedgerAlone(t *testing.T) {
	fake := startFake(t, kafkatest.FakeConfig{Topics: map[string]int32{"orders": 1}})
	require.NoError(t, fake.Produce(t.Context(), "orders", 0, 10))
	log := ledgertest.New(t)
	for _, want := range []int64{0, 4} {
		m, err := commands.NewManager(t.Context(), log, commands.Config{Cluster: "c", Group: "billing"})
		require.NoError(t, err)
		client, err := kgo.NewClient(append(fake.Options(kgo.ConsumerGroup("billing"), kgo.ConsumeTopics("orders"),
			kgo.ConsumeStartOffset(kgo.NewOffset().AtStart())), Opts(m, Bind{})...)...)
		require.NoError(t, err)
		p := &pod{Client: client, t: t, m: m}
		records := p.poll(4)
		require.Equal(t, want, records[0].Offset)
		p.done(records...)
		client.Close()
		require.NoError(t, m.Close(t.Context()))
	}
	require.EqualValues(t, -1, committedAt(t, fake, "billing", "orders", 0))
	require.Equal(t, []int64{4, 8}, positionsIn(t, log, ledger.KindCommitted, "orders", 0))
}

func TestOtherGroupIsRefused(t *testing.T) {
	fake := startFake(t, kafkatest.FakeConfig{Topics: map[string]int32{"orders": 1}})
	m, err := commands.NewManager(t.Context(), ledgertest.New(t), commands.Config{Cluster: "c", Group: "billing", KafkaCommits: true, Strategy: commands.Manual()})
	require.NoError(t, err)
	client, err := kgo.NewClient(append(fake.Options(kgo.ConsumerGroup("other"), kgo.ConsumeTopics("orders")), Opts(m, Bind{})...)...)
	require.NoError(t, err)
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.ErrorContains(t, client.PollFetches(ctx).Err(), `consumer of group "other" is bound to the offset manager of "billing"`)
}

func TestResetAsksKafkaAndReadsOnFromThere(t *testing.T) {
	fake := startFake(t, kafkatest.FakeConfig{Topics: map[string]int32{"orders": 1}})
	require.NoError(t, fake.Produce(t.Context(), "orders", 0, 10))
	deleteRecords(t, fake, "orders", 0, 2)
	log := ledgertest.New(t)
	p := startPod(t, fake, log, "billing", "orders", podConfig{manager: commands.Config{Strategy: commands.Manual()}})
	records := p.poll(8)
	p.done(records...)
	_, err := p.m.Commit(t.Context())
	require.NoError(t, err)
	for _, c := range []struct {
		to   commands.Reset
		want int64
	}{
		{commands.Earliest(), 2}, {commands.Latest(), 10}, {commands.Specific(7), 7},
		{commands.Timestamp(records[0].Timestamp), 2}, {commands.Timestamp(time.Now().Add(time.Hour)), 10},
	} {
		at, err := Reset(t.Context(), p.Client, "orders", 0, c.to)
		require.NoError(t, err)
		require.Equal(t, c.want, at, "%s", c.to)
		require.Equal(t, c.want, committedAt(t, fake, "billing", "orders", 0))
	}
	_, err = Reset(t.Context(), p.Client, "orders", 0, commands.Earliest())
	require.NoError(t, err)
	again := p.poll(1)
	require.EqualValues(t, 2, again[0].Offset)
	p.done(again...)
	_, err = p.m.Commit(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 3, committedAt(t, fake, "billing", "orders", 0))

	require.Len(t, eventsOf(t, log, ledger.KindIntent), 6)
	require.Equal(t, []int64{2, 10, 7, 2, 10, 2}, positionsIn(t, log, ledger.KindReset, "orders", 0))
}

func TestResetOfAForeignClient(t *testing.T) {
	fake := startFake(t, kafkatest.FakeConfig{})
	client, err := kgo.NewClient(fake.Options()...)
	require.NoError(t, err)
	defer client.Close()
	_, err = Reset(t.Context(), client, "orders", 0, commands.Earliest())
	require.ErrorIs(t, err, ErrNotBound)
}

func TestClearDeletesInKafka(t *testing.T) {
	fake := startFake(t, kafkatest.FakeConfig{Topics: map[string]int32{"orders": 1}})
	require.NoError(t, fake.Produce(t.Context(), "orders", 0, 10))
	log := ledgertest.New(t)
	p := startPod(t, fake, log, "billing", "orders", podConfig{manager: commands.Config{Strategy: commands.Manual()}})
	p.done(p.poll(10)...)
	_, err := p.m.Commit(t.Context())
	require.NoError(t, err)
	p.LeaveGroup()
	require.NoError(t, p.m.Clear(t.Context()))
	require.EqualValues(t, -1, committedAt(t, fake, "billing", "orders", 0))
	require.Len(t, eventsOf(t, log, ledger.KindDeleted), 1)
}

// The kinds of groups.
var protocols = map[string][]kgo.Opt{
	"eager":       {kgo.Balancers(kgo.RangeBalancer())},
	"cooperative": {kgo.Balancers(kgo.CooperativeStickyBalancer())},
	"KIP-848":     {kgo.ServerSideBalancer()},
}
