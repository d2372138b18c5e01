package projection_test

import (
	"context"
	"errors"
	"iter"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// live yields what is sent, until the channel closes or fails.
func live(in <-chan ledger.Record, fail <-chan error) iter.Seq2[ledger.Record, error] {
	return func(yield func(ledger.Record, error) bool) {
		for {
			select {
			case rec, ok := <-in:
				if !ok || !yield(rec, nil) {
					return
				}
			case err := <-fail:
				yield(ledger.Record{}, err)
				return
			}
		}
	}
}

func record(seq uint64, ms, offset int64) ledger.Record {
	ev := commit(ms, row(0, offset, int64(seq)))
	ev.Cluster = "c"
	return ledger.Record{Seq: seq, Event: ev}
}

// Whoever appended a record waits for its sequence and then reads its own write.
func TestNAT12ReadingYourOwnWrite(t *testing.T) {
	v := projection.NewView()
	in, fail, ended := make(chan ledger.Record), make(chan error), make(chan error, 1)
	go func() { ended <- v.Run(t.Context(), live(in, fail)) }()

	in <- record(1, 1000, 76)
	waited := make(chan error, 1)
	go func() { waited <- v.WaitFor(t.Context(), 2) }()
	in <- record(2, 1001, 77)
	require.NoError(t, <-waited)
	v.Read(func(s *projection.State) {
		got, _ := committed(s, 0)
		require.EqualValues(t, 77, got)
	})
	require.NoError(t, v.WaitFor(t.Context(), 1))

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, v.WaitFor(ctx, 3), context.Canceled)

	lost := errors.New("the log is gone")
	go func() { waited <- v.WaitFor(t.Context(), 3) }()
	fail <- lost
	require.ErrorIs(t, <-ended, lost)
	require.ErrorIs(t, <-waited, lost)
	require.ErrorIs(t, v.Err(), lost)
	require.ErrorIs(t, v.WaitFor(t.Context(), 3), lost)
	v.Read(func(s *projection.State) { require.EqualValues(t, 2, s.Seq()) }) // it still answers

	close(in)
	require.NoError(t, v.Run(t.Context(), live(in, nil)))
	require.NoError(t, v.Err())
	require.ErrorContains(t, v.WaitFor(t.Context(), 3), "no more records come")
}

func TestViewRefusesAHole(t *testing.T) {
	v := projection.NewView()
	err := v.Run(t.Context(), records([]ledger.Record{record(1, 1000, 1), record(3, 1000, 1)}))
	require.ErrorIs(t, err, ledger.ErrMissing)
	require.EqualValues(t, 1, v.Seq())
}

// A follower gets every Change from when it began, in order, while others read.
func TestViewChanges(t *testing.T) {
	v := projection.NewView()
	in, ended := make(chan ledger.Record), make(chan error, 1)
	go func() { ended <- v.Run(t.Context(), live(in, nil)) }()

	ctx, cancel := context.WithCancel(t.Context())
	began := make(chan uint64, 1)
	var got []projection.Change
	var last error
	var wg sync.WaitGroup
	wg.Go(func() {
		for c, err := range v.Changes(ctx) {
			if last = err; err != nil {
				return
			}
			if got = append(got, c); len(got) == 1 {
				began <- c.Seq
			}
			if len(got) == 1000 {
				cancel()
			}
		}
	})
	wg.Go(func() {
		for ctx.Err() == nil {
			v.Read(func(s *projection.State) { s.Groups("c") })
		}
	})
	first, seq := uint64(0), uint64(0)
	for first == 0 || seq < first+1000 {
		seq++
		in <- record(seq, 1000, int64(seq))
		select {
		case first = <-began:
		default:
		}
	}
	wg.Wait()
	close(in)
	require.NoError(t, <-ended)
	require.ErrorIs(t, last, context.Canceled)
	for i := range 1000 {
		require.Equal(t, first+uint64(i), got[i].Seq)
		require.EqualValues(t, got[i].Seq, got[i].To.At)
	}
}

// The fold never waits for a follower. One that is too far behind is told so, after it got
// all that was kept for it.
func TestSlowFollowerIsCutOff(t *testing.T) {
	v := projection.NewView()
	in, ended := make(chan ledger.Record), make(chan error, 1)
	go func() { ended <- v.Run(t.Context(), live(in, nil)) }()

	entered, goOn := make(chan struct{}), make(chan struct{})
	result := make(chan error, 1)
	go func() {
		seen := 0
		for _, err := range v.Changes(t.Context()) {
			if err != nil {
				result <- err
				return
			}
			if seen++; seen == 1 {
				close(entered)
				<-goOn
			}
		}
	}()
	seq, following := uint64(0), false
	for sent := 0; sent < 1<<16+10; {
		seq++
		in <- record(seq, 1000, int64(seq))
		select {
		case <-entered:
			following = true
		default:
		}
		if following {
			sent++
		}
	}
	close(goOn)
	require.ErrorIs(t, <-result, projection.ErrFollowerSlow)
	close(in)
	require.NoError(t, <-ended)
}
