package main

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// A daemon that has no history to answer from refuses to begin where there is nothing to
// capture, and says who is there instead of a Kafka.
func TestServeBeginsOnlyWhereThereIsAKafka(t *testing.T) {
	t.Parallel() // a silent port is waited for
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	nobody := closed.Addr().String()
	require.NoError(t, closed.Close())
	for name, c := range map[string]struct {
		at   string
		says string
	}{
		"nobody listens": {nobody, "connection refused"},
		"garbage": {peer(t, func(c net.Conn) {
			_, _ = io.WriteString(c, "220 mail.example ESMTP\r\n")
			_, _ = io.Copy(io.Discard, c)
		}), `this is not Kafka: it answers "220 mail"`},
		"silence": {peer(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }), "does not answer as Kafka"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && name == "silence" {
				t.Skip("waits for a long time")
			}
			said := launchServe(t, filepath.Join(t.TempDir(), "ledger"), c.at).refused(exitFailed)
			require.Contains(t, said, c.at)
			require.Contains(t, said, c.says)
			require.Contains(t, said, "mend: check host and port")
		})
	}
}

// The name is asked for before anything is connected to: the host of this broker resolves
// nowhere.
func TestServeAsksForTheNameBeforeItConnects(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ledger")
	began := time.Now()
	said := launchServe(t, dir, "broker.invalid:9092").refused(exitUsage)
	require.Contains(t, said, "--cluster")
	require.NotContains(t, said, "lookup")
	require.Less(t, time.Since(began), 5*time.Second)
	require.NoDirExists(t, dir)
}

// What is wrong in the command line is told before anything is made or connected to.
func TestServeRefusesACommandLineThatCannotBe(t *testing.T) {
	dir := t.TempDir()
	props := filepath.Join(dir, "client.properties")
	require.NoError(t, os.WriteFile(props, []byte("ssl.truststore.passwort=x\nsecurity.protocol=SSL\n"), 0o600))
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"-B", "127.0.0.1:1", "--command-config", props}, "ssl.truststore.passwort"},
		{[]string{"-B", "127.0.0.1:1", "--command-config", filepath.Join(dir, "none")}, "does not exist"},
		{[]string{"-B", "127.0.0.1:0"}, "port"},
		{nil, "no Kafka broker is named"},
		{[]string{"-B", "127.0.0.1:1", "--watermark-interval", "-1s"}, "has to be positive"},
		{[]string{"-B", "127.0.0.1:1", "extra"}, "extra"},
	} {
		r := launch(t, append([]string{"serve", "--data-dir", filepath.Join(dir, "ledger"), "--listen", "127.0.0.1:0"}, c.args...)...)
		said := r.refused(exitUsage)
		require.Contains(t, said, c.says)
		require.NoDirExists(t, filepath.Join(dir, "ledger"))
	}
}

func TestServeSaysWhoHoldsThePort(t *testing.T) {
	fake := startKafka(t)
	at := peer(t, func(net.Conn) {})
	said := launchServe(t, filepath.Join(t.TempDir(), "ledger"), fake.Addrs()[0], "--listen", at).refused(exitFailed)
	require.Contains(t, said, at)
	require.Contains(t, said, "address already in use")
	require.Contains(t, said, "--listen")
}

// A record that nobody can decode is kept as it is, seen and counted, and capture goes on.
func TestServeGoesOnBehindDamagedRecords(t *testing.T) {
	fake := startKafka(t)
	commitAt(t, fake, "g", 7)
	for p := range int32(4) {
		require.NoError(t, fake.WriteTo(t.Context(), p, &kgo.Record{Key: []byte{0, 1, 0xff}, Value: []byte("?")},
			&kgo.Record{Key: []byte{0, 99}, Value: []byte("of a later Kafka")}))
	}
	d := serveKafka(t, filepath.Join(t.TempDir(), "ledger"), fake.Addrs()[0])
	commitAt(t, fake, "g", 8)
	d.captures("g", "t", 8)

	events := launch(t, "events", "--kind", "opaque", "-o", "jsonl", "--api", d.url)
	require.Equal(t, exitDone, events.wait(), "%s", &events.stderr)
	require.Equal(t, 8, strings.Count(events.stdout.String(), "\n"), "%s", &events.stdout)
	where := launch(t, "group", "describe", "g", "--api", d.url)
	require.Equal(t, exitDone, where.wait(), "%s", &where.stderr)
	require.Contains(t, where.stderr.String(), "note: local: 8 records could not be decoded; "+
		typedProgram(os.Args[0])+" events --kind opaque --api "+d.url+" shows them")
	_, body := d.get("/api/v1/groups")
	require.Contains(t, body, `"opaque":8`)
	require.Equal(t, exitDone, d.stop(), "%s", &d.stderr)
}

// Another Kafka cluster behind the name of the recorded one is refused by both its names.
func TestServeRefusesAnotherClusterBehindTheName(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ledger")
	one := startKafka(t)
	commitAt(t, one, "g", 7)
	require.Equal(t, exitDone, serveKafka(t, dir, one.Addrs()[0], "--cluster", "prod").stop())
	other, err := kfake.NewCluster(kfake.ClusterID("other-cluster"))
	require.NoError(t, err)
	defer other.Close()
	said := launchServe(t, dir, other.ListenAddrs()[0], "--cluster", "prod").refused(exitFailed)
	require.Contains(t, said, "other-cluster")
	require.Contains(t, said, "prod")
	// Nothing is lost by it, and the name need not be given again.
	commitAt(t, one, "g", 8)
	serveKafka(t, dir, one.Addrs()[0]).captures("g", "t", 8)
}

// A Kafka cluster that the ledger records is not recorded under a second name as well: that
// would be two half histories of it, for ever.
func TestServeRefusesASecondNameForOneCluster(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ledger")
	fake := startKafka(t)
	commitAt(t, fake, "g", 7)
	require.Equal(t, exitDone, serveKafka(t, dir, fake.Addrs()[0], "--cluster", "prod").stop())
	said := launchServe(t, dir, fake.Addrs()[0], "--cluster", "prdo").refused(exitFailed)
	require.Contains(t, said, "is recorded in this ledger as prod")
}
