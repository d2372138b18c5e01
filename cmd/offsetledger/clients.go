package main

import (
	"crypto/tls"
	"net"

	"github.com/spf13/pflag"

	"github.com/offsetledger/offsetledger/ledger/embedded"
	"github.com/offsetledger/offsetledger/ledger/stream"
)

// natsListener is where and how clients of others reach the embedded NATS server: offset
// managers, which append, and readers.
type natsListener struct {
	address   string
	cert, key string // files; without them the listener speaks plain text
}

func (l *natsListener) register(f *pflag.FlagSet) {
	f.StringVar(&l.address, "nats-listen", "", "address of a NATS listener for offset managers and readers, with keys in writer.nk and reader.nk of the data directory")
	f.StringVar(&l.cert, "nats-tls-cert", "", "file with the PEM certificate of --nats-listen")
	f.StringVar(&l.key, "nats-tls-key", "", "file with the PEM key of --nats-tls-cert")
}

// The clients of the embedded server, and so their keys' files and accounts.
const (
	clientWriter = "writer"
	clientReader = "reader"
)

// embed adds the listener to the configuration of an embedded server.
func (l *natsListener) embed(cfg *embedded.Config) error {
	if (l.cert == "") != (l.key == "") {
		return usagef("--nats-tls-cert and --nats-tls-key go together")
	}
	if l.address == "" {
		if l.cert != "" {
			return usagef("--nats-tls-cert is of --nats-listen, which is not given")
		}
		return nil
	}
	read := stream.ReadRequests("")
	cfg.Listen = l.address
	cfg.Clients = []embedded.Client{
		{Name: clientWriter, Requests: read, Appends: stream.GroupAppends(), Check: stream.CheckMessage},
		{Name: clientReader, Requests: read},
	}
	if l.cert != "" {
		pair, err := tls.LoadX509KeyPair(l.cert, l.key)
		if err != nil {
			return usagef("--nats-tls-cert: %w", err)
		}
		cfg.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	}
	return nil
}

// announceClients says where clients connect and with what, and what others on the way can see.
func (s *service) announceClients(dir string, l natsListener) {
	if l.address == "" {
		return
	}
	s.logger.Info("NATS clients are let in", "nats", s.server.URL(), "tls", l.cert != "",
		"writer", embedded.KeyFile(dir, clientWriter), "reader", embedded.KeyFile(dir, clientReader))
	if host, _, err := net.SplitHostPort(l.address); err == nil && l.cert == "" && !loopbackHost(host) {
		s.logger.Warn("NATS clients speak plain text: whoever is on the way can read and change what they read and write, though not take their keys",
			"nats_listen", l.address, "mend", "give --nats-tls-cert and --nats-tls-key")
	}
}

// loopbackHost reports whether a host is this machine, seen from itself.
func loopbackHost(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
