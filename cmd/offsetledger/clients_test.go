package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/stream"
)

// clientOf connects to a daemon as one of its clients.
func (d *serving) clientOf(dir, client string, opts ...nats.Option) *stream.Log {
	d.t.Helper()
	at := regexp.MustCompile(` nats=(\S+) `).FindStringSubmatch(d.stderr.String())
	require.Len(d.t, at, 2, "%s", &d.stderr)
	key, err := nats.NkeyOptionFromSeed(filepath.Join(dir, client+".nk"))
	require.NoError(d.t, err)
	nc, err := nats.Connect(at[1], append(opts, key)...)
	require.NoError(d.t, err)
	d.t.Cleanup(nc.Close)
	log, err := stream.Open(d.t.Context(), nc, stream.Config{AppendTimeout: 2 * time.Second})
	require.NoError(d.t, err)
	return log
}

func told(group string, at int64) []ledger.Event {
	now := ledger.AtTime(time.Now())
	return []ledger.Event{{
		ID: uuid.Must(uuid.NewV7()), Kind: ledger.KindCommitted, Cluster: "c", Group: group, Time: now,
		Source:  ledger.Source{Kind: ledger.SourceManager, Instance: "pod-1"},
		Offsets: []ledger.Offset{{Topic: "t", At: at, Effective: now}},
	}}
}

// A pod tells the daemon's ledger what it committed, and the daemon answers with it.
func TestServeLetsWritersAndReadersIn(t *testing.T) {
	t.Parallel() // it waits more than it works
	fake := startKafka(t)
	commitAt(t, fake, "g", 7)
	dir := filepath.Join(t.TempDir(), "ledger")
	d := serveKafka(t, dir, fake.Addrs()[0], "--cluster", "c", "--nats-listen", "127.0.0.1:0")
	d.captures("g", "t", 7)
	require.NotContains(t, d.stderr.String(), "plain text")

	r, err := d.clientOf(dir, "writer").Append(t.Context(), told("pods", 12))
	require.NoError(t, err)
	d.captures("pods", "t", 12)
	rec, err := d.clientOf(dir, "reader").Get(t.Context(), r.Last)
	require.NoError(t, err)
	require.Equal(t, "pods", rec.Event.Group)
	_, err = d.clientOf(dir, "reader").Append(t.Context(), told("pods", 13))
	require.Error(t, err)
	require.Equal(t, exitDone, d.stop(), "%s", &d.stderr)
}

func TestServeSpeaksTLSToClients(t *testing.T) {
	fake := startKafka(t)
	commitAt(t, fake, "g", 7)
	dir := filepath.Join(t.TempDir(), "ledger")
	certs, err := kafkatest.NewCerts()
	require.NoError(t, err)
	both, err := certs.PEM(certs.Server)
	require.NoError(t, err)
	files := t.TempDir()
	pemFile, caFile := filepath.Join(files, "server.pem"), filepath.Join(files, "ca.pem")
	require.NoError(t, os.WriteFile(pemFile, both, 0o600))
	require.NoError(t, os.WriteFile(caFile, certs.CAPEM(), 0o600))
	d := serveKafka(t, dir, fake.Addrs()[0], "--cluster", "c", "--nats-listen", "127.0.0.1:0",
		"--nats-tls-cert", pemFile, "--nats-tls-key", pemFile)
	_, err = d.clientOf(dir, "writer", nats.RootCAs(caFile)).Append(t.Context(), told("pods", 12))
	require.NoError(t, err)
	require.Contains(t, d.stderr.String(), "tls=true")
}

// Beyond loopback without TLS the daemon says who can see what.
func TestServeWarnsOfPlainText(t *testing.T) {
	fake := startKafka(t)
	commitAt(t, fake, "g", 7)
	d := serveKafka(t, filepath.Join(t.TempDir(), "ledger"), fake.Addrs()[0], "--nats-listen", "0.0.0.0:0")
	require.Regexp(t, `level=WARN .*plain text.* mend="give --nats-tls-cert`, d.stderr.String())
}

func TestFlagsOfTheListenerAreChecked(t *testing.T) {
	for want, flags := range map[string][]string{
		"--nats-tls-cert and --nats-tls-key go together":         {"--nats-listen", "127.0.0.1:0", "--nats-tls-cert", "c.pem"},
		"--nats-listen, which is not given":                      {"--nats-tls-cert", "c.pem", "--nats-tls-key", "k.pem"},
		"--nats-listen is of the embedded NATS server":           {"--nats-listen", "127.0.0.1:0", "--nats", "nats://127.0.0.1:1"},
		"--nats-tls-cert: open c.pem: no such file or directory": {"--nats-listen", "127.0.0.1:0", "--nats-tls-cert", "c.pem", "--nats-tls-key", "k.pem"},
	} {
		r := launchServe(t, t.TempDir(), "127.0.0.1:1", flags...)
		require.Contains(t, r.refused(exitUsage), want)
	}
	dir := t.TempDir()
	r := launchServe(t, dir, "127.0.0.1:1", "--nats-listen", "4222")
	require.Contains(t, r.refused(exitFailed), `listen address "4222" is not host:port`)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)
}
