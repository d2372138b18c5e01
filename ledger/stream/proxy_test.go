package stream_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// proxy is a TCP way to a server on which things go wrong on order.
type proxy struct {
	listener net.Listener
	to       string

	loseRequests atomic.Bool // what the client says is swallowed
	loseAnswers  atomic.Bool // what the server says is swallowed

	holding    atomic.Bool   // what the client says is kept until release, even if it goes away
	holdUntil  string        // counts as lost when this has been kept
	keepServer atomic.Bool   // the server's side outlives the client's
	done       chan struct{} // the test is over
	release    chan struct{}
	released   chan struct{}          // gets one when what was kept has reached the server
	version    atomic.Pointer[string] // what the server's version is told to be; nil is the truth
	lost       chan struct{}          // holds one when something was swallowed

	mu      sync.Mutex
	conns   map[net.Conn]bool
	clients []net.Conn
	wg      sync.WaitGroup
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{listener: listener, to: to, lost: make(chan struct{}, 1), release: make(chan struct{}), done: make(chan struct{}), released: make(chan struct{}, 1), conns: map[net.Conn]bool{}}
	p.wg.Go(p.serve)
	t.Cleanup(func() {
		listener.Close()
		close(p.done)
		p.cut()
		p.wg.Wait()
	})
	return p
}

func (p *proxy) url() string { return "nats://" + p.listener.Addr().String() }

func (p *proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		server, dialErr := net.Dial("tcp", p.to)
		if err != nil || dialErr != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		p.conns[client], p.conns[server] = true, true
		p.clients = append(p.clients, client)
		p.mu.Unlock()
		p.wg.Go(func() { p.copy(server, client, &p.loseRequests) })
		p.wg.Go(func() { p.copy(client, server, &p.loseAnswers) })
	}
}

func (p *proxy) copy(to, from net.Conn, lose *atomic.Bool) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 32<<10)
	var held []byte
	for {
		n, err := from.Read(buf)
		if lose == &p.loseRequests && p.holding.Load() {
			held = append(held, buf[:n]...)
			n = 0
			if bytes.Contains(held, []byte(p.holdUntil)) {
				p.signalLost()
			}
		}
		if n > 0 && lose.Load() {
			p.signalLost()
		} else if _, err := to.Write(p.forge(buf[:n])); err != nil && !p.keepServer.Load() {
			return // with something kept, the server's side stays open although the client is gone
		}
		if err != nil {
			if held != nil {
				select {
				case <-p.release:
				case <-p.done:
				}
				to.Write(held) // the test sees what arrived
				p.released <- struct{}{}
			}
			return
		}
	}
}

var versionField = regexp.MustCompile(`"version":"[^"]*"`)

// forge changes the version in what the server says of itself.
func (p *proxy) forge(b []byte) []byte {
	version := p.version.Load()
	if version == nil {
		return b
	}
	return versionField.ReplaceAll(b, fmt.Appendf(nil, `"version":%q`, *version))
}

// cut ends every connection.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
		delete(p.conns, c)
	}
}

func (p *proxy) signalLost() {
	select {
	case p.lost <- struct{}{}:
	default:
	}
}

// cutClients ends the clients' side of every connection.
func (p *proxy) cutClients() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.clients {
		c.Close()
	}
}
