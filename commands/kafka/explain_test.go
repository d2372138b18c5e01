package kafka

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
)

// certs makes the TLS material of one test.
func certs(t testing.TB) *kafkatest.Certs {
	c, err := kafkatest.NewCerts()
	require.NoError(t, err)
	return c
}

// reach asks the brokers for the cluster and explains what comes of it.
func reach(t testing.TB, at Endpoint, opts ...kgo.Opt) error {
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(at.Brokers...), kgo.RequestRetries(1)}, opts...)...)
	require.NoError(t, err)
	defer client.Close()
	ctx, cancel := context.WithTimeout(within(t), 4*time.Second)
	defer cancel()
	_, err = kmsg.NewPtrMetadataRequest().RequestWith(ctx, client)
	return ExplainError(within(t), err, at)
}

// listen serves every connection to a free loopback port with serve.
func listen(t testing.TB, serve func(net.Conn)) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serve(conn)
			conn.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

// Every way in which a cluster is not to be had has one line that names the brokers, the
// problem and the mend, and the error behind it can still be matched. It is long because it is
// a table, with the servers that its rows are about.
func TestExplainError(t *testing.T) {
	own := certs(t)
	trusted := &tls.Config{RootCAs: own.Pool(), MinVersion: tls.VersionTLS12}
	inPlain := startKafka(t)
	withTLS := startKafka(t, kfake.TLS(own.ServerTLS()))
	login := func() fakeKafka {
		return startKafka(t, kfake.EnableSASL(), kfake.Superuser("SCRAM-SHA-512", "alice", "secret"))
	}
	withLogin, refusing, without := login(), login(), login()
	refusing.ControlKey(int16(kmsg.SASLAuthenticate), func(r kmsg.Request) (kmsg.Response, error, bool) {
		refusing.KeepControl()
		resp := r.ResponseKind().(*kmsg.SASLAuthenticateResponse)
		resp.ErrorCode = kerr.SaslAuthenticationFailed.Code
		return resp, nil, true
	})
	without.ControlKey(int16(kmsg.SASLHandshake), func(r kmsg.Request) (kmsg.Response, error, bool) {
		without.KeepControl()
		resp := r.ResponseKind().(*kmsg.SASLHandshakeResponse)
		resp.ErrorCode, resp.SupportedMechanisms = kerr.UnsupportedSaslMechanism.Code, []string{"GSSAPI"}
		return resp, nil, true
	})
	mutual := own.ServerTLS()
	mutual.ClientAuth, mutual.ClientCAs = tls.RequireAndVerifyClientCert, own.Pool()
	withClientCert := startKafka(t, kfake.TLS(mutual))
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	nobody := listen(t, func(net.Conn) {})
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())

	wrongPassword := scram.Auth{User: "alice", Pass: "wrong"}.AsSha512Mechanism()
	for _, c := range []struct {
		name    string
		brokers string
		tls     *tls.Config
		login   sasl.Mechanism
		says    []string
		is      error
		as      any
	}{
		{name: "connection refused", brokers: closed.Addr().String(),
			says: []string{"connection refused", "check host and port"}, is: syscall.ECONNREFUSED},
		{name: "unknown host", brokers: "no-such-host.invalid:9092",
			says: []string{"no-such-host.invalid cannot be resolved"}, as: new(*net.DNSError)},
		{name: "a TLS port without TLS", brokers: withTLS.ListenAddrs()[0],
			says: []string{"the port speaks TLS and the client does not", "SASL_SSL"}},
		{name: "a plain port with TLS", brokers: inPlain.ListenAddrs()[0], tls: trusted,
			says: []string{"the port does not speak TLS", "PLAINTEXT"}},
		{name: "an untrusted certificate", brokers: withTLS.ListenAddrs()[0],
			tls:  &tls.Config{RootCAs: certs(t).Pool(), MinVersion: tls.VersionTLS12},
			says: []string{"not signed by an authority that is trusted here", "ssl.truststore.location"}},
		{name: "a certificate for another name", brokers: withTLS.ListenAddrs()[0],
			tls:  &tls.Config{RootCAs: own.Pool(), ServerName: "kafka.example", MinVersion: tls.VersionTLS12},
			says: []string{"certificate is for another name", "kafka.example"}},
		{name: "no client certificate", brokers: withClientCert.ListenAddrs()[0], tls: trusted,
			says: []string{"refused the TLS handshake", "ssl.keystore.location"}},
		{name: "a wrong password", brokers: refusing.ListenAddrs()[0], login: wrongPassword,
			says: []string{"the login was refused (SASL_AUTHENTICATION_FAILED)", "password"}, is: kerr.SaslAuthenticationFailed},
		{name: "a mechanism that is not offered", brokers: without.ListenAddrs()[0],
			login: plain.Auth{User: "alice", Pass: "secret"}.AsMechanism(),
			says:  []string{"does not offer the SASL mechanism", "sasl.mechanism"}, is: kerr.UnsupportedSaslMechanism},
		{name: "a wrong password at a broker that hangs up", brokers: withLogin.ListenAddrs()[0], login: wrongPassword,
			says: []string{"closed the connection during the login", "password"}, is: io.EOF},
		{name: "no login", brokers: withLogin.ListenAddrs()[0],
			says: []string{"closed the connection at the first request", "SASL_SSL"}},
		{name: "a web server", brokers: web.Listener.Addr().String(), says: []string{"this is not Kafka", "HTTP"}},
		{name: "somebody who hangs up", brokers: nobody, says: []string{"does not answer as Kafka"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			at := Endpoint{Brokers: []string{c.brokers}, TLS: c.tls != nil, SASL: c.login != nil}
			var opts []kgo.Opt
			if at.TLS {
				opts = append(opts, kgo.DialTLSConfig(c.tls))
			}
			if at.SASL {
				opts = append(opts, kgo.SASL(c.login))
			}
			err := reach(t, at, opts...)
			var explained *AccessError
			require.ErrorAs(t, err, &explained)
			require.NotNil(t, explained.Err)
			require.NotContains(t, err.Error(), "\n")
			require.Contains(t, err.Error(), "kafka at "+c.brokers+": ")
			for _, words := range c.says {
				require.Contains(t, err.Error(), words)
			}
			require.NotEmpty(t, explained.Mend)
			if c.is != nil {
				require.ErrorIs(t, err, c.is)
			}
			if c.as != nil {
				require.ErrorAs(t, err, c.as)
			}
			require.NotContains(t, err.Error(), "secret")
			t.Log(err)
		})
	}
}

// Errors that came of a refusal name the right that is missing.
func TestExplainRefusals(t *testing.T) {
	at := Endpoint{Brokers: []string{"a:1", "b:1"}}
	err := ExplainError(within(t), kerr.TopicAuthorizationFailed, at)
	require.EqualError(t, err, "kafka at a:1,b:1: the principal lacks a right on a topic (TOPIC_AUTHORIZATION_FAILED): "+
		"allow it READ and DESCRIBE on topic __consumer_offsets, and DESCRIBE on the topics that groups use")
	require.ErrorIs(t, err, kerr.TopicAuthorizationFailed)
	require.Same(t, err, ExplainError(within(t), err, at), "explained once")
	require.NoError(t, ExplainError(within(t), nil, at))
	require.Equal(t, context.Canceled, ExplainError(within(t), context.Canceled, at))

	other := ExplainError(within(t), kerr.NotController, at)
	require.ErrorContains(t, other, "NOT_CONTROLLER")
}

// A host that drops packets, as the dialer tells it.
func TestExplainTimeout(t *testing.T) {
	err := ExplainError(within(t), &net.OpError{Op: "dial", Net: "tcp", Err: timeoutError{}}, Endpoint{Brokers: []string{"10.0.0.1:9092"}})
	require.ErrorContains(t, err, "the host does not answer")
}

type timeoutError struct{}

func (timeoutError) Error() string   { return "i/o timeout" }
func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }

// A peer is told by the first bytes that it answers.
func TestJudge(t *testing.T) {
	require.Equal(t, peerKafka, judge([]byte("\x00\x00\x01\x02oled")).kind)
	require.Equal(t, peerTLS, judge([]byte{21, 3, 3, 0, 2, 2, 80}).kind, "an alert has seven bytes")
	require.Equal(t, peer{kind: peerOther, detail: `it answers "SSH-2.0-"`}, judge([]byte("SSH-2.0-")))
}

// A broker that is there but does not answer in time is not taken for something else.
func TestExplainSilence(t *testing.T) {
	release := make(chan struct{})
	silent := listen(t, func(c net.Conn) {
		go func() { <-release; c.Close() }()
		_, _ = io.Copy(io.Discard, c)
	})
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := ExplainError(ctx, context.DeadlineExceeded, Endpoint{Brokers: []string{silent}})
	close(release)
	require.ErrorContains(t, err, "takes connections but does not answer as Kafka")
	require.True(t, errors.Is(err, context.DeadlineExceeded))
}
