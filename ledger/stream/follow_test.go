package stream_test

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/ledgertest"
	"github.com/offsetledger/offsetledger/ledger/stream"
)

// take pulls n records and returns their sequences.
func take(t *testing.T, next func() (ledger.Record, error, bool), n int) []uint64 {
	t.Helper()
	seqs := make([]uint64, 0, n)
	for range n {
		rec, err, ok := next()
		require.NoError(t, err)
		require.True(t, ok)
		seqs = append(seqs, rec.Seq)
	}
	return seqs
}

func collect(t *testing.T, records iter.Seq2[ledger.Record, error]) []uint64 {
	t.Helper()
	var seqs []uint64
	for rec, err := range records {
		require.NoError(t, err)
		seqs = append(seqs, rec.Seq)
	}
	return seqs
}

// failure returns the error that an iteration ends with.
func failure(t *testing.T, records iter.Seq2[ledger.Record, error]) error {
	t.Helper()
	var last error
	for _, err := range records {
		last = err
	}
	require.Error(t, last)
	return last
}

// Ten thousand stored events are replayed while a thousand new ones are written: every sequence
// comes once and in order, with no seam where the stored ones end and the new ones begin.
func TestREP07FromReplayToLiveWithoutSeam(t *testing.T) {
	t.Parallel()
	const stored, live = 10_000, 1_000
	log := ledgertest.New(t)
	for range stored / 1000 {
		_, err := log.Append(t.Context(), numbered("a", 1000))
		require.NoError(t, err)
	}
	end := uint64(stored)
	rounds := 50
	if testing.Short() {
		rounds = 5
	}
	for range rounds {
		end += live
		written := make(chan error, 1)
		go func() {
			for range live / 200 {
				if _, err := log.Append(context.Background(), numbered("b", 200)); err != nil {
					written <- err
					return
				}
			}
			written <- nil
		}()
		want := end - live - stored + 1
		for rec, err := range log.Follow(t.Context(), want, ledger.Filter{}) {
			require.NoError(t, err)
			require.Equal(t, want, rec.Seq)
			if want++; want > end {
				break
			}
		}
		require.NoError(t, <-written)
	}
}

// Start is by sequence, wherever in the store it lies, and never a block's edge.
func TestReadStartsAndEndsExactly(t *testing.T) {
	log := ledgertest.New(t)
	for range 5 {
		_, err := log.Append(t.Context(), numbered("a", 500))
		require.NoError(t, err)
	}
	for _, c := range []struct{ from, to, first, last uint64 }{
		{1, 1, 1, 1}, {0, 2, 1, 2}, {2, 2, 2, 2}, {499, 502, 499, 502}, {2047, 2051, 2047, 2051}, {2500, 2500, 2500, 2500}, {2400, 0, 2400, 2500},
	} {
		got := collect(t, log.Read(t.Context(), c.from, c.to, ledger.Filter{}))
		require.Equal(t, c.first, got[0])
		require.Equal(t, c.last, got[len(got)-1])
		require.EqualValues(t, c.last-c.first+1, len(got))
	}
	require.Empty(t, collect(t, log.Read(t.Context(), 2501, 0, ledger.Filter{})), "one beyond the end is empty")
	require.Empty(t, collect(t, log.Read(t.Context(), 7, 6, ledger.Filter{})))
	require.ErrorIs(t, failure(t, log.Read(t.Context(), 2502, 0, ledger.Filter{})), ledger.ErrMissing)
	require.ErrorIs(t, failure(t, log.Read(t.Context(), 2400, 2501, ledger.Filter{})), ledger.ErrMissing)
	require.ErrorIs(t, failure(t, log.Follow(t.Context(), 2502, ledger.Filter{})), ledger.ErrMissing)
}

func TestReadByFilters(t *testing.T) {
	log := ledgertest.New(t)
	for i := range 4 {
		_, err := log.Append(t.Context(), []ledger.Event{committed("a", int64(i)), committed("b", 1), committed("c", 1), cursor(int64(i))})
		require.NoError(t, err)
	}
	a, c, cursors := ledger.GroupSubjects("prod", "a"), ledger.GroupSubjects("prod", "c"), ledger.CursorSubject("prod", "0")
	for name, tc := range map[string]struct {
		from, to uint64
		filter   []string
		want     []uint64
	}{
		"one group":        {1, 0, []string{a}, []uint64{1, 5, 9, 13}},
		"from the middle":  {2, 0, []string{a}, []uint64{5, 9, 13}},
		"to between two":   {1, 8, []string{a}, []uint64{1, 5}},
		"two groups":       {5, 0, []string{a, c}, []uint64{5, 7, 9, 11, 13, 15}},
		"group and cursor": {9, 0, []string{a, cursors}, []uint64{9, 12, 13, 16}},
		"kind of all":      {13, 0, []string{"ol.prod.g.*.committed"}, []uint64{13, 14, 15}},
		"cluster":          {14, 0, []string{ledger.ClusterSubjects("prod")}, []uint64{14, 15, 16}},
		"unknown group":    {1, 0, []string{ledger.GroupSubjects("prod", "z")}, nil},
		"nothing in range": {14, 16, []string{a}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, collect(t, log.Read(t.Context(), tc.from, tc.to, ledger.Filter{Subjects: tc.filter})))
		})
	}
	t.Run("follow", func(t *testing.T) {
		next, stop := iter.Pull2(log.Follow(t.Context(), 6, ledger.Filter{Subjects: []string{a, cursors}}))
		defer stop()
		require.Equal(t, []uint64{8, 9, 12, 13, 16}, take(t, next, 5))
		_, err := log.Append(t.Context(), []ledger.Event{committed("b", 1), committed("a", 9)})
		require.NoError(t, err)
		require.Equal(t, []uint64{18}, take(t, next, 1))
	})
}

func TestFollowEndsWithItsContext(t *testing.T) {
	log := ledgertest.New(t)
	_, err := log.Append(t.Context(), numbered("a", 3))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var seqs []uint64
	var last error
	for rec, err := range log.Follow(ctx, 1, ledger.Filter{}) {
		if last = err; err != nil {
			break
		}
		if seqs = append(seqs, rec.Seq); rec.Seq == 3 {
			cancel()
		}
	}
	require.Equal(t, []uint64{1, 2, 3}, seqs)
	require.ErrorIs(t, last, context.Canceled)
}

// A reader that is slower than the server removes idle consumers, or that others overtake,
// still gets everything; and more than fits into its window.
func TestSlowReaderGetsEverything(t *testing.T) {
	log := ledgertest.New(t)
	for range 20 {
		_, err := log.Append(t.Context(), numbered("a", 1000))
		require.NoError(t, err)
	}
	next, stop := iter.Pull2(log.Follow(t.Context(), 1, ledger.Filter{}))
	defer stop()
	take(t, next, 10)
	removeConsumers(t, log)
	for seq := uint64(11); seq <= 20_000; seq++ {
		require.Equal(t, []uint64{seq}, take(t, next, 1))
	}
}

// More bytes than a reader asks for at a time, in events near the largest there are.
func TestReadOfLargeEvents(t *testing.T) {
	log := ledgertest.New(t)
	for range 15 {
		_, err := log.Append(t.Context(), []ledger.Event{large(850_000)})
		require.NoError(t, err)
	}
	require.Len(t, collect(t, log.Read(t.Context(), 1, 0, ledger.Filter{})), 15)
}

// The server is closed under a reader and a writer: both are told, and neither waits.
func TestClosedServerEndsReadersAndWriters(t *testing.T) {
	l := ledgertest.New(t)
	log := l.Log
	_, err := log.Append(t.Context(), numbered("a", 3))
	require.NoError(t, err)
	next, stop := iter.Pull2(log.Follow(t.Context(), 1, ledger.Filter{}))
	defer stop()
	take(t, next, 3)
	l.Reopen()
	_, err, ok := next()
	require.True(t, ok)
	require.ErrorIs(t, err, nats.ErrConnectionClosed)
	_, err = log.Append(t.Context(), numbered("a", 1))
	require.ErrorIs(t, err, nats.ErrConnectionClosed)
	require.NotErrorIs(t, err, stream.ErrOutcomeUnknown)
}

// removeConsumers deletes every consumer of the stream, as the server does with unused ones.
func removeConsumers(t *testing.T, log *ledgertest.Ledger) {
	t.Helper()
	js, err := jetstream.New(log.Conn())
	require.NoError(t, err)
	s, err := js.Stream(t.Context(), stream.DefaultName)
	require.NoError(t, err)
	names := s.ConsumerNames(t.Context())
	removed := 0
	for name := range names.Name() {
		require.NoError(t, s.DeleteConsumer(t.Context(), name))
		removed++
	}
	require.NotZero(t, removed)
}

// Five events are received, the server is restarted, and two more are published: the reader
// gets those two only, even though its consumer is gone.
func TestNAT09FollowGoesOnAfterARestart(t *testing.T) {
	t.Parallel()
	e := newExternal(t)
	reading, err := stream.Create(t.Context(), connect(t, e.srv.URL()), stream.Config{})
	require.NoError(t, err)
	writing, err := stream.Open(t.Context(), connect(t, e.srv.URL()), stream.Config{})
	require.NoError(t, err)
	for _, filter := range []ledger.Filter{{}, {Subjects: []string{"ol.prod.g.*.committed"}}} {
		r, err := writing.Append(t.Context(), numbered("a", 5))
		require.NoError(t, err)
		next, stop := iter.Pull2(reading.Follow(t.Context(), r.First, filter))
		defer stop()
		take(t, next, 5)
		e.restart()
		_, err = writing.Append(t.Context(), numbered("a", 2))
		require.NoError(t, err)
		require.Equal(t, []uint64{r.Last + 1, r.Last + 2}, take(t, next, 2))
	}
}

// The connection is cut again and again while events are written and followed.
func TestFollowThroughABadConnection(t *testing.T) {
	t.Parallel()
	log, direct, p := throughProxy(t)
	const total = 12 + 40*50
	written := make(chan error, 1)
	go func() {
		for i := range 40 {
			if i%4 == 0 {
				p.cut()
			}
			if _, err := direct.Append(context.Background(), numbered("a", 50)); err != nil {
				written <- err
				return
			}
		}
		written <- nil
	}()
	want := uint64(1)
	for rec, err := range log.Follow(t.Context(), 1, ledger.Filter{}) {
		require.NoError(t, err)
		require.Equal(t, want, rec.Seq)
		if want++; want > total {
			break
		}
	}
	require.NoError(t, <-written)
}

// The stream is deleted, or deleted and made again, under a running reader that waits at its
// end: that is reported, not waited through.
func TestNAT14StreamDeletedUnderAReader(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(t *testing.T, js jetstream.JetStream, l *ledgertest.Ledger)
		want error
	}{
		"deleted": {func(*testing.T, jetstream.JetStream, *ledgertest.Ledger) {}, stream.ErrNotFound},
		"made again, shorter": {func(t *testing.T, js jetstream.JetStream, l *ledgertest.Ledger) {
			_, err := stream.Create(t.Context(), l.Conn(), stream.Config{})
			require.NoError(t, err)
		}, stream.ErrReplaced},
		"made again, longer": {func(t *testing.T, js jetstream.JetStream, l *ledgertest.Ledger) {
			log, err := stream.Create(t.Context(), l.Conn(), stream.Config{})
			require.NoError(t, err)
			_, err = log.Append(t.Context(), numbered("a", 100))
			require.NoError(t, err)
		}, stream.ErrReplaced},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := ledgertest.New(t)
			log := l.Log
			_, err := log.Append(t.Context(), numbered("a", 5))
			require.NoError(t, err)
			next, stop := iter.Pull2(log.Follow(t.Context(), 1, ledger.Filter{}))
			defer stop()
			take(t, next, 5)

			js, err := jetstream.New(l.Conn())
			require.NoError(t, err)
			require.NoError(t, js.DeleteStream(t.Context(), stream.DefaultName))
			c.do(t, js, l)
			_, err, ok := next()
			require.True(t, ok)
			require.ErrorIs(t, err, c.want)
			_, err = log.Append(t.Context(), numbered("a", 1))
			require.Error(t, err)
			require.Error(t, failure(t, log.Read(t.Context(), 1, 0, ledger.Filter{})))
			_, err = log.Last(t.Context())
			require.ErrorIs(t, err, c.want)

			if errors.Is(c.want, stream.ErrNotFound) {
				_, err = stream.Create(t.Context(), l.Conn(), stream.Config{}) // for the check at the end
				require.NoError(t, err)
			}
		})
	}
}

// An administrator's purge is refused. Limits that someone sets erase nevertheless, and a reader
// that waits says so; nothing may go on as if nothing had happened.
func TestNAT14EventsRemovedUnderAReader(t *testing.T) {
	t.Parallel()
	e := newExternal(t)
	nc := connect(t, e.srv.URL())
	log, err := stream.Create(t.Context(), nc, stream.Config{})
	require.NoError(t, err)
	_, err = log.Append(t.Context(), numbered("a", 20))
	require.NoError(t, err)
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	s, err := js.Stream(t.Context(), stream.DefaultName)
	require.NoError(t, err)
	require.Error(t, s.Purge(t.Context()))
	require.Error(t, s.DeleteMsg(t.Context(), 3))

	next, stop := iter.Pull2(log.Follow(t.Context(), 1, ledger.Filter{Subjects: []string{"ol.prod.g.*.committed"}}))
	defer stop()
	take(t, next, 20)
	cfg := s.CachedInfo().Config
	cfg.MaxMsgs, cfg.Discard = 5, jetstream.DiscardOld
	_, err = js.UpdateStream(t.Context(), cfg)
	require.NoError(t, err)
	_, err, ok := next()
	require.True(t, ok)
	require.ErrorIs(t, err, stream.ErrReplaced)
	_, err = stream.Open(t.Context(), nc, stream.Config{})
	require.ErrorIs(t, err, stream.ErrUnsafe)
	require.ErrorContains(t, err, "first sequence is 16, has to be 1")
}
