package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Endpoint is where and how a client was told to reach Kafka.
type Endpoint struct {
	Brokers []string // host:port
	TLS     bool
	SASL    bool
}

func (e Endpoint) String() string { return strings.Join(e.Brokers, ",") }

// AccessError says in one line why Kafka cannot be used, and what would mend it. It wraps the
// error that it explains.
type AccessError struct {
	Brokers string
	Problem string
	Mend    string // empty when nothing is known to help
	Err     error
}

func (e *AccessError) Error() string {
	line := "kafka at " + e.Brokers + ": " + e.Problem
	if e.Mend != "" {
		line += ": " + e.Mend
	}
	return line
}

// Unwrap returns the error that is explained.
func (e *AccessError) Unwrap() error { return e.Err }

// diagnosis is a problem and its mend.
type diagnosis struct {
	problem, mend string
}

// ExplainError turns err, which came of talking to Kafka, into an [*AccessError] with one
// clear line. It goes by codes and types; where the client's error has neither, it connects to
// the brokers and looks at who answers, for at most a few seconds. Nothing is logged in and
// nothing is sent but a question for the protocol's versions. A nil error, one of a cancelled
// context and one that has been explained already are returned as they are.
func ExplainError(ctx context.Context, err error, at Endpoint) error {
	var explained *AccessError
	if err == nil || errors.Is(err, context.Canceled) || errors.As(err, &explained) {
		return err
	}
	for _, explain := range []func(error) (diagnosis, bool){explainCode, explainTLS, explainNet} {
		if d, ok := explain(err); ok {
			return &AccessError{at.String(), d.problem, d.mend, err}
		}
	}
	d := explainPeer(ctx, err, at)
	return &AccessError{at.String(), d.problem, d.mend, err}
}

// explainEvery is the least time between two looks at faults: one that lasts comes again with
// every request that is tried.
const explainEvery = 2 * time.Second

// explainFaults explains the faults that the board is told, one after the other and beside
// capture, since it can take seconds to find out who answers on a port. The returned function
// ends that and waits for it.
func (t *Tail) explainFaults(ctx context.Context) (stop func()) {
	if len(t.cfg.Endpoint.Brokers) == 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		pace := time.NewTicker(explainEvery)
		defer pace.Stop()
		for {
			select {
			case <-t.board.faulty:
			case <-ctx.Done():
				return
			}
			if err := t.board.takeUnexplained(); err != nil {
				t.board.explained(ExplainError(ctx, err, t.cfg.Endpoint))
			}
			select {
			case <-pace.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// codes are the answers of brokers that say why a client may not do what it asks for.
var codes = map[*kerr.Error]diagnosis{
	kerr.SaslAuthenticationFailed: {"the login was refused", "check user name and password, and that the user exists on this cluster"},
	kerr.UnsupportedSaslMechanism: {"the broker does not offer the SASL mechanism", "set sasl.mechanism to one that the listener has enabled"},
	kerr.IllegalSaslState:         {"the broker did not expect a login in this state", "check security.protocol: the listener may not use SASL"},
	kerr.ClusterAuthorizationFailed: {"the principal may not do this to the cluster",
		"allow it DESCRIBE and DESCRIBE_CONFIGS on the cluster"},
	kerr.TopicAuthorizationFailed: {"the principal lacks a right on a topic",
		"allow it READ and DESCRIBE on topic " + offsetsTopic + ", and DESCRIBE on the topics that groups use"},
	kerr.GroupAuthorizationFailed: {"the principal lacks a right on a group", "allow it DESCRIBE on the groups"},
	kerr.UnsupportedVersion:       {"the broker does not know the version of a request", "use brokers of Kafka 2.1 or later"},
}

func explainCode(err error) (diagnosis, bool) {
	var code *kerr.Error
	if !errors.As(err, &code) {
		return diagnosis{}, false
	}
	d, ok := codes[code]
	if !ok {
		return diagnosis{problem: code.Message + ": " + code.Description}, true
	}
	d.problem += " (" + code.Message + ")"
	return d, true
}

// explainTLS knows the ways in which a TLS handshake fails.
func explainTLS(err error) (diagnosis, bool) {
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var verification *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &authority):
		return diagnosis{"the broker's certificate is not signed by an authority that is trusted here",
			"name its authority's certificate in ssl.truststore.location"}, true
	case errors.As(err, &host):
		return diagnosis{"the broker's certificate is for another name: " + host.Error(),
			"use a name that the certificate holds"}, true
	case errors.As(err, &invalid):
		return diagnosis{"the broker's certificate is not valid: " + invalid.Error(), "renew it, or check the clocks"}, true
	case errors.As(err, &verification):
		return diagnosis{"the broker's certificate cannot be verified: " + verification.Err.Error(),
			"name its authority's certificate in ssl.truststore.location"}, true
	case errors.As(err, &record):
		return diagnosis{"the port does not speak TLS", mendNoTLS}, true
	}
	if alert, ok := tlsAlert(err); ok {
		return diagnosis{"the broker refused the TLS handshake: " + alert,
			"if it asks for a client certificate, name one in ssl.keystore.location"}, true
	}
	return diagnosis{}, false
}

// tlsAlert returns the alert with which the peer ended a TLS connection. The type of the alert
// itself is private to crypto/tls; the operation it is reported under is not.
func tlsAlert(err error) (string, bool) {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "remote error" {
		return op.Err.Error(), true
	}
	return "", false
}

const (
	mendNoTLS = "set security.protocol to PLAINTEXT or SASL_PLAINTEXT, or take the port of a TLS listener"
	mendTLS   = "set security.protocol to SSL or SASL_SSL, or take the port of a listener without TLS"
	mendPort  = "check host and port, and that the broker runs"
)

// explainNet knows the ways in which no connection comes about.
func explainNet(err error) (diagnosis, bool) {
	var dns *net.DNSError
	var address *net.AddrError
	switch {
	case errors.As(err, &dns):
		return diagnosis{fmt.Sprintf("the name %s cannot be resolved", dns.Name), "check the host name"}, true
	case errors.As(err, &address):
		return diagnosis{"not an address: " + address.Error(), "write host:port"}, true
	case errors.Is(err, syscall.ECONNREFUSED):
		return diagnosis{"connection refused, nothing listens on the port", mendPort}, true
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return diagnosis{"no route to the host", "check the address and the network"}, true
	case errors.Is(err, syscall.ETIMEDOUT), isDialTimeout(err):
		return diagnosis{"the host does not answer", "check the address, and that no firewall drops the packets"}, true
	}
	return diagnosis{}, false
}

func isHangUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET)
}

func isDialTimeout(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial" && (op.Timeout() || errors.Is(err, os.ErrDeadlineExceeded))
}

// explainPeer looks at who answers on the brokers' ports, since err itself says nothing that
// could be gone by.
func explainPeer(ctx context.Context, err error, at Endpoint) diagnosis {
	for _, broker := range at.Brokers {
		peer := probe(ctx, broker)
		if peer.err != nil {
			if d, ok := explainNet(peer.err); ok {
				return d
			}
			continue
		}
		if d, ok := peer.disagrees(err, at); ok {
			return d
		}
	}
	return diagnosis{problem: err.Error()}
}

// disagrees says what the client took the peer for and what it is. It is false if the two
// agree.
func (p peer) disagrees(err error, at Endpoint) (diagnosis, bool) {
	var first *kgo.ErrFirstReadEOF
	switch {
	case p.kind == peerTLS && !at.TLS:
		return diagnosis{"the port speaks TLS and the client does not", mendTLS}, true
	case p.kind == peerKafka && at.TLS:
		return diagnosis{"the port does not speak TLS", mendNoTLS}, true
	case p.kind == peerOther:
		return diagnosis{"this is not Kafka: " + p.detail, mendPort}, true
	case p.kind == peerSilent:
		return diagnosis{"somebody takes connections but does not answer as Kafka", mendPort}, true
	case errors.As(err, &first) && !at.SASL:
		return diagnosis{"the broker closed the connection at the first request, as it does where a login is missing",
			"set security.protocol to SASL_SSL or SASL_PLAINTEXT, with sasl.mechanism and sasl.jaas.config"}, true
	case isHangUp(err) && at.SASL:
		return diagnosis{"the broker closed the connection during the login", "check user name, password and sasl.mechanism"}, true
	case errors.Is(err, context.DeadlineExceeded):
		return diagnosis{"the broker did not answer in time", "check that the addresses it advertises can be reached from here"}, true
	}
	return diagnosis{}, false
}
