package stream_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/ledgertest"
	"github.com/offsetledger/offsetledger/ledger/stream"
)

// throughProxy opens the log of a new server over a proxy, and beside it directly.
func throughProxy(t *testing.T) (log, direct *stream.Log, p *proxy) {
	t.Helper()
	e := newExternal(t)
	t.Cleanup(func() { ledgertest.Check(t, e.srv.Conn(), stream.Config{}) })
	direct, err := stream.Create(t.Context(), e.srv.Conn(), stream.Config{})
	require.NoError(t, err)
	_, err = direct.Append(t.Context(), numbered("before", 12))
	require.NoError(t, err)
	p = newProxy(t, e.addr)
	log, err = stream.Open(t.Context(), connect(t, p.url()), stream.Config{AppendTimeout: 8 * time.Second})
	require.NoError(t, err)
	return log, direct, p
}

// The publish times out. Either it never reached the server or only its acknowledgement got
// lost: in both cases the events are stored once in the end, and the receipt says where, for
// single messages and batches, with expectation and without.
func TestNAT04LostAcknowledgement(t *testing.T) {
	t.Parallel()
	subject := ledger.GroupSubject("prod", "a", ledger.KindCommitted)
	for name, c := range map[string]struct {
		events  []ledger.Event
		expects []ledger.Expect
	}{
		"single":                        {numbered("a", 1), nil},
		"single, expecting its subject": {numbered("a", 1), []ledger.Expect{{Filter: subject}}},
		"single, expecting another":     {numbered("a", 1), []ledger.Expect{{Filter: ledger.GroupSubject("prod", "a", ledger.KindClaim)}}},
		"batch":                         {numbered("a", 3), nil},
		"batch, expecting":              {numbered("a", 3), []ledger.Expect{{Filter: ledger.GroupSubjects("prod", "a")}}},
	} {
		for _, reached := range []bool{true, false} {
			t.Run(name+map[bool]string{true: ", stored", false: ", not stored"}[reached], func(t *testing.T) {
				t.Parallel()
				log, direct, p := throughProxy(t)
				if reached {
					p.loseAnswers.Store(true)
				} else {
					p.loseRequests.Store(true)
				}
				mended := make(chan struct{})
				go func() {
					defer close(mended)
					if reached {
						waitFor(t, direct, 12+uint64(len(c.events)))
					} else {
						<-p.lost
					}
					p.loseAnswers.Store(false)
					p.loseRequests.Store(false)
					p.cut()
				}()
				r, err := log.Append(t.Context(), c.events, c.expects...)
				require.NoError(t, err)
				require.Equal(t, ledger.Receipt{First: 13, Last: 12 + uint64(len(c.events))}, r)
				<-mended
				last, err := direct.Last(t.Context())
				require.NoError(t, err)
				require.Equal(t, r.Last, last, "stored once")
			})
		}
	}
}

// waitFor waits until the log reaches seq.
func waitFor(t *testing.T, log *stream.Log, seq uint64) {
	for rec, err := range log.Follow(t.Context(), 1, ledger.Filter{}) {
		if err != nil {
			t.Error(err)
		}
		if err != nil || rec.Seq >= seq {
			return
		}
	}
}

// The acknowledgement is lost, and before the writer looks, somebody else has written to the
// same subject: the last message is not the writer's own, and it has won nevertheless.
func TestNAT04LastMessageIsAlreadySomebodyElses(t *testing.T) {
	t.Parallel()
	log, direct, p := throughProxy(t)
	p.loseAnswers.Store(true)
	done := make(chan struct{})
	go func() {
		defer close(done)
		waitFor(t, direct, 13)
		_, err := direct.Append(context.Background(), numbered("a", 5))
		if err != nil {
			t.Error(err)
		}
		p.loseAnswers.Store(false)
		p.cut()
	}()
	r, err := log.Append(t.Context(), numbered("a", 1), ledger.Expect{Filter: ledger.GroupSubjects("prod", "a")})
	require.NoError(t, err)
	require.Equal(t, ledger.Receipt{First: 13, Last: 13}, r)
	<-done
}

// The request is lost, and somebody else writes what it expected not to be there.
func TestNAT04RealConflictAfterALostRequest(t *testing.T) {
	t.Parallel()
	log, direct, p := throughProxy(t)
	p.loseRequests.Store(true)
	_, err := direct.Append(t.Context(), numbered("a", 5))
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		<-p.lost
		p.loseRequests.Store(false)
		p.cut()
	}()
	_, err = log.Append(t.Context(), numbered("a", 1), ledger.Expect{Filter: ledger.GroupSubjects("prod", "a")})
	var conflict *ledger.ConflictError
	require.ErrorAs(t, err, &conflict)
	require.Equal(t, ledger.ConflictError{Filter: "ol.prod.g.a.>", Wanted: 0, Found: 17}, *conflict)
	<-done
}

// The request is stuck somewhere on its way, is sent again, and arrives after all when the
// second has long been stored: the server knows it by its id.
func TestNAT04RequestThatArrivesLate(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 4} {
		t.Run(fmt.Sprintf("%d messages", n), func(t *testing.T) {
			t.Parallel()
			log, direct, p := throughProxy(t)
			p.holdUntil = map[int]string{1: "Nats-Msg-Id", 4: "Nats-Batch-Commit"}[n]
			p.keepServer.Store(true)
			p.holding.Store(true)
			done := make(chan struct{})
			go func() {
				defer close(done)
				<-p.lost
				p.holding.Store(false)
				p.cutClients()
			}()
			r, err := log.Append(t.Context(), numbered("a", n))
			require.NoError(t, err)
			<-done
			close(p.release)
			<-p.released
			_, err = direct.Append(t.Context(), numbered("b", 1))
			require.NoError(t, err)
			require.Len(t, collect(t, direct.Read(t.Context(), 1, 0, ledger.Filter{Subjects: []string{ledger.GroupSubjects("prod", "a")}})), n)
			require.EqualValues(t, 12+n, r.Last)
		})
	}
}

// No answer ever comes: the caller is told that the outcome is unknown, which is the truth.
func TestNAT04OutcomeThatCannotBeFoundOut(t *testing.T) {
	t.Parallel()
	log, direct, p := throughProxy(t)
	p.loseAnswers.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := log.Append(ctx, numbered("a", 1))
	require.ErrorIs(t, err, stream.ErrOutcomeUnknown)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	last, err := direct.Last(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 13, last, "stored it is")
	p.loseAnswers.Store(false)
	p.cut()
	r, err := log.Append(t.Context(), numbered("b", 1))
	require.NoError(t, err, "and the appender goes on")
	require.EqualValues(t, 14, r.First)
}

// The leader's caller loses patience while others are in its batch: they do not notice.
func TestPatienceOfOthersIsNotTheLeaders(t *testing.T) {
	t.Parallel()
	log, direct, p := throughProxy(t)
	p.loseAnswers.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	type result struct {
		r   ledger.Receipt
		err error
	}
	results := make([]chan result, 4)
	start := func(i int, ctx context.Context, n int) {
		results[i] = make(chan result, 1)
		go func() {
			r, err := log.Append(ctx, numbered("a", n))
			results[i] <- result{r, err}
		}()
	}
	start(0, t.Context(), 1) // alone in the first batch, whose answer is lost
	waitFor(t, direct, 13)
	start(1, ctx, 2) // these gather meanwhile
	start(2, t.Context(), 3)
	start(3, ctx, 4)
	require.Eventually(t, func() bool { return stream.Waiting(log) == 3 }, time.Minute, time.Millisecond)
	cancel()
	for _, i := range []int{1, 3} {
		require.ErrorIs(t, (<-results[i]).err, context.Canceled)
	}
	p.loseAnswers.Store(false)
	p.cut()
	require.Equal(t, result{r: ledger.Receipt{First: 13, Last: 13}}, <-results[0])
	require.Equal(t, result{r: ledger.Receipt{First: 14, Last: 16}}, <-results[2])
}
