package main

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"
)

// startNATS starts a server of somebody else's on a port (0: any), with what the options say.
// The end of the test stops it.
func startNATS(t *testing.T, opts server.Options) *server.Server {
	opts.Host, opts.NoLog, opts.NoSigs = "127.0.0.1", true, true
	if opts.Port == 0 {
		opts.Port = server.RANDOM_PORT
	}
	srv, err := server.NewServer(&opts)
	require.NoError(t, err)
	srv.Start()
	require.True(t, srv.ReadyForConnections(patience))
	t.Cleanup(func() { stopNATS(srv) })
	return srv
}

func stopNATS(srv *server.Server) {
	srv.Shutdown()
	srv.WaitForShutdown()
}

// On a NATS server of somebody else's a ledger works as on the embedded one. Whether that one
// syncs before it acknowledges cannot be known from here, which is warned of.
func TestServeStoresInAnotherNATSServer(t *testing.T) {
	fake := startKafka(t)
	commitAt(t, fake, "g", 7)
	srv := startNATS(t, server.Options{JetStream: true, StoreDir: t.TempDir()})
	dir := filepath.Join(t.TempDir(), "ledger")
	d := serveKafka(t, dir, fake.Addrs()[0], "--nats", srv.ClientURL())
	d.captures("g", "t", 7)
	require.NoDirExists(t, dir, "the ledger is not there")
	require.Regexp(t, "level=WARN .*syncs to disk before it acknowledges cannot be known.* mend=.*sync_interval: always", d.stderr.String())
	require.Equal(t, exitDone, d.stop(), "%s", &d.stderr)

	commitAt(t, fake, "g", 8)
	d = serveKafka(t, dir, fake.Addrs()[0], "--nats", srv.ClientURL())
	d.captures("g", "t", 8)
	require.Equal(t, exitDone, d.stop(), "%s", &d.stderr)
}

// While the NATS server is away the daemon says that it is not well, and answers from what it
// has folded. When the server is back, it stores what it could not.
func TestServeOutlivesTheNATSServer(t *testing.T) {
	t.Parallel() // it waits more than it works
	fake := startKafka(t)
	commitAt(t, fake, "g", 7)
	store := t.TempDir()
	srv := startNATS(t, server.Options{JetStream: true, StoreDir: store})
	port := srv.Addr().(*net.TCPAddr).Port
	d := serveKafka(t, "", fake.Addrs()[0], "--nats", srv.ClientURL())
	d.captures("g", "t", 7)
	commitAt(t, fake, "h", 1) // something that is folded, and that no question has looked at yet
	d.until("h is seen", func() bool { _, body := d.get("/api/v1/groups"); return strings.Contains(body, `"h"`) })

	stopNATS(srv)
	commitAt(t, fake, "g", 8)
	d.until("it is not well", func() bool {
		code, body := d.get("/healthz")
		return code == http.StatusServiceUnavailable && strings.Contains(body, "nothing can be stored: the NATS server at "+srv.ClientURL()+" is away")
	})
	at, ok := d.offset("g", "t", 0)
	require.True(t, ok, "questions are answered")
	require.Equal(t, int64(7), at)
	code, body := d.get("/api/v1/history?group=g")
	require.Equal(t, http.StatusServiceUnavailable, code, body)
	require.Contains(t, body, "the ledger cannot be read: the NATS server at "+srv.ClientURL()+" is away")

	startNATS(t, server.Options{JetStream: true, StoreDir: store, Port: port})
	d.captures("g", "t", 8)
	d.until("it is well", func() bool { code, _ := d.get("/healthz"); return code == http.StatusOK })
	require.Equal(t, exitDone, d.stop(), "%s", &d.stderr)
}

// Two daemons that capture one cluster into one ledger collide: one of them ends with one clear
// line, the other goes on, and every commit is there once.
func TestServeTwiceOnOneClusterCollides(t *testing.T) {
	fake := startKafka(t)
	commitAt(t, fake, "g", 1)
	srv := startNATS(t, server.Options{JetStream: true, StoreDir: t.TempDir()})
	one := answering(t, launchServe(t, "", fake.Addrs()[0], "--nats", srv.ClientURL()))
	one.captures("g", "t", 1)
	two := launchServe(t, "", fake.Addrs()[0], "--nats", srv.ClientURL())
	last := int64(1)
	require.Eventually(t, func() bool {
		last++
		commitAt(t, fake, "g", last)
		return one.isOver() || (&serving{running: two}).isOver()
	}, patience, 10*time.Millisecond)

	loser, winner := two, one
	if one.isOver() {
		loser, winner = one.running, answering(t, two)
	}
	said := loser.refused(exitFailed)
	require.Contains(t, said, "another daemon captures the cluster local into this ledger")
	winner.captures("g", "t", last)
	events := launch(t, "events", "--group", "g", "--kind", "committed", "--all", "-o", "jsonl", "--api", winner.url)
	require.Equal(t, exitDone, events.wait(), "%s", &events.stderr)
	require.EqualValues(t, last, strings.Count(events.stdout.String(), "\n"), "every commit is there once")
	require.Equal(t, exitDone, winner.stop(), "%s", &winner.stderr)
}

// What is wrong with a NATS server is told in one line, and never with the password in its URL.
func TestServeRefusesANATSServerThatWillNotDo(t *testing.T) {
	fake := startKafka(t)
	old := peer(t, func(c net.Conn) {
		_, _ = fmt.Fprint(c, `INFO {"server_id":"OLD","version":"2.10.29","proto":1,"headers":true,"max_payload":1048576,"jetstream":true}`+"\r\n")
		for lines := bufio.NewScanner(c); lines.Scan(); {
			if lines.Text() == "PING" {
				_, _ = fmt.Fprint(c, "PONG\r\n")
			}
		}
	})
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	nobody := closed.Addr().String()
	for _, c := range []struct {
		url  string
		code int
		says string
	}{
		{startNATS(t, server.Options{}).ClientURL(), exitFailed, "enable JetStream on the NATS server"},
		{"nats://" + old, exitFailed, "2.10.29 has no atomic batches, which came with 2.12"},
		{nobody, exitFailed, "connect to NATS at nats://" + nobody + ": "},
		{"nats://user:secret@" + nobody, exitFailed, "connect to NATS at nats://" + nobody + ": "},
		{"nats://secret@" + nobody, exitFailed, "connect to NATS at nats://" + nobody + ": "},
		{"nats://user:secret@127.0.0.1:port", exitUsage, "--nats: not the URL of a NATS server: invalid port"},
	} {
		said := launchServe(t, "", fake.Addrs()[0], "--nats", c.url).refused(c.code)
		require.Contains(t, said, c.says)
		require.NotContains(t, said, "secret")
	}
}
