package stream_test

import (
	"bytes"
	"context"
	"log/slog"
	"testing"

	"github.com/google/uuid"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger/embedded"
	"github.com/offsetledger/offsetledger/ledger/ledgertest"
	"github.com/offsetledger/offsetledger/ledger/stream"
)

func TestCreateAndOpen(t *testing.T) {
	e := newExternal(t)
	nc := e.srv.Conn()
	_, err := stream.Open(t.Context(), nc, stream.Config{})
	require.ErrorIs(t, err, stream.ErrNotFound)
	require.EqualError(t, err, "open stream OFFSETLEDGER: stream not found")

	made, err := stream.Create(t.Context(), nc, stream.Config{})
	require.NoError(t, err)
	require.NotEqual(t, uuid.Nil, made.Incarnation())
	last, err := made.Last(t.Context())
	require.NoError(t, err)
	require.Zero(t, last)

	_, err = stream.Create(t.Context(), nc, stream.Config{})
	require.ErrorIs(t, err, stream.ErrExists)
	opened, err := stream.Open(t.Context(), nc, stream.Config{})
	require.NoError(t, err)
	require.Equal(t, made.Incarnation(), opened.Incarnation())

	_, err = stream.Create(t.Context(), nc, stream.Config{Name: "a.b", Replicas: 9, AppendTimeout: -1})
	require.ErrorContains(t, err, `"a.b" holds a character`)
	require.ErrorContains(t, err, "9 replicas")
	require.ErrorContains(t, err, "-1ns is negative")
}

func TestChecksOfASoundLedgerAllPass(t *testing.T) {
	l := ledgertest.New(t)
	checks, err := l.Checks(t.Context())
	require.NoError(t, err)
	require.Len(t, checks, 17)
	for _, c := range checks {
		require.True(t, c.OK, c.Name)
		require.NotEmpty(t, c.Detail)
	}
}

// Whether a server syncs before it acknowledges is known of an embedded one, and of another
// only by its system account.
func TestServerThatDoesNotSyncIsWarnedOf(t *testing.T) {
	open := func(t *testing.T, nc *nats.Conn) string {
		var logged bytes.Buffer
		_, err := stream.Create(t.Context(), nc, stream.Config{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
		require.NoError(t, err)
		return logged.String()
	}
	t.Run("embedded, always", func(t *testing.T) {
		require.Empty(t, open(t, newExternal(t).srv.Conn()))
	})
	t.Run("embedded, interval", func(t *testing.T) {
		srv, err := embedded.Start(t.Context(), embedded.Config{Dir: t.TempDir(), SyncInterval: 1e9})
		require.NoError(t, err)
		defer srv.Close()
		require.Contains(t, open(t, srv.Conn()), "acknowledges before it syncs to disk")
	})
	t.Run("over the network", func(t *testing.T) {
		e := newExternal(t)
		require.Contains(t, open(t, connect(t, e.srv.URL())), "cannot be known over this connection")
	})
}

func TestServerWithoutJetStream(t *testing.T) {
	srv, err := server.NewServer(&server.Options{DontListen: true, NoSigs: true, NoLog: true})
	require.NoError(t, err)
	srv.Start()
	defer srv.WaitForShutdown()
	defer srv.Shutdown()
	nc, err := nats.Connect("", nats.InProcessServer(srv))
	require.NoError(t, err)
	defer nc.Close()
	for _, open := range []func(context.Context, *nats.Conn, stream.Config) (*stream.Log, error){stream.Open, stream.Create} {
		_, err = open(t.Context(), nc, stream.Config{})
		require.ErrorIs(t, err, stream.ErrNoJetStream)
		require.ErrorContains(t, err, "enable JetStream")
	}
}

func TestServerThatIsTooOld(t *testing.T) {
	e := newExternal(t)
	p := newProxy(t, e.addr)
	for version, ok := range map[string]bool{"2.11.9": false, "2.12.0": true, "1.99.9": false, "3.0.0": true, "2.9.0": false, "none": false} {
		p.version.Store(&version)
		nc := connect(t, p.url())
		_, err := stream.Open(t.Context(), nc, stream.Config{})
		if ok {
			require.ErrorIs(t, err, stream.ErrNotFound)
			continue
		}
		require.ErrorIs(t, err, stream.ErrServerTooOld)
		require.ErrorContains(t, err, version)
	}
}

func TestWithoutConnection(t *testing.T) {
	e := newExternal(t)
	nc := connect(t, e.srv.URL())
	nc.Close()
	_, err := stream.Open(t.Context(), nc, stream.Config{})
	require.ErrorIs(t, err, nats.ErrDisconnected)
}
