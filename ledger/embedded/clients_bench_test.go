package embedded_test

import (
	"path/filepath"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/embedded"
	"github.com/offsetledger/offsetledger/ledger/stream"
)

// One durable append of a client over the listener, beside one of the process itself.
func BenchmarkAppendOfAClient(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "ledger")
	srv, err := embedded.Start(b.Context(), embedded.Config{Dir: dir, Listen: "127.0.0.1:0", Clients: clients()})
	require.NoError(b, err)
	defer func() { require.NoError(b, srv.Close()) }()
	own, err := stream.Create(b.Context(), srv.Conn(), stream.Config{})
	require.NoError(b, err)
	key, err := nats.NkeyOptionFromSeed(embedded.KeyFile(dir, "writer"))
	require.NoError(b, err)
	nc, err := nats.Connect(srv.URL(), key)
	require.NoError(b, err)
	defer nc.Close()
	client, err := stream.Open(b.Context(), nc, stream.Config{})
	require.NoError(b, err)
	run := func(b *testing.B, log *stream.Log) float64 {
		for b.Loop() {
			if _, err := log.Append(b.Context(), []ledger.Event{committed("billing", 1)}); err != nil {
				b.Fatal(err)
			}
		}
		return float64(b.Elapsed().Nanoseconds()) / float64(b.N)
	}
	var inside float64
	b.Run("in process", func(b *testing.B) { inside = run(b, own) })
	b.Run("client", func(b *testing.B) {
		if each := run(b, client); inside > 0 {
			b.ReportMetric(each/inside, "x-in-process")
		}
	})
}
