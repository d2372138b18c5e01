package stream_test

import (
	"net/url"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger/embedded"
)

// external is a server that is reached over TCP, as one of another machine is, and that can
// be restarted while clients are connected.
type external struct {
	t    *testing.T
	dir  string
	addr string
	srv  *embedded.Server
}

func newExternal(t *testing.T) *external {
	t.Helper()
	e := &external{t: t, dir: t.TempDir(), addr: "127.0.0.1:0"}
	e.start()
	u, err := url.Parse(e.srv.URL())
	require.NoError(t, err)
	e.addr = u.Host
	t.Cleanup(func() { require.NoError(t, e.srv.Close()) })
	return e
}

func (e *external) start() {
	e.t.Helper()
	var err error
	e.srv, err = embedded.Start(e.t.Context(), embedded.Config{Dir: e.dir, Listen: e.addr})
	require.NoError(e.t, err)
}

func (e *external) restart() {
	e.t.Helper()
	require.NoError(e.t, e.srv.Close())
	e.start()
}

// connect connects to a URL, and again as soon as the server is there again.
func connect(t *testing.T, to string) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(to, nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond), nats.ReconnectJitter(0, 0))
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	return nc
}
