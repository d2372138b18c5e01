package kafka

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetledger/offsetledger/commands"
	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/ledgertest"
)

// A new consumer begins at the end of an empty partition and is stopped. Ten records come, and when
// it is back it begins at the end again and never reads them. With its start position committed at
// the first assignment it reads all ten. That is off by default.
func TestCMT13FirstAssignmentWithNothingConsumed(t *testing.T) {
	atEnd := kgo.ConsumeStartOffset(kgo.NewOffset().AtEnd())
	for name, opts := range protocols {
		t.Run(name, func(t *testing.T) {
			fake := startFake(t, kafkatest.FakeConfig{Topics: map[string]int32{"orders": 2}})
			log := ledgertest.New(t)
			require.NoError(t, fake.Produce(t.Context(), "orders", 0, 3))
			cfg := podConfig{bind: Bind{CommitStart: true}, manager: commands.Config{Strategy: commands.Manual()}, opts: append([]kgo.Opt{atEnd}, opts...)}
			p := startPod(t, fake, log, "billing", "orders", cfg)
			awaitStart(t, p, "orders", 2)
			p.leave()
			require.EqualValues(t, 3, committedAt(t, fake, "billing", "orders", 0))
			require.EqualValues(t, 0, committedAt(t, fake, "billing", "orders", 1))
			require.Equal(t, []int64{0}, positionsIn(t, log, ledger.KindCommitted, "orders", 1))

			require.NoError(t, fake.Produce(t.Context(), "orders", 1, 10))
			p = startPod(t, fake, log, "billing", "orders", cfg)
			records := p.poll(10)
			for i, r := range records {
				require.EqualValues(t, 1, r.Partition)
				require.EqualValues(t, i, r.Offset)
			}
			p.done(records...)
			n, err := p.m.Commit(t.Context())
			require.NoError(t, err)
			require.Equal(t, 1, n)
			p.leave()
			require.Equal(t, []int64{0, 10}, positionsIn(t, log, ledger.KindCommitted, "orders", 1), "a start is committed once")
			require.Equal(t, []int64{3}, positionsIn(t, log, ledger.KindCommitted, "orders", 0))
		})
	}
}

// awaitStart polls until n partitions have been assigned, and their committed offsets are known.
func awaitStart(t *testing.T, p *pod, topic string, n int32) {
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		for _, e := range p.PollFetches(ctx).Errors() {
			require.ErrorIs(t, e.Err, context.DeadlineExceeded)
		}
		for part := range n {
			if _, ok := p.m.Offset(topic, part); !ok {
				return false
			}
		}
		return true
	}, patience, time.Millisecond)
}

// A start that the brokers cannot be asked for in one go is refused, and so is one inside of
// transactions.
func TestAStartThatCannotBeCommittedIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		opts []kgo.Opt
		want error
	}{
		"relative":     {[]kgo.Opt{kgo.ConsumeStartOffset(kgo.NewOffset().AtEnd().Relative(-5))}, ErrCommitStart},
		"by time":      {[]kgo.Opt{kgo.ConsumeStartOffset(kgo.NewOffset().AfterMilli(1_700_000_000_000))}, ErrCommitStart},
		"transactions": {[]kgo.Opt{kgo.TransactionalID("billing")}, ErrInTransaction},
	} {
		t.Run(name, func(t *testing.T) {
			fake := startFake(t, kafkatest.FakeConfig{Topics: map[string]int32{"orders": 1}})
			p := startPod(t, fake, ledgertest.New(t), "billing", "orders", podConfig{bind: Bind{CommitStart: true}, opts: c.opts})
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			require.ErrorIs(t, p.PollFetches(ctx).Err(), c.want)
			require.EqualValues(t, -1, committedAt(t, fake, "billing", "orders", 0))
		})
	}
}

// A consumer that begins at a number has nothing committed there: the manager took a time for an
// offset, and every record for one behind it.
func TestAStartThatIsANumberIsNoCommittedOffset(t *testing.T) {
	for name, at := range map[string]kgo.Offset{
		"time":   kgo.NewOffset().AfterMilli(1_700_000_000_000),
		"offset": kgo.NewOffset().At(2),
	} {
		t.Run(name, func(t *testing.T) {
			fake := startFake(t, kafkatest.FakeConfig{Topics: map[string]int32{"orders": 1}})
			require.NoError(t, fake.Produce(t.Context(), "orders", 0, 4))
			p := startPod(t, fake, ledgertest.New(t), "billing", "orders", podConfig{opts: []kgo.Opt{kgo.ConsumeStartOffset(at)}})
			records := p.poll(1)
			_, ok := p.m.Offset("orders", 0)
			require.False(t, ok)
			p.done(records...)
			p.leave()
			require.Equal(t, records[len(records)-1].Offset+1, committedAt(t, fake, "billing", "orders", 0))
		})
	}
}

// CMT-12: settings that make no sense are refused by the names of their fields, before anything is
// read.
func TestCMT12NonsenseSettingsOfABinding(t *testing.T) {
	fake := startFake(t, kafkatest.FakeConfig{Topics: map[string]int32{"orders": 1}})
	p := startPod(t, fake, ledgertest.New(t), "billing", "orders", podConfig{bind: Bind{Start: 9, Outside: 9, CommitTimeout: -1}})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := p.PollFetches(ctx).Err()
	require.ErrorIs(t, err, commands.ErrInvalid)
	for _, field := range []string{"Start", "Outside", "CommitTimeout"} {
		require.ErrorContains(t, err, field+": ")
	}
}
