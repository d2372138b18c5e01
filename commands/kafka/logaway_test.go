package kafka

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/commands"
	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/embedded"
	"github.com/offsetledger/offsetledger/ledger/stream"
)

// The ledger goes away under a consumer that commits to Kafka. It goes on and commits, and when
// the ledger is back, that is told what it missed.
func TestBusinessGoesOnWithoutTheLedger(t *testing.T) {
	fake := startFake(t, kafkatest.FakeConfig{Topics: map[string]int32{"orders": 1}})
	dir := filepath.Join(t.TempDir(), "ledger")
	open := func(listen string) *embedded.Server {
		srv, err := embedded.Start(t.Context(), embedded.Config{
			Dir: dir, Listen: listen, Clients: []embedded.Client{{
				Name: "writer", Requests: stream.ReadRequests(""), Appends: stream.GroupAppends(), Check: stream.CheckMessage,
			}},
		})
		require.NoError(t, err)
		return srv
	}
	srv := open("127.0.0.1:0")
	_, err := stream.Create(t.Context(), srv.Conn(), stream.Config{})
	require.NoError(t, err)
	address := srv.URL()[len("nats://"):]
	key, err := nats.NkeyOptionFromSeed(embedded.KeyFile(dir, "writer"))
	require.NoError(t, err)
	nc, err := nats.Connect(srv.URL(), key, nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	require.NoError(t, err)
	defer nc.Close()
	log, err := stream.Open(t.Context(), nc, stream.Config{AppendTimeout: time.Second})
	require.NoError(t, err)

	p := startPod(t, fake, log, "billing", "orders", podConfig{manager: commands.Config{
		Strategy: commands.Manual(), LogWait: 100 * time.Millisecond, FlushEvery: 20 * time.Millisecond,
	}})
	work := func(n int) {
		require.NoError(t, fake.Produce(t.Context(), "orders", 0, n))
		p.done(p.poll(n)...)
		began := time.Now()
		_, err := p.m.Commit(t.Context())
		require.NoError(t, err)
		require.Less(t, time.Since(began), 5*time.Second)
	}
	work(3)
	require.NoError(t, srv.Close())
	work(4)
	require.EqualValues(t, 7, committedAt(t, fake, "billing", "orders", 0))
	work(5)
	require.EqualValues(t, 12, committedAt(t, fake, "billing", "orders", 0))

	srv = open(address)
	defer func() { require.NoError(t, srv.Close()) }()
	owner, err := stream.Open(t.Context(), srv.Conn(), stream.Config{})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		at, ok := folded(t, owner).Partition("c", "billing", "orders", 0)
		return ok && at.Committed.At == 12
	}, patience, 20*time.Millisecond)
	work(1)
	p.leave()
	require.Equal(t, []int64{3, 7, 12, 13}, positionsIn(t, owner, ledger.KindCommitted, "orders", 0))
}
