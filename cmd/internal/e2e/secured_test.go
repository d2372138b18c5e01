package e2e

import (
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
)

// The passwords of the secured cluster. No output may ever hold one.
const (
	password      = "correct-horse-battery"
	wrongPassword = "wrong-horse-battery"
)

// secured is a cluster with every kind of listener and two users: recorder has the rights
// that capture needs, blind has none.
type secured struct {
	*kafkatest.Real
	dir string
}

func startSecured(t *testing.T) *secured {
	certs, err := kafkatest.NewCerts()
	require.NoError(t, err)
	s := &secured{dir: t.TempDir()}
	other, err := kafkatest.NewCerts()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "trust.pem"), certs.CAPEM(), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "other.pem"), other.CAPEM(), 0o600))
	s.Real = kafkatest.Start(t, kafkatest.RealConfig{
		Certs: certs, ACLs: true, Users: []kafkatest.User{
			{Mechanism: "SCRAM-SHA-512", Name: "recorder", Password: password},
			{Mechanism: "SCRAM-SHA-512", Name: "blind", Password: password},
		},
	})
	tool(t, s.Real, kafkatest.AclCommand, "--add", "--allow-principal", "User:recorder", "--operation", "Read", "--operation", "Describe",
		"--topic", "*", "--group", "*")
	tool(t, s.Real, kafkatest.AclCommand, "--add", "--allow-principal", "User:recorder", "--operation", "Describe",
		"--operation", "DescribeConfigs", "--cluster")
	return s
}

// properties writes a file of the stock tools' kind and returns its name.
func (s *secured) properties(t *testing.T, protocol, user, password, trust string) string {
	t.Helper()
	lines := []string{"security.protocol=" + protocol}
	if strings.HasSuffix(protocol, "SSL") {
		lines = append(lines, "ssl.truststore.type=PEM", "ssl.truststore.location="+filepath.Join(s.dir, trust))
	}
	if strings.HasPrefix(protocol, "SASL") {
		lines = append(lines, "sasl.mechanism=SCRAM-SHA-512",
			`sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username="`+user+`" password="`+password+`";`)
	}
	file := filepath.Join(t.TempDir(), "client.properties")
	require.NoError(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	return file
}

// A cluster with TLS, SCRAM and ACLs is recorded with the properties file that the stock tools
// take; what is wrong with a file, an address or a right is told in one line with its mend.
func TestASecuredClusterAndEveryWayToMissIt(t *testing.T) {
	ownBroker(t)
	s := startSecured(t)
	topic, group := unique("orders"), unique("billing")
	produce(t, s.Real, topic, 30)
	require.NoError(t, s.Commit(bounded(t), group, topic, map[int32]int64{0: 10}))
	good := s.properties(t, "SASL_SSL", "recorder", password, "trust.pem")
	dir := t.TempDir()

	t.Run("recorded", func(t *testing.T) {
		d := serve(t, dir, s.Addr("SASL_SSL"), "--command-config", good).ready()
		require.NoError(t, s.Commit(bounded(t), group, topic, map[int32]int64{0: 20}))
		d.through()
		g := answer[api.Group](d, "group", "describe", group)
		require.Equal(t, map[int32]stockRow{0: {20, 30, 10}}, asStock(g))
		out := run(t, "doctor", "-B", s.Addr("SASL_SSL"), "--command-config", good, "--api", d.URL)
		require.Zero(t, out.code, "%s%s", out.stdout, out.stderr)
		require.NotContains(t, out.stdout+out.stderr+d.log.String(), password)
	})
	for _, c := range missed(t, s) {
		t.Run(c.name, func(t *testing.T) { c.check(t) })
	}
	t.Run("right taken away", func(t *testing.T) { rightTakenAway(t, s, dir, good, topic, group) })
	t.Run("wrong password later", func(t *testing.T) {
		bad := s.properties(t, "SASL_SSL", "recorder", wrongPassword, "trust.pem")
		d := serve(t, dir, s.Addr("SASL_SSL"), "--command-config", bad)
		d.until("/healthz tells of the refused login", func() bool {
			status, body := d.get("/healthz")
			return status == http.StatusServiceUnavailable && strings.Contains(body, "the login was refused")
		})
		g := answer[api.Group](d, "group", "describe", group)
		require.Equal(t, map[int32]int64{0: 25}, committed(g))
		status, body := d.get("/readyz")
		require.Equal(t, http.StatusServiceUnavailable, status)
		require.Contains(t, body, "the login was refused")
		require.NotContains(t, d.log.String()+body, wrongPassword)
		require.Zero(t, d.stop())
	})
}

// A right that is taken away from a running daemon makes it unwell, and it says which; given
// back, it goes on where it was.
func rightTakenAway(t *testing.T, s *secured, dir, good, topic, group string) {
	read := []string{"--allow-principal", "User:recorder", "--operation", "Read", "--topic", "*"}
	d := serve(t, dir, s.Addr("SASL_SSL"), "--command-config", good).ready()
	tool(t, s.Real, kafkatest.AclCommand, append([]string{"--remove", "--force"}, read...)...)
	d.until("/healthz tells of the right", func() bool {
		status, body := d.get("/healthz")
		return status == http.StatusServiceUnavailable && strings.Contains(body, "allow it READ and DESCRIBE on topic __consumer_offsets")
	})
	require.NoError(t, s.Commit(bounded(t), group, topic, map[int32]int64{0: 25}))
	require.Equal(t, map[int32]int64{0: 20}, committed(answer[api.Group](d, "group", "describe", group)))
	require.Never(t, func() bool {
		status, _ := d.get("/healthz")
		return status == http.StatusOK
	}, 2*time.Second, 50*time.Millisecond, "nothing has mended it")

	tool(t, s.Real, kafkatest.AclCommand, append([]string{"--add"}, read...)...)
	d.until("it is well again", func() bool {
		status, _ := d.get("/healthz")
		return status == http.StatusOK
	})
	d.through()
	require.Equal(t, map[int32]int64{0: 25}, committed(answer[api.Group](d, "group", "describe", group)))
	require.Len(t, rows[api.ChangeRow](d, "history", group), 3)
}

// miss is one way to miss a cluster, and what has to be said of it.
type miss struct {
	name, broker, config string
	says, mend           string
}

func missed(t *testing.T, s *secured) []miss {
	ok := func(protocol string) string { return s.properties(t, protocol, "recorder", password, "trust.pem") }
	return []miss{
		{"wrong password", s.Addr("SASL_SSL"), s.properties(t, "SASL_SSL", "recorder", wrongPassword, "trust.pem"),
			"the login was refused", "check user name and password"},
		{"untrusted certificate", s.Addr("SASL_SSL"), s.properties(t, "SASL_SSL", "recorder", password, "other.pem"),
			"not signed by an authority that is trusted here", "ssl.truststore.location"},
		{"TLS to a plain port", s.Addr("PLAINTEXT"), ok("SSL"), "the port does not speak TLS", "security.protocol"},
		{"plain to a TLS port", s.Addr("SSL"), ok("PLAINTEXT"), "the port speaks TLS and the client does not", "security.protocol"},
		{"no login", s.Addr("SASL_PLAINTEXT"), ok("PLAINTEXT"), "a login is missing", "sasl.mechanism"},
		{"wrong port", closedPort(t), ok("SASL_SSL"), "connection refused", "check host and port"},
		{"not Kafka", garbage(t), ok("PLAINTEXT"), "this is not Kafka", "check host and port"},
		{"no right to read", s.Addr("SASL_SSL"), s.properties(t, "SASL_SSL", "blind", password, "trust.pem"),
			"__consumer_offsets", "kafka-acls --add"},
	}
}

// check has serve and doctor meet it. Neither may begin, both say why.
func (m *miss) check(t *testing.T) {
	d := start(t, t.TempDir(), m.broker, "--command-config", m.config)
	require.Equal(t, 1, d.wait())
	m.told(t, d.log.String())
	out := run(t, "doctor", "-B", m.broker, "--command-config", m.config)
	require.Equal(t, 3, out.code)
	m.told(t, out.stderr)
	require.NotContains(t, out.stdout, password)
}

func (m *miss) told(t *testing.T, stderr string) {
	t.Helper()
	line := errorLine(t, stderr)
	require.Contains(t, line, m.says)
	require.Contains(t, line, m.mend)
	for _, secret := range []string{password, wrongPassword} {
		require.NotContains(t, stderr, secret)
	}
}

// closedPort is an address where nobody listens.
func closedPort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	return l.Addr().String()
}

// garbage is an address where something listens that answers as no Kafka does.
func garbage(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				continue
			}
			_, _ = conn.Write([]byte("220 mail.example.org ESMTP ready\r\n")) // the client may be gone
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-ended
	})
	return l.Addr().String()
}
