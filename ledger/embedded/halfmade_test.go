package embedded_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger/embedded"
)

// A process dies between the two files that the server writes when a stream is made. The server
// would pass the stream over at every later start, with all that was stored in it since.
func TestAStreamThatWasHalfMadeIsMadeAnew(t *testing.T) {
	for _, missing := range []string{"meta.inf", "meta.sum"} {
		t.Run(missing, func(t *testing.T) {
			dir := t.TempDir()
			stream := makeStream(t, dir, 0)
			require.NoError(t, os.Remove(filepath.Join(stream, missing)))

			makeStream(t, dir, 1)
			srv, err := embedded.Start(t.Context(), embedded.Config{Dir: dir})
			require.NoError(t, err)
			defer srv.Close()
			js, err := jetstream.New(srv.Conn())
			require.NoError(t, err)
			s, err := js.Stream(t.Context(), "LEDGER")
			require.NoError(t, err)
			require.Equal(t, uint64(1), s.CachedInfo().State.Msgs)
		})
	}
}

// A stream with events whose metadata is gone is not thrown away and not passed over.
func TestAStreamWithEventsAndNoMetadataIsRefused(t *testing.T) {
	dir := t.TempDir()
	stream := makeStream(t, dir, 3)
	sum, err := os.ReadFile(filepath.Join(stream, "meta.sum"))
	require.NoError(t, err)
	require.NoError(t, os.Truncate(filepath.Join(stream, "meta.sum"), 0))

	_, err = embedded.Start(t.Context(), embedded.Config{Dir: dir})
	require.ErrorIs(t, err, embedded.ErrDamaged)
	require.ErrorContains(t, err, "meta.sum")

	require.NoError(t, os.WriteFile(filepath.Join(stream, "meta.sum"), sum, 0o600))
	srv, err := embedded.Start(t.Context(), embedded.Config{Dir: dir})
	require.NoError(t, err)
	require.NoError(t, srv.Close())
}

// makeStream makes a stream on a server of its own, or takes up one that is there, stores some
// messages and returns where it lies.
func makeStream(t *testing.T, dir string, messages int) string {
	t.Helper()
	srv, err := embedded.Start(t.Context(), embedded.Config{Dir: dir})
	require.NoError(t, err)
	defer func() { require.NoError(t, srv.Close()) }()
	js, err := jetstream.New(srv.Conn())
	require.NoError(t, err)
	_, err = js.Stream(t.Context(), "LEDGER")
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "LEDGER", Subjects: []string{"l"}})
	}
	require.NoError(t, err)
	for range messages {
		_, err := js.Publish(t.Context(), "l", []byte("message"))
		require.NoError(t, err)
	}
	return filepath.Join(dir, "jetstream", "$G", "streams", "LEDGER")
}
