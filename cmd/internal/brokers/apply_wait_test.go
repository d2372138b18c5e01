package brokers_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/replay"
)

// looked is a Kafka that does something when it is looked at for the n-th time.
type looked struct {
	replay.Broker
	n    int
	then func()
}

func (l *looked) Facts(ctx context.Context, q replay.Inquiry) (replay.Facts, error) {
	if l.n--; l.n == 0 {
		l.then()
	}
	return l.Broker.Facts(ctx, q)
}

// A static member is in the way, and with every look it would be held a little longer. That it is
// waited for is told once, not with every look.
func TestWhoIsWaitedForIsToldOnce(t *testing.T) {
	w := newWorld(t)
	w.rewound("billing")
	p := w.plan(90, "billing")
	member, err := kgo.NewClient(w.fake.Options(kgo.ConsumerGroup("billing"), kgo.ConsumeTopics(topic), kgo.InstanceID("billing-s1"), kgo.DisableAutoCommit())...)
	require.NoError(t, err)
	defer member.Close()
	require.NoError(t, member.PollFetches(t.Context()).Err())

	var untils []ledger.Time
	b := &looked{Broker: w.b, n: 4, then: func() {
		_, err := kadm.NewClient(w.client).LeaveGroup(t.Context(), kadm.LeaveGroup("billing").InstanceIDs("billing-s1"))
		require.NoError(t, err)
	}}
	_, err = replay.Apply(t.Context(), w.log, b, replay.Order{
		Plan: p, By: night, WaitEmpty: time.Minute,
		Learn: func(_ context.Context, f *replay.Facts) error {
			for i := range f.Groups[0].Members {
				f.Groups[0].Members[i].SessionTimeoutMillis = 45_000
			}
			return nil
		},
		Waiting: func(groups []replay.PlanGroup) { untils = append(untils, groups[0].Members[0].HeldUntil) },
	})
	require.NoError(t, err)
	require.Len(t, untils, 1)
	require.True(t, untils[0].Known())
	require.Equal(t, []int64{90, 90, 90}, w.at("billing"))
}

// unanswering is a Kafka that does not answer.
type unanswering struct{ replay.Broker }

func (unanswering) Facts(ctx context.Context, _ replay.Inquiry) (replay.Facts, error) {
	<-ctx.Done()
	return replay.Facts{}, ctx.Err()
}

// A Kafka that does not answer is not waited for without end, and nothing was begun.
func TestAKafkaThatDoesNotAnswer(t *testing.T) {
	w := newWorld(t)
	w.rewound("billing")
	_, err := replay.Apply(t.Context(), w.log, unanswering{}, replay.Order{Plan: w.plan(90, "billing"), By: night, Patience: 50 * time.Millisecond})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "ask what is true now: no answer within 50ms")
	require.Empty(t, w.restores())
}
