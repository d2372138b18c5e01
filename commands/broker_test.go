package commands_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/commands"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/ledgertest"
	"github.com/offsetledger/offsetledger/projection"
)

// broker is as much of Kafka's group coordinator as a manager meets: it keeps what is committed
// and refuses what a test tells it to. That a manager works with the real one is for package
// commands/kafka to show.
type broker struct {
	mu      sync.Mutex
	offsets map[ledger.TopicPartition]int64
	refuse  map[ledger.TopicPartition]int16
	lost    error // no answer comes
	commits int
}

func newBroker() *broker {
	return &broker{offsets: map[ledger.TopicPartition]int64{}, refuse: map[ledger.TopicPartition]int16{}}
}

func (b *broker) at(k ledger.TopicPartition) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.offsets[k]
}

func (b *broker) Commit(_ context.Context, rows []ledger.Offset) ([]ledger.Offset, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.commits++
	if b.lost != nil {
		return nil, b.lost
	}
	out := append([]ledger.Offset(nil), rows...)
	for i := range out {
		k := tp(out[i].Topic, out[i].Partition)
		if out[i].ErrorCode = b.refuse[k]; out[i].ErrorCode == 0 {
			b.offsets[k] = out[i].At
		}
	}
	return out, nil
}

func (b *broker) Resolve(_ context.Context, _ ledger.TopicPartition, r commands.Reset) (int64, error) {
	if r.Kind() == commands.ResetTimestamp {
		return 0, errors.New("no record is as late as that")
	}
	return 77, nil
}

func (b *broker) Delete(_ context.Context, partitions []ledger.TopicPartition) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, k := range partitions {
		delete(b.offsets, k)
	}
	return nil
}

func withBroker(t *testing.T, log commands.Log) (*commands.Manager, *broker) {
	t.Helper()
	cfg := config()
	cfg.KafkaCommits = true
	m := newManager(t, log, cfg)
	b := newBroker()
	m.Bind(b)
	return m, b
}

// A commit of three partitions of which the broker accepts one. Believed is the answer, not the
// request: the two others are recorded as failed and leave the committed offset alone. Then a
// request to which no answer comes.
func TestCAP18TheAnswerIsBelieved(t *testing.T) {
	log := ledgertest.New(t)
	m, b := withBroker(t, log)
	for p := range int32(3) {
		require.NoError(t, m.UpdateOffset("orders", p, 10))
	}
	b.refuse[tp("orders", 1)], b.refuse[tp("orders", 2)] = 22, 12
	n, err := m.Commit(t.Context())
	require.Equal(t, 1, n)
	var refused *commands.RefusedError
	require.ErrorAs(t, err, &refused)
	require.Len(t, refused.Rows, 2)
	require.Equal(t, map[ledger.TopicPartition]int64{tp("orders", 0): 10}, plain(m.Committed()))

	committed := events(t, log, ledger.KindCommitted)
	require.Len(t, committed, 1)
	require.Len(t, committed[0].Event.Offsets, 1)
	require.True(t, committed[0].Event.NotBefore.Known(), "when it was sent")
	failed := events(t, log, ledger.KindFailed)
	require.Len(t, failed, 1)
	require.Equal(t, ledger.CauseRefused, failed[0].Event.Cause)
	require.Equal(t, int16(22), failed[0].Event.Offsets[0].ErrorCode)
	require.Equal(t, int16(12), failed[0].Event.Offsets[1].ErrorCode)

	b.lost = context.DeadlineExceeded
	require.NoError(t, m.UpdateOffset("orders", 0, 11))
	n, err = m.Commit(t.Context())
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Zero(t, n)
	require.Equal(t, int64(10), offset(t, m, "orders", 0))
	require.Equal(t, int64(11), m.Pending()[tp("orders", 0)].Offset)
	failed = events(t, log, ledger.KindFailed)
	require.Equal(t, ledger.CauseTimedOut, failed[len(failed)-1].Event.Cause)
	stats := m.Stats()
	require.Equal(t, uint64(2), stats.FailedCommits)
	require.Zero(t, stats.SuccessfulCommits)

	second := newManager(t, log, commands.Config{Cluster: "prod", Group: "billing", KafkaCommits: true})
	_, err = second.Restore(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[ledger.TopicPartition]int64{tp("orders", 0): 10}, plain(second.Committed()))
}

// Errors that pass are tried again; after the others the same offset is not sent again, and the
// records stay the caller's until something newer is done.
func TestCMT11WhichErrorsToRetry(t *testing.T) {
	for code, again := range map[int16]bool{14: true, 16: true, 22: false, 25: false, 82: false, 113: false, 12: false, 29: false} {
		m, b := withBroker(t, ledgertest.New(t))
		require.NoError(t, m.UpdateOffset("orders", 0, 10))
		b.refuse[tp("orders", 0)] = code
		_, err := m.Commit(t.Context())
		require.ErrorIs(t, err, commands.ErrRefused)
		require.Empty(t, m.Committed())
		require.Len(t, m.Pending(), 1)

		delete(b.refuse, tp("orders", 0))
		n, err := m.Commit(t.Context())
		require.NoError(t, err)
		require.Equal(t, again, n == 1, "error %d", code)
		require.NoError(t, m.UpdateOffset("orders", 0, 11))
		n, err = m.Commit(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.Equal(t, int64(11), offset(t, m, "orders", 0))
	}
}

// A partition is taken away with work in flight: what is done without a gap is committed, what
// the old owner finishes later is dropped, and the new owner's commit is not overwritten.
func TestCMT05RevokedWithWorkInFlight(t *testing.T) {
	log := ledgertest.New(t)
	a, b := withBroker(t, log)
	other, _ := withBroker(t, log)
	other.Bind(b)
	p1 := tp("orders", 1)
	for at := range int64(10) {
		require.NoError(t, a.Delivered("orders", 1, at, ledger.Epoch{}))
	}
	for _, at := range []int64{0, 1, 2, 3, 6} {
		require.NoError(t, a.DoneOffset("orders", 1, at))
	}
	require.NoError(t, a.UpdateOffset("orders", 0, 5))
	n, err := a.CommitPartitions(t.Context(), p1)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	a.Drop(p1)

	require.NoError(t, other.UpdateOffset("orders", 1, 8))
	_, err = other.Commit(t.Context())
	require.NoError(t, err)
	for _, at := range []int64{4, 5, 7, 8, 9} {
		require.ErrorIs(t, a.DoneOffset("orders", 1, at), commands.ErrNotOwned)
	}
	require.ErrorIs(t, a.UpdateOffset("orders", 1, 10), commands.ErrNotOwned)
	n, err = a.Commit(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, n, "the other partition was not touched")
	require.Equal(t, int64(8), b.at(p1))

	state := projection.NewState()
	var movements []projection.Movement
	for rec, err := range log.Read(t.Context(), 1, 0, ledger.Filter{}) {
		require.NoError(t, err)
		changes, err := state.Apply(rec)
		require.NoError(t, err)
		for _, c := range changes {
			movements = append(movements, c.Movement)
		}
	}
	require.NotContains(t, movements, projection.MovementRewind)

	require.NoError(t, a.Own(p1))
	require.NoError(t, a.SetCommitted(p1, projection.OffsetInfo{Offset: 8}))
	require.ErrorIs(t, a.DoneOffset("orders", 1, 4), commands.ErrNotDelivered, "of the time before")
	require.ErrorIs(t, a.UpdateOffset("orders", 1, 7), commands.ErrBehind)
	require.NoError(t, a.UpdateOffset("orders", 1, 9))
}

// An idle consumer commits nothing, so that an offset that an operator has set stays.
func TestCMT09IdleCommitsNothing(t *testing.T) {
	log := ledgertest.New(t)
	cfg := config()
	cfg.KafkaCommits, cfg.Strategy = true, commands.Periodic(time.Millisecond)
	m := newManager(t, log, cfg)
	b := newBroker()
	m.Bind(b)
	run(t, m)
	require.NoError(t, m.UpdateOffset("orders", 0, 100))
	require.Eventually(t, func() bool { return b.at(tp("orders", 0)) == 100 }, soon, look)
	_, err := b.Commit(t.Context(), []ledger.Offset{{Topic: "orders", At: 50}})
	require.NoError(t, err)
	require.NoError(t, m.UpdateOffset("orders", 1, 1)) // intervals go by until this one is through
	require.Eventually(t, func() bool { return b.at(tp("orders", 1)) == 1 }, soon, look)
	require.NoError(t, m.Close(t.Context()))
	require.Equal(t, int64(50), b.at(tp("orders", 0)))
}

// Members of a group write side by side, and nobody claims anything.
func TestMembersWriteSideBySide(t *testing.T) {
	log := ledgertest.New(t)
	a, b := withBroker(t, log)
	other, _ := withBroker(t, log)
	other.Bind(b)
	var both sync.WaitGroup
	for p, m := range []*commands.Manager{a, other} {
		both.Go(func() {
			for at := int64(1); at <= 20; at++ {
				if err := m.UpdateOffset("orders", int32(p), at); err != nil {
					t.Error(err)
				}
				if _, err := m.Commit(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	both.Wait()
	require.Len(t, events(t, log, ledger.KindCommitted), 40)
	require.Empty(t, events(t, log, ledger.KindClaim))
}

func TestNoBrokerNoCommit(t *testing.T) {
	cfg := config()
	cfg.KafkaCommits = true
	m := newManager(t, ledgertest.New(t), cfg)
	require.NoError(t, m.UpdateOffset("orders", 0, 1))
	_, err := m.Commit(t.Context())
	require.ErrorIs(t, err, commands.ErrNoBroker)
	_, err = m.ResetOffset(t.Context(), "orders", 0, commands.Specific(1))
	require.ErrorIs(t, err, commands.ErrNoBroker)
	require.Len(t, m.Pending(), 1)
}

// A reset or clear goes to Kafka: what was intended is recorded first, what was done after, and
// both name the same plan.
func TestResetAndClearInKafka(t *testing.T) {
	log := ledgertest.New(t)
	m, b := withBroker(t, log)
	require.NoError(t, m.UpdateOffset("orders", 0, 10))
	_, err := m.Commit(t.Context())
	require.NoError(t, err)
	at, err := m.ResetOffset(t.Context(), "orders", 0, commands.Latest())
	require.NoError(t, err)
	require.Equal(t, int64(77), at)
	require.Equal(t, int64(77), b.at(tp("orders", 0)))
	require.Equal(t, int64(77), offset(t, m, "orders", 0))
	_, err = m.ResetOffset(t.Context(), "orders", 0, commands.Timestamp(time.Now()))
	require.Error(t, err)
	all := events(t, log, ledger.KindIntent, ledger.KindReset)
	require.Len(t, all, 2)
	require.Equal(t, ledger.KindIntent, all[0].Event.Kind)
	require.NotEmpty(t, all[0].Event.Plan)
	require.Equal(t, all[0].Event.Plan, all[1].Event.Plan)
	require.Equal(t, []int64{10}, ats(all[1].Event.Before))

	b.refuse[tp("orders", 0)] = 25
	_, err = m.ResetOffset(t.Context(), "orders", 0, commands.Specific(1))
	require.ErrorIs(t, err, commands.ErrRefused)
	require.Equal(t, int64(77), offset(t, m, "orders", 0))
	require.Len(t, events(t, log, ledger.KindFailed), 1)

	require.NoError(t, m.Clear(t.Context()))
	require.Empty(t, m.Committed())
	require.Empty(t, b.offsets)
	deleted := events(t, log, ledger.KindDeleted)
	require.Len(t, deleted, 1)
	require.Equal(t, ledger.CauseCleared, deleted[0].Event.Cause)
}
