package brokers_test

import (
	"context"
	"errors"
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/offsetledger/offsetledger/cmd/internal/brokers"
	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/ledgertest"
	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/replay"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const cluster, topic = "prod", "orders"

// world is a Kafka in this process, and a ledger.
type world struct {
	t      testing.TB
	fake   *kafkatest.Fake
	client *kgo.Client
	b      *brokers.Brokers
	log    *ledgertest.Ledger
}

func newWorld(t testing.TB) *world {
	fake, err := kafkatest.StartFake(kafkatest.FakeConfig{Topics: map[string]int32{topic: 3}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, fake.Close()) })
	client, err := kgo.NewClient(fake.Options(kgo.MetadataMinAge(10 * time.Millisecond))...)
	require.NoError(t, err)
	t.Cleanup(client.Close)
	w := &world{t: t, fake: fake, client: client, b: brokers.New(client, nil), log: ledgertest.New(t)}
	for p := range int32(3) {
		require.NoError(t, fake.Produce(t.Context(), topic, p, 100))
	}
	return w
}

// rewound is a group that was at 90 and is at 10.
func (w *world) rewound(group string) {
	for _, at := range []int64{90, 10} {
		rows := make([]ledger.Offset, 3)
		for p := range rows {
			rows[p] = ledger.Offset{Topic: topic, Partition: int32(p), At: at, LeaderEpoch: ledger.EpochOf(0), Metadata: "host-1"}
		}
		_, err := w.b.Commit(w.t.Context(), group, rows)
		require.NoError(w.t, err)
	}
}

// plan is a plan that puts groups to an offset, made now.
func (w *world) plan(at int64, groups ...string) *replay.Plan {
	p := &replay.Plan{Command: replay.CommandRestore, Cluster: cluster, Point: "seq:1", Rules: replay.Rules{AllowNewGroup: true}}
	for _, name := range groups {
		g := replay.PlanGroup{Group: name}
		for n := range int32(3) {
			g.Steps = append(g.Steps, replay.Step{
				Topic: topic, Partition: n, Action: replay.ActionSet, Target: projection.Value{At: at, Exists: true},
				Recorded: true, RecordedEpoch: ledger.EpochOf(0), Metadata: "host-1",
			})
		}
		p.Groups = append(p.Groups, g)
	}
	facts, err := w.b.Facts(w.t.Context(), p.Inquiry())
	require.NoError(w.t, err)
	p = p.Renew(facts)
	p.Made, p.KafkaClusterID = facts.At, facts.KafkaClusterID
	p.Seal(nil)
	return p
}

var night = replay.By{Actor: "ana@ops", Reason: "the deploy of 02:46"}

func (w *world) apply(p *replay.Plan) (*replay.Restored, error) {
	return replay.Apply(w.t.Context(), w.log, w.b, replay.Order{Plan: p, By: night})
}

// at is what a group has committed, by partition.
func (w *world) at(group string) []int64 {
	f, err := w.b.Facts(w.t.Context(), replay.Inquiry{Groups: []string{group}})
	require.NoError(w.t, err)
	var out []int64
	for _, r := range f.Groups[0].Rows {
		out = append(out, r.At)
	}
	return out
}

// events are the events of a group, by kind.
func (w *world) events(group string) map[ledger.Kind][]ledger.Event {
	out := map[ledger.Kind][]ledger.Event{}
	for rec, err := range w.log.Read(w.t.Context(), 1, 0, ledger.Filter{Subjects: []string{ledger.GroupSubjects(cluster, group)}}) {
		require.NoError(w.t, err)
		out[rec.Event.Kind] = append(out[rec.Event.Kind], rec.Event.Clone())
	}
	return out
}

// A plan is carried out: what was there before is recorded before anything is written, each
// offset is committed with its metadata and epoch, and a reset tells who did it, why and by
// which plan. Undone, everything is as it was, epoch and metadata too.
func TestAPlanIsCarriedOutAndTakenBack(t *testing.T) {
	w := newWorld(t)
	w.rewound("billing")
	p := w.plan(90, "billing")
	require.True(t, p.Executable())
	done, err := w.apply(p)
	require.NoError(t, err)
	require.Equal(t, []replay.RestoredGroup{{Group: "billing", Written: 3}}, done.Groups)
	require.Equal(t, []int64{90, 90, 90}, w.at("billing"))

	events := w.events("billing")
	require.Len(t, events[ledger.KindIntent], 1)
	require.Len(t, events[ledger.KindReset], 1)
	intent, reset := events[ledger.KindIntent][0], events[ledger.KindReset][0]
	for _, ev := range []ledger.Event{intent, reset} {
		require.Equal(t, []string{night.Actor, night.Reason, p.ID}, []string{ev.Actor, ev.Reason, ev.Plan})
		require.Len(t, ev.Offsets, 3)
		require.Len(t, ev.Before, 3)
		require.Equal(t, int64(90), ev.Offsets[2].At)
		require.Equal(t, ledger.EpochOf(0), ev.Offsets[2].LeaderEpoch)
		require.Equal(t, "host-1", ev.Offsets[2].Metadata)
		require.Equal(t, int64(10), ev.Before[2].At)
	}

	u, err := replay.NewUndo(t.Context(), w.log, cluster, done.ID)
	require.NoError(t, err)
	facts, err := w.b.Facts(t.Context(), u.Inquiry())
	require.NoError(t, err)
	back, err := u.Plan(facts, replay.UndoRules{})
	require.NoError(t, err)
	require.True(t, back.Executable())
	back.Seal(nil)
	again, err := w.apply(back)
	require.NoError(t, err)
	require.NotEqual(t, done.ID, again.ID)
	require.Equal(t, []int64{10, 10, 10}, w.at("billing"))
	now, err := w.b.Facts(t.Context(), replay.Inquiry{Groups: []string{"billing"}})
	require.NoError(t, err)
	require.Equal(t, "host-1", now.Groups[0].Rows[0].Metadata)
	require.Equal(t, ledger.EpochOf(0), now.Groups[0].Rows[0].LeaderEpoch)
}

// What a group has committed since a restore is not undone by the way.
func TestAnUndoAfterProgressIsRefused(t *testing.T) {
	w := newWorld(t)
	w.rewound("billing")
	done, err := w.apply(w.plan(90, "billing"))
	require.NoError(t, err)
	require.NoError(t, w.fake.Commit(t.Context(), "billing", topic, map[int32]int64{1: 95}))
	u, err := replay.NewUndo(t.Context(), w.log, cluster, done.ID)
	require.NoError(t, err)
	facts, err := w.b.Facts(t.Context(), u.Inquiry())
	require.NoError(t, err)
	p, err := u.Plan(facts, replay.UndoRules{})
	require.NoError(t, err)
	require.True(t, p.Impossible())
	require.Contains(t, p.Groups[0].Steps[1].Reason, "90 was written and 95 is committed since; rule after_progress")
	p, err = u.Plan(facts, replay.UndoRules{AfterProgress: true})
	require.NoError(t, err)
	require.True(t, p.Executable())
	_, err = replay.NewUndo(t.Context(), w.log, cluster, "r000000")
	require.ErrorIs(t, err, replay.ErrNoUndo)
}

// A group with a member is left alone; with patience it is written to as soon as the member
// has gone.
func TestAGroupWithAMemberIsWaitedFor(t *testing.T) {
	w := newWorld(t)
	w.rewound("billing")
	p := w.plan(90, "billing")
	member, err := kgo.NewClient(w.fake.Options(kgo.ConsumerGroup("billing"), kgo.ConsumeTopics(topic), kgo.ClientID("billing-8a"), kgo.DisableAutoCommit())...)
	require.NoError(t, err)
	defer member.Close()
	require.NoError(t, member.PollFetches(t.Context()).Err())

	_, err = w.apply(p)
	require.ErrorIs(t, err, replay.ErrBlocked)
	require.ErrorContains(t, err, "billing-8a")
	require.Empty(t, w.events("billing"))
	_, err = replay.Apply(t.Context(), w.log, w.b, replay.Order{Plan: p, By: night, WaitEmpty: time.Millisecond})
	require.ErrorIs(t, err, replay.ErrWaited)

	var seen []string
	done, err := replay.Apply(t.Context(), w.log, w.b, replay.Order{Plan: p, By: night, WaitEmpty: time.Minute, Waiting: func(groups []replay.PlanGroup) {
		seen = append(seen, groups[0].Members[0].ClientID)
		require.NoError(t, member.LeaveGroupContext(t.Context()))
	}})
	require.NoError(t, err)
	require.Equal(t, []string{"billing-8a"}, seen)
	require.Equal(t, 3, done.Groups[0].Written)
	require.Equal(t, []int64{90, 90, 90}, w.at("billing"))
}

// What is committed may move between plan and apply, but not past the target: that is another
// plan. Who wants no move at all says so.
func TestAPlanThatIsNotTrueAnyMoreIsNotCarriedOut(t *testing.T) {
	w := newWorld(t)
	w.rewound("billing")
	p := w.plan(90, "billing")
	require.NoError(t, w.fake.Commit(t.Context(), "billing", topic, map[int32]int64{1: 40}))
	_, err := replay.Apply(t.Context(), w.log, w.b, replay.Order{Plan: p, By: night, Strict: true})
	require.ErrorIs(t, err, replay.ErrStale)
	require.NoError(t, w.fake.Commit(t.Context(), "billing", topic, map[int32]int64{2: 95}))
	_, err = w.apply(p)
	require.ErrorIs(t, err, replay.ErrStale)
	require.ErrorContains(t, err, "billing orders/2: set 90 (back), and was set 90 (forward)")
	require.Equal(t, []int64{10, 40, 95}, w.at("billing"))
	require.NoError(t, w.fake.Commit(t.Context(), "billing", topic, map[int32]int64{2: 60}))
	done, err := w.apply(p)
	require.NoError(t, err)
	require.Equal(t, replay.Drift{Moved: 2, Forward: 80}, done.Drift)
}

// refuse has the broker refuse the next commit of a group, all of it.
func (w *world) refuse(group string) {
	w.fake.Kafka.ControlKey(int16(kmsg.OffsetCommit), func(r kmsg.Request) (kmsg.Response, error, bool) {
		req := r.(*kmsg.OffsetCommitRequest)
		if req.Group != group {
			return nil, nil, false
		}
		resp := req.ResponseKind().(*kmsg.OffsetCommitResponse)
		for _, t := range req.Topics {
			answer := kmsg.NewOffsetCommitResponseTopic()
			answer.Topic, answer.TopicID = t.Topic, t.TopicID
			for _, p := range t.Partitions {
				one := kmsg.NewOffsetCommitResponseTopicPartition()
				one.Partition, one.ErrorCode = p.Partition, kerr.TopicAuthorizationFailed.Code
				answer.Partitions = append(answer.Partitions, one)
			}
			resp.Topics = append(resp.Topics, answer)
		}
		return resp, nil, true
	})
}

// A restore of three groups, one of which the broker refuses and one of which has
// nothing to be done: what was written, refused and left alone is counted, everything is read
// back, and it is no success. The next one is, of all three.
func TestRST12RestoreThatClaimsSuccess(t *testing.T) {
	w := newWorld(t)
	for _, group := range []string{"billing", "refunds", "quiet"} {
		w.rewound(group)
	}
	_, err := w.apply(w.plan(90, "quiet"))
	require.NoError(t, err)
	p := w.plan(90, "billing", "refunds", "quiet")
	w.refuse("refunds")
	done, err := w.apply(p)
	require.ErrorIs(t, err, replay.ErrPartly)
	written, deleted, refused := done.Sums()
	require.Equal(t, [3]int{3, 0, 3}, [3]int{written, deleted, refused})
	require.Equal(t, replay.RestoredGroup{Group: "quiet", Kept: 3}, done.Groups[0], "it is where it is to be")
	require.Equal(t, [][]int64{{90, 90, 90}, {10, 10, 10}, {90, 90, 90}}, [][]int64{w.at("billing"), w.at("refunds"), w.at("quiet")})

	again, err := w.apply(p)
	require.NoError(t, err)
	require.Equal(t, done.ID, again.ID, "the same restore goes on")
	for _, group := range []string{"billing", "refunds", "quiet"} {
		require.Equal(t, []int64{90, 90, 90}, w.at(group))
	}
}

// One partition is refused by the broker: that one is told, the others are done, and the same
// call again does the rest alone.
func TestWhatWasRefusedIsDoneByTheNextRun(t *testing.T) {
	w := newWorld(t)
	w.rewound("billing")
	p := w.plan(90, "billing")
	w.refuse("billing")
	done, err := w.apply(p)
	require.ErrorIs(t, err, replay.ErrPartly)
	require.Len(t, done.Groups[0].Refused, 3)
	require.Equal(t, kerr.TopicAuthorizationFailed.Code, done.Groups[0].Refused[0].Code)
	require.Equal(t, []int64{10, 10, 10}, w.at("billing"))
	failed := w.events("billing")[ledger.KindFailed]
	require.Len(t, failed, 1)
	require.Len(t, failed[0].Offsets, 3)

	again, err := w.apply(p)
	require.NoError(t, err)
	require.True(t, again.Resumed)
	require.Equal(t, done.ID, again.ID)
	require.Equal(t, 3, again.Groups[0].Written)
	require.Equal(t, []int64{90, 90, 90}, w.at("billing"))
}

// Two people: whoever carries a plan out needs somebody else who has agreed to it.
func TestAPlanThatNeedsApproval(t *testing.T) {
	w := newWorld(t)
	w.rewound("billing")
	p := w.plan(90, "billing")
	apply := func() error {
		_, err := replay.Apply(t.Context(), w.log, w.b, replay.Order{Plan: p, By: night, NeedsApproval: true})
		return err
	}
	require.ErrorIs(t, apply(), replay.ErrRefused)
	require.NoError(t, replay.Approve(t.Context(), w.log, p, night, time.Now()))
	require.NoError(t, replay.Approve(t.Context(), w.log, p, replay.By{Actor: " Ana@OPS "}, time.Now())) // the same person
	require.NoError(t, replay.Approve(t.Context(), w.log, p, replay.By{Actor: "eve"}, time.Now().Add(time.Hour)))
	require.ErrorContains(t, apply(), "ana@ops has agreed to it, and carries it out")
	other := replay.By{Actor: "ben@ops"}
	require.NoError(t, replay.Approve(t.Context(), w.log, p, other, time.Now().Add(-25*time.Hour)))
	require.ErrorIs(t, apply(), replay.ErrRefused)
	require.NoError(t, replay.Approve(t.Context(), w.log, p, other, time.Now()))
	require.NoError(t, apply())
	require.Equal(t, []int64{90, 90, 90}, w.at("billing"))
}

// cutOff is a ledger whose user dies at its n-th append: before it, or after.
type cutOff struct {
	replay.Log
	left  int
	after bool
}

var errKilled = errors.New("killed")

func (c *cutOff) Append(ctx context.Context, events []ledger.Event, expects ...ledger.Expect) (ledger.Receipt, error) {
	c.left--
	if c.left == 0 && !c.after {
		return ledger.Receipt{}, errKilled
	}
	r, err := c.Log.Append(ctx, events, expects...)
	if c.left == 0 {
		return r, errors.Join(err, errKilled)
	}
	return r, err
}

func (c *cutOff) Read(ctx context.Context, from, to uint64, f ledger.Filter) iter.Seq2[ledger.Record, error] {
	return c.Log.Read(ctx, from, to, f)
}

// However a run is cut off, between any two steps, the next one finishes it: every group is
// where it was to be, was committed to once, and has one reset that knows what was before.
func TestARunThatWasCutOffIsFinishedAndNothingIsRepeated(t *testing.T) {
	for n := 1; n <= 4; n++ { // apply, intents, resets, applied
		for _, after := range []bool{false, true} {
			w := newWorld(t)
			groups := []string{"billing", "fraud"}
			for _, g := range groups {
				w.rewound(g)
			}
			p := w.plan(90, groups...)
			var mu sync.Mutex
			commits := map[string]int{}
			w.fake.Kafka.ControlKey(int16(kmsg.OffsetCommit), func(r kmsg.Request) (kmsg.Response, error, bool) {
				w.fake.Kafka.KeepControl()
				mu.Lock()
				defer mu.Unlock()
				commits[r.(*kmsg.OffsetCommitRequest).Group]++
				return nil, nil, false
			})
			first, err := replay.Apply(t.Context(), &cutOff{Log: w.log, left: n, after: after}, w.b, replay.Order{Plan: p, By: night})
			require.ErrorIs(t, err, errKilled)
			done, err := w.apply(p)
			if n == 4 && after {
				require.ErrorIs(t, err, replay.ErrStale, "it was done, and recorded as done: there is nothing left")
				require.ErrorContains(t, err, "was carried out already, as "+first.ID)
			} else {
				require.NoError(t, err, "append %d, after: %t", n, after)
				require.Equal(t, n > 1 || after, done.Resumed)
				if done.Resumed {
					require.Equal(t, first.ID, done.ID)
				}
			}
			all := w.restores()
			require.Len(t, all, 1)
			require.True(t, all[0].Whole)
			require.Equal(t, 6, all[0].Written, "both runs count: append %d, after: %t", n, after)
			for _, g := range groups {
				require.Equal(t, []int64{90, 90, 90}, w.at(g))
				mu.Lock()
				require.Equal(t, 1, commits[g], "append %d, after: %t", n, after)
				mu.Unlock()
				resets := w.events(g)[ledger.KindReset]
				require.Len(t, resets, 1)
				require.Len(t, resets[0].Offsets, 3)
				require.Len(t, resets[0].Before, 3)
				require.Equal(t, int64(10), resets[0].Before[0].At)
			}
		}
	}
}

// Capture may tell of the group between the look at it and the intent: then everything is looked
// at again.
func TestAnIntentThatLosesIsTriedAgain(t *testing.T) {
	w := newWorld(t)
	w.rewound("billing")
	p := w.plan(90, "billing")
	late := &tellsLate{Log: w.log, t: t}
	_, err := replay.Apply(t.Context(), late, w.b, replay.Order{Plan: p, By: night})
	require.NoError(t, err)
	require.Equal(t, 3, late.told)
	require.Equal(t, []int64{90, 90, 90}, w.at("billing"))
	require.Len(t, w.events("billing")[ledger.KindIntent], 1)
}

// tellsLate is a ledger that is told of a group by capture, just before its first intents.
type tellsLate struct {
	replay.Log
	t    *testing.T
	told int
}

func (l *tellsLate) Append(ctx context.Context, events []ledger.Event, expects ...ledger.Expect) (ledger.Receipt, error) {
	if events[0].Kind == ledger.KindIntent && l.told < 3 {
		l.told++
		at := ledger.AtTime(time.Now())
		_, err := l.Log.Append(ctx, []ledger.Event{{
			Kind: ledger.KindCommitted, Cluster: cluster, Group: "billing", Time: at, Source: ledger.Source{Kind: ledger.SourceTail},
			Offsets: []ledger.Offset{{Topic: topic, At: 10, Effective: at, CommitTime: at}},
		}})
		require.NoError(l.t, err)
	}
	return l.Log.Append(ctx, events, expects...)
}

// Between plan and apply the topic was deleted and made again, or its beginning was deleted past
// the target: the offsets of the plan would mean other records, and nothing is written.
func TestAPlanForATopicThatIsAnotherNow(t *testing.T) {
	w := newWorld(t)
	w.rewound("billing")
	p := w.plan(90, "billing")
	admin := kadm.NewClient(w.client)
	gone := kadm.Offsets{}
	gone.AddOffset(topic, 2, 95, -1)
	_, err := admin.DeleteRecords(t.Context(), gone)
	require.NoError(t, err)
	_, err = w.apply(p)
	require.ErrorIs(t, err, replay.ErrStale)
	require.ErrorContains(t, err, "billing orders/2: refuse (the log starts at 95, with 5 records gone; rule clamp to begin there), and was set 90 (forward)")

	require.NoError(t, w.fake.DeleteTopic(t.Context(), topic))
	require.NoError(t, w.fake.CreateTopic(t.Context(), topic, 3))
	_, err = w.apply(p)
	require.ErrorIs(t, err, replay.ErrStale)
	require.ErrorContains(t, err, "was deleted and made again")
	require.Empty(t, w.events("billing"))
}

// Another cluster's brokers are not written to, whatever the group is called there.
func TestAPlanForAnotherCluster(t *testing.T) {
	w := newWorld(t)
	w.rewound("billing")
	p := w.plan(90, "billing")
	p.KafkaClusterID = "the-other-one"
	p.Seal(nil)
	_, err := w.apply(p)
	require.ErrorIs(t, err, replay.ErrRefused)
	require.ErrorContains(t, err, "the plan is for the-other-one")
	require.Equal(t, []int64{10, 10, 10}, w.at("billing"))
}

// An offset that the plan deletes is deleted, and is back after an undo.
func TestAnOffsetThatWasNotThereIsDeletedAndPutBack(t *testing.T) {
	w := newWorld(t)
	w.rewound("billing")
	p := w.plan(90, "billing")
	s := &p.Groups[0].Steps[1]
	*s = replay.Step{Topic: s.Topic, TopicID: s.TopicID, Partition: s.Partition, Current: s.Current, Log: s.Log, Action: replay.ActionDelete, Reason: "nothing was committed then"}
	p.Rules.DeleteAbsent = true
	p.Seal(nil)
	done, err := w.apply(p)
	require.NoError(t, err)
	require.Equal(t, []replay.RestoredGroup{{Group: "billing", Written: 2, Deleted: 1}}, done.Groups)
	require.Equal(t, []int64{90, 90}, w.at("billing"))
	deleted := w.events("billing")[ledger.KindDeleted]
	require.Len(t, deleted, 1)
	require.Equal(t, []string{night.Actor, p.ID}, []string{deleted[0].Actor, deleted[0].Plan})

	u, err := replay.NewUndo(t.Context(), w.log, cluster, done.ID)
	require.NoError(t, err)
	facts, err := w.b.Facts(t.Context(), u.Inquiry())
	require.NoError(t, err)
	back, err := u.Plan(facts, replay.UndoRules{})
	require.NoError(t, err)
	back.Seal(nil)
	_, err = w.apply(back)
	require.NoError(t, err)
	require.Equal(t, []int64{10, 10, 10}, w.at("billing"))
}

// silent is a Kafka that does what it is told, or not, and whose answers are lost.
type silent struct {
	replay.Broker
	deaf bool
}

func (s silent) Commit(ctx context.Context, group string, rows []ledger.Offset) ([]ledger.Offset, error) {
	if !s.deaf {
		if _, err := s.Broker.Commit(ctx, group, rows); err != nil {
			return nil, err
		}
	}
	return nil, errKilled
}

// An answer that is lost says nothing: what was written is found by reading it back.
func TestALostAnswerIsReadBack(t *testing.T) {
	w := newWorld(t)
	w.rewound("billing")
	w.rewound("fraud")
	done, err := replay.Apply(t.Context(), w.log, silent{Broker: w.b}, replay.Order{Plan: w.plan(90, "billing"), By: night})
	require.NoError(t, err)
	require.Equal(t, []replay.RestoredGroup{{Group: "billing", Written: 3}}, done.Groups)
	require.Len(t, w.events("billing")[ledger.KindReset][0].Offsets, 3)

	p := w.plan(90, "fraud")
	done, err = replay.Apply(t.Context(), w.log, silent{Broker: w.b, deaf: true}, replay.Order{Plan: p, By: night})
	require.ErrorIs(t, err, replay.ErrPartly)
	require.Len(t, done.Groups[0].Refused, 3)
	require.Equal(t, "no answer came, and 10 is committed", done.Groups[0].Refused[0].Why)
	require.Empty(t, w.events("fraud")[ledger.KindReset])
	_, err = w.apply(p)
	require.NoError(t, err)
	require.Equal(t, []int64{90, 90, 90}, w.at("fraud"))
}
