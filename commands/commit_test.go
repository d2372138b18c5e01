package commands_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/commands"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/ledgertest"
)

// A commit of a hundred partitions with the updates before it is one event, and so one message.
func TestACommitIsOneEvent(t *testing.T) {
	log := ledgertest.New(t)
	m := newManager(t, log, config())
	for at := int64(1); at <= 3; at++ {
		for p := range int32(100) {
			require.NoError(t, m.UpdateOffset("orders", p, at*10+int64(p)))
		}
	}
	_, ok := m.Offset("orders", 7)
	require.False(t, ok)
	require.Len(t, m.Pending(), 100)

	n, err := m.Commit(t.Context())
	require.NoError(t, err)
	require.Equal(t, 100, n)
	require.Empty(t, m.Pending())
	require.Len(t, m.Committed(), 100)
	require.Equal(t, int64(37), offset(t, m, "orders", 7))

	all := events(t, log)
	require.Len(t, all, 1)
	ev := all[0].Event
	require.Equal(t, ledger.KindCommitted, ev.Kind)
	require.Equal(t, ledger.SourceManager, ev.Source.Kind)
	require.Equal(t, m.Instance(), ev.Source.Instance)
	require.Len(t, ev.Offsets, 100)
	require.Len(t, ev.Updates, 300)
	require.Equal(t, []int64{17, 27, 37}, recorded(t, log, "orders", 7))

	stats := m.Stats()
	require.Equal(t, uint64(1), stats.TotalCommits)
	require.Equal(t, uint64(1), stats.SuccessfulCommits)
	require.Equal(t, uint64(100), stats.TotalOffsetsCommitted)
	require.False(t, stats.LastCommitTime.IsZero())
	require.Positive(t, stats.AvgCommitDuration)
}

func TestNothingPendingCommitsNothing(t *testing.T) {
	log := ledgertest.New(t)
	m := newManager(t, log, config())
	for range 2 {
		n, err := m.Commit(t.Context())
		require.NoError(t, err)
		require.Zero(t, n)
	}
	require.Empty(t, events(t, log))
	require.Zero(t, m.Stats().TotalCommits)
}

// What an update says beside its offset is committed with it, and recorded.
func TestMetadataEpochAndEventTime(t *testing.T) {
	log := ledgertest.New(t)
	m := newManager(t, log, config())
	event := time.UnixMilli(1_700_000_000_123)
	require.NoError(t, m.UpdateOffset("orders", 0, 5))
	require.NoError(t, m.Update(commands.Update{
		Topic: "orders", Offset: 6, Metadata: "batch 17", LeaderEpoch: ledger.EpochOf(4), EventTime: event,
	}))
	require.NoError(t, m.UpdateOffset("orders", 1, 9))
	_, err := m.Commit(t.Context())
	require.NoError(t, err)

	info, ok := m.OffsetInfo("orders", 0)
	require.True(t, ok)
	require.Equal(t, "batch 17", info.Metadata)
	require.Equal(t, ledger.EpochOf(4), info.LeaderEpoch)
	ev := events(t, log, ledger.KindCommitted)[0].Event
	require.Equal(t, ev.Time, info.LastUpdated)
	require.Equal(t, "batch 17", ev.Offsets[0].Metadata)
	require.Equal(t, "", ev.Offsets[1].Metadata)
	require.Equal(t, []int64{5, 6, 9}, ats(ev.Updates))
	require.Equal(t, ledger.EpochOf(4), ev.Updates[1].LeaderEpoch)
	require.Equal(t, "batch 17", ev.Updates[1].Metadata)
	require.Equal(t, ledger.AtTime(event), ev.Updates[1].CommitTime)
	require.False(t, ev.Updates[0].CommitTime.Known())

	require.NoError(t, m.UpdateOffset("orders", 0, 7))
	_, err = m.Commit(t.Context())
	require.NoError(t, err)
	info, _ = m.OffsetInfo("orders", 0)
	require.Empty(t, info.Metadata, "the text of an update goes with that update")
}

func TestBadInputIsRefusedAndNotRecorded(t *testing.T) {
	log := ledgertest.New(t)
	m := newManager(t, log, config())
	require.NoError(t, m.UpdateOffset("orders", 0, 1))
	for name, update := range map[string]commands.Update{
		"negative offset":    {Topic: "orders", Offset: -1},
		"no topic":           {Offset: 1},
		"long topic":         {Topic: strings.Repeat("x", 1<<15), Offset: 1},
		"negative partition": {Topic: "orders", Partition: -1, Offset: 1},
		"absurd partition":   {Topic: "orders", Partition: 1 << 30, Offset: 1},
		"long metadata":      {Topic: "orders", Offset: 1, Metadata: strings.Repeat("x", 4097)},
	} {
		t.Run(name, func(t *testing.T) { require.ErrorIs(t, m.Update(update), commands.ErrInvalid) })
	}
	require.ErrorIs(t, m.UpdateOffsetWithWatermark("orders", 0, 1, -1), commands.ErrInvalid)
	require.NoError(t, m.Update(commands.Update{Topic: "orders", Offset: 2, Metadata: strings.Repeat("x", 4096)}))
	_, ok := m.Offset("no such topic", 0)
	require.False(t, ok)
	_, err := m.Commit(t.Context())
	require.NoError(t, err)
	require.Equal(t, []int64{1, 2}, recorded(t, log, "orders", 0))
}

// The last update wins as long as it does not go back behind what is committed.
func TestAnUpdateThatGoesBack(t *testing.T) {
	log := ledgertest.New(t)
	m := newManager(t, log, config())
	for _, at := range []int64{100, 150, 120} {
		require.NoError(t, m.UpdateOffset("orders", 0, at))
	}
	_, err := m.Commit(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(120), offset(t, m, "orders", 0))

	err = m.UpdateOffset("orders", 0, 119)
	require.ErrorIs(t, err, commands.ErrBehind)
	require.ErrorContains(t, err, "ResetOffset")
	var behind *commands.BehindError
	require.ErrorAs(t, err, &behind)
	require.Equal(t, commands.BehindError{Topic: "orders", Offset: 119, Committed: 120}, *behind)
	require.NoError(t, m.UpdateOffset("orders", 0, 120), "the same again is no step back")
	require.Equal(t, int64(120), offset(t, m, "orders", 0))

	cfg := config()
	cfg.AllowRewind = true
	free := newManager(t, log, cfg)
	_, err = free.Restore(t.Context())
	require.NoError(t, err)
	require.NoError(t, free.UpdateOffset("orders", 0, 50))
	_, err = free.Commit(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(50), offset(t, free, "orders", 0))
}

// A commit that could not be written is counted, and what it was to say stays pending and goes
// with the next one, with all its updates.
func TestAFailedCommitStaysPending(t *testing.T) {
	log := newGate(t)
	cfg := config()
	cfg.LogWait = 10 * time.Millisecond
	m := newManager(t, log, cfg)
	require.NoError(t, m.UpdateOffset("orders", 0, 5))
	require.NoError(t, m.UpdateOffset("orders", 1, 7))
	log.away.Store(true)
	for range 2 {
		n, err := m.Commit(t.Context())
		require.ErrorIs(t, err, commands.ErrLogAway)
		require.Zero(t, n)
	}
	require.Equal(t, map[ledger.TopicPartition]int64{tp("orders", 0): 5, tp("orders", 1): 7}, plain(m.Pending()))
	require.Empty(t, m.Committed())
	require.NoError(t, m.UpdateOffset("orders", 0, 6), "updates are taken meanwhile")
	log.away.Store(false)

	n, err := m.Commit(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.Equal(t, map[ledger.TopicPartition]int64{tp("orders", 0): 6, tp("orders", 1): 7}, plain(m.Committed()))
	require.Equal(t, []int64{5, 6}, recorded(t, log, "orders", 0))
	require.Equal(t, []int64{7}, recorded(t, log, "orders", 1))
	commits := events(t, log, ledger.KindCommitted)
	require.Len(t, commits, 1)
	stats := m.Stats()
	require.Equal(t, uint64(1), stats.SuccessfulCommits)
	require.GreaterOrEqual(t, stats.FailedCommits, uint64(2))
	require.Equal(t, stats.TotalCommits, stats.SuccessfulCommits+stats.FailedCommits)
}

// The answer to a commit is lost, after it was stored or before: which of the two it was is
// known when Commit returns, and the history has it once.
func TestALostAnswerIsFoundOut(t *testing.T) {
	log := newFaulty(t)
	m := newManager(t, log, config())
	require.NoError(t, m.UpdateOffset("orders", 0, 5))
	log.FailAfter(errAway)
	n, err := m.Commit(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, int64(5), offset(t, m, "orders", 0))
	require.Empty(t, m.Pending())

	require.NoError(t, m.UpdateOffset("orders", 0, 6))
	log.FailBefore(errAway)
	n, err = m.Commit(t.Context())
	require.ErrorIs(t, err, errAway)
	require.NotErrorIs(t, err, commands.ErrOutcomeUnknown)
	require.Zero(t, n)
	require.Equal(t, map[ledger.TopicPartition]int64{tp("orders", 0): 6}, plain(m.Pending()))
	require.Equal(t, int64(5), offset(t, m, "orders", 0))

	n, err = m.Commit(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, n)
	var rows []int64
	for _, rec := range events(t, log, ledger.KindCommitted) {
		rows = append(rows, ats(rec.Event.Offsets)...)
	}
	require.Equal(t, []int64{5, 6}, rows)
	require.Equal(t, []int64{5, 6}, recorded(t, log, "orders", 0))
}

// interrupted is a log on which the caller loses patience in the middle of an append.
type interrupted struct {
	commands.Log
	cancel func()
	stored bool // the append gets through all the same
}

func (i *interrupted) Append(ctx context.Context, events []ledger.Event, expects ...ledger.Expect) (ledger.Receipt, error) {
	if i.cancel == nil {
		return i.Log.Append(ctx, events, expects...)
	}
	cancel := i.cancel
	i.cancel = nil
	if i.stored {
		if _, err := i.Log.Append(ctx, events, expects...); err != nil {
			return ledger.Receipt{}, err
		}
	}
	cancel()
	return ledger.Receipt{}, ctx.Err()
}

// The context ends in the middle of a commit: the outcome is known afterwards.
func TestACancelledCommit(t *testing.T) {
	for name, stored := range map[string]bool{"stored": true, "not stored": false} {
		t.Run(name, func(t *testing.T) {
			log := &interrupted{Log: ledgertest.New(t), stored: stored}
			m := newManager(t, log, config())
			require.NoError(t, m.UpdateOffset("orders", 0, 5))
			ctx, cancel := context.WithCancel(t.Context())
			log.cancel = cancel
			n, err := m.Commit(ctx)
			if stored {
				require.NoError(t, err)
				require.Equal(t, 1, n)
				require.Len(t, m.Committed(), 1)
				require.Empty(t, m.Pending())
				return
			}
			require.ErrorIs(t, err, context.Canceled)
			require.NotErrorIs(t, err, commands.ErrOutcomeUnknown)
			require.Empty(t, m.Committed())
			require.Len(t, m.Pending(), 1)
			require.Empty(t, events(t, log, ledger.KindCommitted))
		})
	}
	m := newManager(t, ledgertest.New(t), config())
	require.NoError(t, m.UpdateOffset("orders", 0, 5))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := m.Commit(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, m.Pending(), 1)
}

// A commit of which nobody knows whether it was stored is settled before anything newer is
// written, whichever it was, and never sent a second time over something newer.
func TestACommitInDoubtDoesNotOvertake(t *testing.T) {
	for name, stored := range map[string]bool{"stored": true, "not stored": false} {
		t.Run(name, func(t *testing.T) {
			g := newGate(t)
			log := &vanishing{gate: g, stored: stored}
			cfg := config()
			cfg.LogWait = 10 * time.Millisecond
			m := newManager(t, log, cfg)
			require.NoError(t, m.UpdateOffset("orders", 0, 5))
			log.armed = true
			_, err := m.Commit(t.Context())
			require.ErrorIs(t, err, commands.ErrOutcomeUnknown)
			require.Equal(t, map[ledger.TopicPartition]int64{tp("orders", 0): 5}, plain(m.Pending()))
			require.NoError(t, m.UpdateOffset("orders", 0, 8))
			g.away.Store(false)

			_, err = m.Commit(t.Context())
			require.NoError(t, err)
			require.Equal(t, int64(8), offset(t, m, "orders", 0))
			var rows []int64
			for _, rec := range events(t, log, ledger.KindCommitted) {
				rows = append(rows, ats(rec.Event.Offsets)...)
			}
			want := []int64{8}
			if stored {
				want = []int64{5, 8}
			}
			require.Equal(t, want, rows)
			require.Equal(t, []int64{5, 8}, recorded(t, log, "orders", 0))
		})
	}
}

// vanishing is a log that goes away in the middle of an append.
type vanishing struct {
	*gate
	armed, stored bool
}

func (v *vanishing) Append(ctx context.Context, events []ledger.Event, expects ...ledger.Expect) (ledger.Receipt, error) {
	if !v.armed {
		return v.gate.Append(ctx, events, expects...)
	}
	v.armed = false
	if v.stored {
		if _, err := v.Log.Append(ctx, events, expects...); err != nil {
			return ledger.Receipt{}, err
		}
	}
	v.away.Store(true)
	return ledger.Receipt{}, errors.Join(errAway)
}

// What the caller hands over stays his: a topic out of a larger buffer is not kept alive, and
// partitions of many topics do not mix.
// Names count too in what one event can hold.
func TestManyTopicsWithTheLongestNames(t *testing.T) {
	log := ledgertest.New(t)
	m := newManager(t, log, config())
	const topics = 300
	for i := range int64(topics) {
		require.NoError(t, m.UpdateOffset(fmt.Sprintf("%0*d", 1<<15-1, i), 0, i))
	}
	n, err := m.Commit(t.Context())
	require.NoError(t, err)
	require.Equal(t, topics, n)

	second := newManager(t, log, config())
	_, err = second.Restore(t.Context())
	require.NoError(t, err)
	require.Equal(t, m.Committed(), second.Committed())
}

func TestManyTopicsAndPartitions(t *testing.T) {
	log := ledgertest.New(t)
	m := newManager(t, log, config())
	want := map[ledger.TopicPartition]int64{}
	for _, topic := range []string{"a", "b", "c.d", "we ird.*>", "\xff\x00"} {
		for _, p := range []int32{0, 3, 1000, 70_000} {
			at := int64(len(want)) * 7
			want[tp(topic, p)] = at
			require.NoError(t, m.UpdateOffset(topic, p, at))
		}
	}
	n, err := m.Commit(t.Context())
	require.NoError(t, err)
	require.Equal(t, len(want), n)
	require.Equal(t, want, plain(m.Committed()))

	second := newManager(t, log, config())
	_, err = second.Restore(t.Context())
	require.NoError(t, err)
	require.Equal(t, m.Committed(), second.Committed())
}
