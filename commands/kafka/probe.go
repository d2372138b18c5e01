package kafka

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// peerKind is what answers on a port.
type peerKind uint8

const (
	peerSilent peerKind = iota // takes connections and says nothing, or hangs up
	peerKafka                  // speaks Kafka in plain
	peerTLS                    // speaks TLS
	peerOther                  // says something else
)

// peer is who answers on a port, as far as it can be told from outside.
type peer struct {
	kind   peerKind
	detail string // what another protocol was heard to say
	err    error  // no connection came about
}

// probeTimeout is how long one try to hear something from a port may take.
const probeTimeout = 2 * time.Second

// probe asks the port in plain for Kafka's versions. If it has no answer to that, it offers a
// TLS handshake, whose certificate it does not look at: nothing is told to the peer in it.
func probe(ctx context.Context, address string) peer {
	heard, err := exchange(ctx, address)
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return peer{err: err}
	}
	if len(heard) == 0 {
		if handshakes(ctx, address) {
			return peer{kind: peerTLS}
		}
		return peer{kind: peerSilent}
	}
	return judge(heard)
}

// versionsRequest asks for the versions of the protocol, as every broker since 0.10 answers.
var versionsRequest = []byte{
	0, 0, 0, 10, // size
	0, 18, 0, 0, // ApiVersions, version 0
	0x6f, 0x6c, 0x65, 0x64, // correlation id
	0, 0, // client id
}

// exchange sends the request and returns the first bytes of the answer.
func exchange(ctx context.Context, address string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }() // nothing more is wanted of it
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return nil, err
		}
	}
	if _, err := conn.Write(versionsRequest); err != nil {
		return nil, err
	}
	heard := make([]byte, 8)
	n, err := io.ReadFull(conn, heard)
	return heard[:n], err
}

// handshakes reports whether a TLS handshake gets as far as the peer taking part in it.
func handshakes(ctx context.Context, address string) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} // only to see whether there is TLS
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err == nil {
		return conn.Close() == nil
	}
	_, alert := tlsAlert(err)
	return alert
}

// judge tells a protocol by the first bytes of its answer.
func judge(heard []byte) peer {
	const alertRecord, handshakeRecord, majorVersion = 21, 22, 3
	switch {
	case len(heard) == 8 && bytes.Equal(heard[4:8], versionsRequest[8:12]):
		return peer{kind: peerKafka}
	case len(heard) >= 2 && (heard[0] == alertRecord || heard[0] == handshakeRecord) && heard[1] == majorVersion:
		return peer{kind: peerTLS}
	}
	return peer{kind: peerOther, detail: fmt.Sprintf("it answers %q", heard)}
}
