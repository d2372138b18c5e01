package e2e

import (
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
)

// For longer than an append may take, nothing that the NATS server says arrives, though it
// stores what it is told. The daemon cannot know what is stored. When it hears again it does
// not guess: capture goes on from what the ledger says, and every commit is there once.
func TestADaemonThatCannotTellWhatIsStored(t *testing.T) {
	ownBroker(t)
	fake, err := kafkatest.StartFake(kafkatest.FakeConfig{Topics: map[string]int32{"orders": 1}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, fake.Close()) })
	commit := func(at int64) {
		require.NoError(t, fake.Commit(bounded(t), "billing", "orders", map[int32]int64{0: at}))
		require.NoError(t, fake.Sync(bounded(t)))
	}
	way := newWay(t, startNATS(t))
	d := serve(t, t.TempDir(), fake.Addrs()[0], "--nats", "nats://"+way.listener.Addr().String()).ready()
	commit(1)
	d.until("the first commit is there", func() bool { return len(readable(d)) == 1 })

	way.deaf.Store(true)
	commit(2)
	require.Eventually(t, func() bool {
		return d.ended() || strings.Contains(d.log.String(), "capture cannot store")
	}, patience, 20*time.Millisecond, "an append does not end")
	commit(3)
	way.deaf.Store(false)
	way.cut() // what was swallowed has left the connections in the middle of something
	d.until("capture starts again", func() bool {
		return strings.Contains(d.log.String(), "capture starts again from the ledger")
	})
	commit(4)
	d.until("the last commit is there", func() bool { at := readable(d); return len(at) > 0 && at[len(at)-1] == 4 })
	require.Equal(t, []int64{1, 2, 3, 4}, readable(d))
	require.Empty(t, rows[api.EventRow](d, "events", "--kind", "gap,opaque"))
	require.Zero(t, d.stop())
}

// readable are the offsets that the history of the one group tells, while it can be asked.
func readable(d *daemon) (ats []int64) {
	group := "billing"
	h, err := d.History(d.t.Context(), api.Query{Group: &group})
	if err != nil {
		return nil
	}
	for _, row := range h.Rows {
		if row.To != nil {
			ats = append(ats, *row.To)
		}
	}
	return ats
}

// startNATS starts a NATS server of somebody else's, and returns its address.
func startNATS(t *testing.T) string {
	t.Helper()
	srv, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
	})
	require.NoError(t, err)
	srv.Start()
	t.Cleanup(func() {
		srv.Shutdown()
		srv.WaitForShutdown()
	})
	require.True(t, srv.ReadyForConnections(patience))
	return srv.Addr().String()
}

// way is a TCP way to a server, on which the server's answers can be lost.
type way struct {
	listener net.Listener
	to       string
	deaf     atomic.Bool

	mu    sync.Mutex
	conns []net.Conn
	wg    sync.WaitGroup
}

func newWay(t *testing.T, to string) *way {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w := &way{listener: listener, to: to}
	w.wg.Go(w.serve)
	t.Cleanup(func() {
		_ = listener.Close() // that is what ends serve
		w.cut()
		w.wg.Wait()
	})
	return w
}

func (w *way) serve() {
	for {
		client, err := w.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", w.to)
		if err != nil {
			_ = client.Close()
			continue
		}
		w.mu.Lock()
		w.conns = append(w.conns, client, server)
		w.mu.Unlock()
		w.wg.Go(func() { w.carry(server, client, nil) })
		w.wg.Go(func() { w.carry(client, server, &w.deaf) })
	}
}

// carry copies until one of the two is closed. What comes while lose is set is gone.
func (w *way) carry(to, from net.Conn, lose *atomic.Bool) {
	defer func() { _, _ = to.Close(), from.Close() }() // the other direction may have been first
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if lose != nil && lose.Load() {
			continue
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// cut ends all connections.
func (w *way) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conns {
		_ = c.Close() // it may have ended by itself
	}
	w.conns = nil
}
