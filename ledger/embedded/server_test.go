package embedded_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/offsetledger/offsetledger/ledger/embedded"
)

func TestMain(m *testing.M) {
	if helper, ok := helpers[os.Getenv("EMBEDDED_TEST_HELPER")]; ok {
		helper()
		return
	}
	goleak.VerifyTestMain(m)
}

func start(t *testing.T, cfg embedded.Config) *embedded.Server {
	t.Helper()
	srv, err := embedded.Start(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	return srv
}

// newStream makes a small file stream and publishes n messages to it.
func newStream(t *testing.T, nc *nats.Conn, n int) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}})
	require.NoError(t, err)
	for i := range n {
		_, err = js.Publish(t.Context(), "s", fmt.Append(nil, i))
		require.NoError(t, err)
	}
	return js
}

func TestStoredMessagesAreThereAfterRestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "by", "start")
	srv := start(t, embedded.Config{Dir: dir})
	newStream(t, srv.Conn(), 5)
	require.NoError(t, srv.Health())
	require.Empty(t, srv.URL(), "no port is open by default")
	require.NoError(t, srv.Close())
	require.NoError(t, srv.Close(), "closing again does nothing")
	require.True(t, srv.Conn().IsClosed())
	require.Error(t, srv.Health())

	again := start(t, embedded.Config{Dir: dir})
	js, err := jetstream.New(again.Conn())
	require.NoError(t, err)
	s, err := js.Stream(t.Context(), "S")
	require.NoError(t, err)
	require.EqualValues(t, 5, s.CachedInfo().State.LastSeq)
}

func TestListenOnLoopback(t *testing.T) {
	srv := start(t, embedded.Config{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	nc, err := nats.Connect(srv.URL())
	require.NoError(t, err)
	defer nc.Close()
	newStream(t, nc, 1)
}

func TestConfigFaultsAreToldAllAtOnce(t *testing.T) {
	_, err := embedded.Start(t.Context(), embedded.Config{SyncInterval: -1, MaxPayload: -1, Listen: "0.0.0.0:4222"})
	require.ErrorContains(t, err, "no data directory")
	require.ErrorContains(t, err, "sync interval -1ns is negative")
	require.ErrorContains(t, err, "maximum payload -1 is negative")
	require.ErrorContains(t, err, "0.0.0.0:4222\" is not on loopback")
}

func TestNAT11ReadinessIsBoundedByTheContextAlone(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := embedded.Start(ctx, embedded.Config{Dir: dir})
	require.ErrorIs(t, err, context.Canceled)
	start(t, embedded.Config{Dir: dir}) // nothing holds the directory
}

// Recovery takes longer than somebody is ready to wait: Start fails, the directory is free and
// nothing is lost, and whoever waits gets it.
func TestNAT11RecoveryThatIsGivenUpDoesNoHarm(t *testing.T) {
	dir := t.TempDir()
	srv := start(t, embedded.Config{Dir: dir})
	newStream(t, srv.Conn(), 200)
	require.NoError(t, srv.Close())
	indexes, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "S", "msgs", "index.db"))
	require.NoError(t, err)
	require.Len(t, indexes, 1)
	require.NoError(t, os.Remove(indexes[0])) // as after a crash: everything is read again

	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err = embedded.Start(ctx, embedded.Config{Dir: dir})
	require.ErrorIs(t, err, context.DeadlineExceeded)

	again := start(t, embedded.Config{Dir: dir})
	js, err := jetstream.New(again.Conn())
	require.NoError(t, err)
	s, err := js.Stream(t.Context(), "S")
	require.NoError(t, err)
	require.EqualValues(t, 200, s.CachedInfo().State.Msgs)
}

// A service stops while a thousand messages are being published, its directory is removed in
// the same moment, and another starts at once in the same place: nothing of the first may still
// be writing.
func TestNAT11StopWhilePublishing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	for range 3 {
		srv, err := embedded.Start(t.Context(), embedded.Config{Dir: dir})
		require.NoError(t, err)
		js := newStream(t, srv.Conn(), 0)
		half, done := make(chan struct{}), make(chan int)
		go func() {
			defer func() { close(done) }()
			for i := range 1000 {
				if i == 50 {
					close(half)
				}
				ctx, cancel := context.WithTimeout(context.Background(), time.Second)
				_, err := js.Publish(ctx, "s", []byte("x"))
				cancel()
				if err != nil {
					done <- i
					return
				}
			}
		}()
		<-half
		require.NoError(t, srv.Close())
		require.NoError(t, os.RemoveAll(dir))
		stored, stopped := <-done
		require.True(t, stopped, "the server was stopped in the middle of publishing")
		require.GreaterOrEqual(t, stored, 50)
		require.NoDirExists(t, dir)
		<-done
	}
}
