package main

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger/embedded"
)

// A data directory that is not one, or not one for this program, is refused as it is.
func TestServeRefusesADirectoryOfAnotherThing(t *testing.T) {
	fake := startKafka(t)
	for _, c := range []struct{ file, content, says string }{
		{"todo", "milk", "todo"},
		{"layout.json", `{"product":"offsetledger","version":2}`, "use the newer program that made it"},
		{"layout.json", `{"product":"other","version":1}`, "does not say what"},
	} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, c.file), []byte(c.content), 0o600))
		said := launchServe(t, dir, fake.Addrs()[0]).refused(exitFailed)
		require.Contains(t, said, c.says)
		require.Contains(t, said, dir)
		b, err := os.ReadFile(filepath.Join(dir, c.file))
		require.NoError(t, err)
		require.Equal(t, c.content, string(b))
	}
}

// A data directory that a living process holds is refused with its pid, and the daemon in it
// is not disturbed.
func TestServeSaysWhoHoldsTheDirectory(t *testing.T) {
	fake := startKafka(t)
	dir := filepath.Join(t.TempDir(), "ledger")
	d := serveKafka(t, dir, fake.Addrs()[0])
	said := launchServe(t, dir, fake.Addrs()[0]).refused(exitFailed)
	require.Contains(t, said, "in use by process "+strconv.Itoa(os.Getpid()))
	require.Contains(t, said, dir)
	commitAt(t, fake, "g", 7)
	d.captures("g", "t", 7)
	at, ok := announced(dir)
	require.True(t, ok)
	require.Equal(t, d.url, at, "what asks the directory still finds the daemon")
}

// unsafeLedger makes a ledger in dir whose stream may lose events.
func unsafeLedger(t *testing.T, dir string) {
	srv, err := embedded.Start(t.Context(), embedded.Config{Dir: dir})
	require.NoError(t, err)
	defer func() { require.NoError(t, srv.Close()) }()
	js, err := jetstream.New(srv.Conn())
	require.NoError(t, err)
	_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "OFFSETLEDGER", Subjects: []string{"ol.>"}, MaxMsgs: 10})
	require.NoError(t, err)
}

func TestServeRefusesAStreamThatMayLoseEvents(t *testing.T) {
	fake := startKafka(t)
	dir := filepath.Join(t.TempDir(), "ledger")
	unsafeLedger(t, dir)
	said := launchServe(t, dir, fake.Addrs()[0]).refused(exitFailed)
	require.Contains(t, said, "not safe for a ledger: limits: messages 10")
}
