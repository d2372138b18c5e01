package embedded

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"
)

// Config says where the server keeps its data and how it runs. Only Dir has to be set.
type Config struct {
	// Dir is the data directory. It is made when it does not exist; when it does, it has to be
	// empty or one that this package made.
	Dir string

	// SyncInterval, when not zero, gives up syncing before every acknowledgement and syncs at
	// this interval instead. A process that dies still loses nothing then, but a machine that
	// loses power loses up to the last interval, and a stream whose creation was not synced yet
	// as a whole. The default, zero, is to sync always.
	SyncInterval time.Duration

	// Listen is the address of a TCP listener for NATS clients, as host:port; port 0 is any free
	// one. The default, empty, is no listener.
	Listen string

	// Clients are who may connect over the listener. The default, none, is that everybody may and
	// needs no key; then the host of Listen has to be a loopback address.
	Clients []Client

	// TLS encrypts the listener. The default, nil, is plain text: a client's key stays with it
	// then, but what is read and written can be seen and changed on the way.
	TLS *tls.Config

	// MaxPayload is the largest message in bytes. The default, zero, is 1 MiB, which is also
	// what an event is cut to fit in.
	MaxPayload int32

	// Logger takes what the server has to say. The default, nil, is to say nothing.
	Logger *slog.Logger
}

const defaultMaxPayload = 1 << 20

func (c Config) validate() error {
	var faults []error
	if c.Dir == "" {
		faults = append(faults, errors.New("no data directory given"))
	}
	if c.SyncInterval < 0 {
		faults = append(faults, fmt.Errorf("sync interval %s is negative", c.SyncInterval))
	}
	if c.MaxPayload < 0 {
		faults = append(faults, fmt.Errorf("maximum payload %d is negative", c.MaxPayload))
	}
	if c.Listen != "" {
		if _, _, err := c.listen(); err != nil {
			faults = append(faults, err)
		}
	} else if len(c.Clients) > 0 || c.TLS != nil {
		faults = append(faults, errors.New("clients or TLS, and no listen address"))
	}
	names := map[string]bool{}
	for _, client := range c.Clients {
		name := strings.ToLower(client.Name)
		if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
			faults = append(faults, fmt.Errorf("client name %q: it takes letters and digits", client.Name))
		}
		if names[name] {
			faults = append(faults, fmt.Errorf("client name %q is there twice", client.Name))
		}
		names[name] = true
	}
	return errors.Join(faults...)
}

// listen splits Listen into host and port.
func (c Config) listen() (string, int, error) {
	host, portText, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return "", 0, fmt.Errorf("listen address %q is not host:port", c.Listen)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("listen address %q has no port number", c.Listen)
	}
	if ip := net.ParseIP(host); len(c.Clients) == 0 && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return "", 0, fmt.Errorf("listen address %q is not on loopback: without clients that have keys everybody could write", c.Listen)
	}
	return host, int(port), nil
}
