package ledgertest_test

import (
	"errors"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/ledgertest"
	"github.com/offsetledger/offsetledger/ledger/stream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func event(group string) ledger.Event {
	now := ledger.AtMillis(1_700_000_000_000)
	return ledger.Event{
		Kind: ledger.KindCommitted, Cluster: "prod", Group: group, Time: now,
		Source:  ledger.Source{Kind: ledger.SourceTail},
		Offsets: []ledger.Offset{{Topic: "orders", At: 7, Effective: now}},
	}
}

func groups(t *testing.T, l *ledgertest.Ledger) []string {
	t.Helper()
	var got []string
	for rec, err := range l.Read(t.Context(), 1, 0, ledger.Filter{}) {
		require.NoError(t, err)
		got = append(got, rec.Event.Group)
	}
	return got
}

func TestEverythingSurvivesReopenAndCrash(t *testing.T) {
	l := ledgertest.New(t)
	incarnation := l.Incarnation()
	for _, restart := range []func(){l.Reopen, l.Crash, l.Crash, l.Reopen} {
		_, err := l.Append(t.Context(), []ledger.Event{event("a"), event("b")})
		require.NoError(t, err)
		restart()
		require.Equal(t, incarnation, l.Incarnation())
	}
	require.Equal(t, []string{"a", "b", "a", "b", "a", "b", "a", "b"}, groups(t, l))
}

func TestFaultyFailsOnOrder(t *testing.T) {
	l := ledgertest.New(t)
	f := ledgertest.NewFaulty(l)
	before, after := errors.New("before"), errors.New("after")
	f.FailBefore(before)
	f.FailAfter(after)

	_, err := f.Append(t.Context(), []ledger.Event{event("not stored")})
	require.ErrorIs(t, err, before)
	_, err = f.Append(t.Context(), []ledger.Event{event("stored")})
	require.ErrorIs(t, err, after)
	r, err := f.Append(t.Context(), []ledger.Event{event("fine")})
	require.NoError(t, err)
	require.Equal(t, ledger.Receipt{First: 2, Last: 2}, r)
	require.Equal(t, []string{"stored", "fine"}, groups(t, l))
}

// What Check is for: each of these must not get past it.
func TestCheckSeesWhatIsWrong(t *testing.T) {
	for name, spoil := range map[string]func(*nats.Conn) error{
		"bytes that are no event": func(nc *nats.Conn) error { return publish(nc, "ol.prod.g.a.committed", []byte{0xff}) },
		"the wrong subject":       func(nc *nats.Conn) error { return publish(nc, "ol.prod.g.b.committed", encoded(event("a"))) },
		"a lone part": func(nc *nats.Conn) error {
			e := event("a")
			e.Part, e.Parts = 2, 2
			return publish(nc, "ol.prod.g.a.committed", encoded(e))
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := ledgertest.New(t)
			require.NoError(t, spoil(l.Conn()))
			failed := &recorder{TB: t}
			done := make(chan struct{})
			go func() {
				defer close(done)
				ledgertest.Check(failed, l.Conn(), stream.Config{})
			}()
			<-done
			require.True(t, failed.failed)
			// The stream is spoilt for good, and the check at the end must not see it.
			js, err := l.Conn().JetStream()
			require.NoError(t, err)
			require.NoError(t, js.DeleteStream(stream.DefaultName))
			_, err = stream.Create(t.Context(), l.Conn(), stream.Config{})
			require.NoError(t, err)
		})
	}
}

func encoded(e ledger.Event) []byte {
	b, err := e.AppendBinary(nil)
	if err != nil {
		panic(err)
	}
	return b
}

func publish(nc *nats.Conn, subject string, data []byte) error {
	js, err := nc.JetStream()
	if err != nil {
		return err
	}
	_, err = js.Publish(subject, data)
	return err
}
