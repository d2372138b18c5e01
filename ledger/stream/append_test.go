package stream_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/ledgertest"
	"github.com/offsetledger/offsetledger/ledger/stream"
)

// Many callers append transactions of random size at once: every event is stored once, and
// each caller's stand together, in order, where the receipt says.
func TestConcurrentAppendsAreStoredOnceAndTogether(t *testing.T) {
	t.Parallel()
	log := ledgertest.New(t)
	round := 0
	rapid.Check(t, func(t *rapid.T) {
		round++
		ctx := context.Background()
		before, err := log.Last(ctx)
		require.NoError(t, err)
		callers := rapid.IntRange(1, 6).Draw(t, "callers")
		sizes := rapid.SliceOfN(rapid.IntRange(1, 60), 1, 3).Draw(t, "sizes")
		receipts := make([][]ledger.Receipt, callers)
		var g errgroup.Group
		for c := range callers {
			g.Go(func() error {
				for i, n := range sizes {
					r, err := log.Append(ctx, numbered(fmt.Sprintf("%d-%d-%d", round, c, i), n))
					if err != nil {
						return err
					}
					receipts[c] = append(receipts[c], r)
				}
				return nil
			})
		}
		require.NoError(t, g.Wait())
		stored := map[uint64]string{}
		for rec, err := range log.Read(ctx, before+1, 0, ledger.Filter{}) {
			require.NoError(t, err)
			stored[rec.Seq] = fmt.Sprintf("%s/%d", rec.Event.Group, rec.Event.Offsets[0].At)
		}
		for c := range callers {
			for i, r := range receipts[c] {
				require.EqualValues(t, sizes[i], r.Last-r.First+1)
				for n := range sizes[i] {
					seq := r.First + uint64(n)
					require.Equal(t, fmt.Sprintf("%d-%d-%d/%d", round, c, i, n), stored[seq])
					delete(stored, seq)
				}
			}
		}
		require.Empty(t, stored, "events that nobody appended")
	})
}

// numbered returns n commits of group at 0 to n-1.
func numbered(group string, n int) []ledger.Event {
	events := make([]ledger.Event, n)
	for i := range events {
		events[i] = committed(group, int64(i))
	}
	return events
}

func TestAppendLeavesTheCallersEventsAlone(t *testing.T) {
	log := ledgertest.New(t)
	own := uuid.Must(uuid.NewV7())
	events := []ledger.Event{committed("a", 1), committed("a", 2)}
	events[1].ID = own
	_, err := log.Append(t.Context(), events)
	require.NoError(t, err)
	require.Equal(t, uuid.Nil, events[0].ID)

	first, err := log.Get(t.Context(), 1)
	require.NoError(t, err)
	require.EqualValues(t, 7, first.Event.ID.Version(), "a missing id was filled in")
	second, err := log.Get(t.Context(), 2)
	require.NoError(t, err)
	require.Equal(t, own, second.Event.ID)
}

func TestAppendRefusesWhatMustNotBeStored(t *testing.T) {
	log := ledgertest.New(t)
	bad := committed("a", 1)
	bad.Cluster = ""
	for name, c := range map[string]struct {
		events  []ledger.Event
		expects []ledger.Expect
		want    error
	}{
		"nothing":                  {nil, nil, ledger.ErrInvalid},
		"an invalid event":         {[]ledger.Event{committed("a", 1), bad}, nil, ledger.ErrInvalid},
		"more events than a batch": {numbered("a", 1001), nil, ledger.ErrTooLarge},
		"more bytes than a batch":  {[]ledger.Event{large(5 << 20), large(5 << 20)}, nil, ledger.ErrTooLarge},
		"two expectations of one event": {
			[]ledger.Event{committed("a", 1)},
			[]ledger.Expect{{Filter: "ol.prod.g.a.>"}, {Filter: "ol.prod.g.b.>"}}, ledger.ErrInvalid,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := log.Append(t.Context(), c.events, c.expects...)
			require.ErrorIs(t, err, c.want)
		})
	}
	last, err := log.Last(t.Context())
	require.NoError(t, err)
	require.Zero(t, last)
}

// large is an opaque record of about n bytes.
func large(n int) ledger.Event {
	value := make([]byte, n)
	for i := range value {
		value[i] = byte(rand.Uint32())
	}
	return ledger.Event{
		Kind: ledger.KindOpaque, Cluster: "prod", Time: ledger.AtMillis(1),
		Source: ledger.Source{Kind: ledger.SourceTail, Partition: 3},
		Opaque: &ledger.Opaque{Key: []byte{1}, Value: value, Problem: "unknown version"},
	}
}

func TestLargeEventIsStoredInPartsThatStandTogether(t *testing.T) {
	log := ledgertest.New(t)
	e := large(2_500_000)
	r, err := log.Append(t.Context(), []ledger.Event{committed("a", 1), e, committed("a", 2)})
	require.NoError(t, err)
	require.EqualValues(t, 5, r.Last)
	var parts []ledger.Event
	for rec, err := range log.Read(t.Context(), 2, 4, ledger.Filter{}) {
		require.NoError(t, err)
		parts = append(parts, rec.Clone().Event)
	}
	whole, err := ledger.Join(parts)
	require.NoError(t, err)
	require.Equal(t, e.Opaque.Value, whole.Opaque.Value)
}

func TestConflictTellsWantedAndFound(t *testing.T) {
	log := ledgertest.New(t)
	_, err := log.Append(t.Context(), numbered("a", 3))
	require.NoError(t, err)
	for name, events := range map[string][]ledger.Event{
		"single": {committed("b", 1)},
		"batch":  numbered("b", 5),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := log.Append(t.Context(), events, ledger.Expect{Filter: "ol.prod.g.a.>", Seq: 2})
			var conflict *ledger.ConflictError
			require.ErrorAs(t, err, &conflict)
			require.Equal(t, ledger.ConflictError{Filter: "ol.prod.g.a.>", Wanted: 2, Found: 3}, *conflict)
			last, err := log.LastOf(t.Context(), "ol.prod.g.b.>")
			require.NoError(t, err)
			require.Zero(t, last)
		})
	}
}

// Two operators reset the same group at once, each expecting what both have seen. The server
// itself would store both: it checks an expectation with wildcards against stored messages
// only, and not against those of the same batch.
func TestTwoResetsExpectingTheSameHaveOneWinner(t *testing.T) {
	log := ledgertest.New(t)
	for round := range 30 {
		group := fmt.Sprintf("g%d", round)
		r, err := log.Append(t.Context(), []ledger.Event{committed(group, 100)})
		require.NoError(t, err)
		expect := ledger.Expect{Filter: ledger.GroupSubjects("prod", group), Seq: r.Last}

		// Others append meanwhile, so that the two are gathered into one batch.
		var g errgroup.Group
		for i := range 8 {
			g.Go(func() error {
				_, err := log.Append(t.Context(), numbered(fmt.Sprintf("other%d", i), 3))
				return err
			})
		}
		errs := make([]error, 2)
		for i := range errs {
			g.Go(func() error {
				_, errs[i] = log.Append(t.Context(), []ledger.Event{committed(group, int64(i))}, expect)
				return nil
			})
		}
		require.NoError(t, g.Wait())
		if errs[0] == nil {
			errs[0], errs[1] = errs[1], errs[0]
		}
		require.NoError(t, errs[1], "one wins")
		var conflict *ledger.ConflictError
		require.ErrorAs(t, errs[0], &conflict, "the other loses")
		require.Equal(t, expect.Seq, conflict.Wanted)
		require.Greater(t, conflict.Found, expect.Seq)
	}
}

// A batch is refused as a whole; whoever did not lose is stored nevertheless, in order.
func TestLosersDoNotTakeOthersAlong(t *testing.T) {
	log := ledgertest.New(t)
	_, err := log.Append(t.Context(), []ledger.Event{committed("taken", 1)})
	require.NoError(t, err)
	const callers = 40
	errs := make([]error, callers)
	var g errgroup.Group
	for i := range callers {
		g.Go(func() error {
			expect := ledger.Expect{Filter: ledger.GroupSubjects("prod", fmt.Sprintf("c%d", i))}
			if i%4 == 0 {
				expect.Filter = ledger.GroupSubjects("prod", "taken")
			}
			_, errs[i] = log.Append(t.Context(), numbered(fmt.Sprintf("c%d", i), 2), expect)
			return nil
		})
	}
	require.NoError(t, g.Wait())
	for i, err := range errs {
		if i%4 == 0 {
			require.ErrorIs(t, err, ledger.ErrConflict)
		} else {
			require.NoError(t, err)
		}
	}
	last, err := log.Last(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1+2*30, last)
}

// A capture's transaction: events of groups, and the cursor with its own expectation in the
// middle or at the end. An expectation has to come before whatever its filter matches.
func TestExpectationsStandBeforeWhatTheyMatch(t *testing.T) {
	log := ledgertest.New(t)
	events := []ledger.Event{committed("a", 1), committed("b", 1), committed("a", 2), cursor(1)}
	expects := []ledger.Expect{
		{Filter: ledger.CursorSubject("prod", ledger.CursorShardAll)},
		{Filter: ledger.GroupSubjects("prod", "b")},
		{Filter: ledger.GroupSubjects("prod", "a")},
	}
	r, err := log.Append(t.Context(), events, expects...)
	require.NoError(t, err)
	for i := range expects {
		expects[i].Seq = []uint64{r.First + 3, r.First + 1, r.First + 2}[i]
	}
	_, err = log.Append(t.Context(), events, expects...)
	require.NoError(t, err)
	_, err = log.Append(t.Context(), events, expects...)
	require.ErrorIs(t, err, ledger.ErrConflict)

	// Two filters that match the first event alone find no room.
	_, err = log.Append(t.Context(), events,
		ledger.Expect{Filter: "ol.prod.g.a.committed", Seq: 7}, ledger.Expect{Filter: "ol.prod.g.a.*", Seq: 7})
	require.ErrorIs(t, err, ledger.ErrInvalid)
}

func cursor(next int64) ledger.Event {
	return ledger.Event{
		Kind: ledger.KindCursor, Cluster: "prod", Time: ledger.AtMillis(next), Source: ledger.Source{Kind: ledger.SourceTail},
		Cursor: &ledger.Cursor{Shard: ledger.CursorShardAll, KafkaClusterID: "k", TopicID: uuid.New(), Lines: []ledger.SourceLine{{Partition: 1, Next: next}}},
	}
}

func TestAppendWithContextThatHasEnded(t *testing.T) {
	log := ledgertest.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := log.Append(ctx, numbered("a", 1))
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, stream.ErrOutcomeUnknown)
}

// Callers whose patience ends at any moment never stop the others, and what they are told is
// true: nothing stored, unless the outcome is said to be unknown.
func TestImpatientCallers(t *testing.T) {
	log := ledgertest.New(t)
	var g errgroup.Group
	outcomes := make([]error, 60)
	for i := range outcomes {
		g.Go(func() error {
			ctx := t.Context()
			if i%2 == 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, time.Duration(rand.IntN(20_000))*time.Microsecond)
				defer cancel()
			}
			_, outcomes[i] = log.Append(ctx, numbered(fmt.Sprintf("c%d", i), 20))
			return nil
		})
	}
	require.NoError(t, g.Wait())
	for i, err := range outcomes {
		last, lastErr := log.LastOf(t.Context(), ledger.GroupSubjects("prod", fmt.Sprintf("c%d", i)))
		require.NoError(t, lastErr)
		switch {
		case err == nil:
			require.NotZero(t, last)
		case !errors.Is(err, stream.ErrOutcomeUnknown):
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Zero(t, last)
		}
		if i%2 == 1 {
			require.NoError(t, err)
		}
	}
}
