package stream_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/embedded"
	"github.com/offsetledger/offsetledger/ledger/stream"
)

// A reader that is cut off at whatever it does leaves no consumer on the server, of which there
// can be no more than a thousand.
func TestReadersThatAreCutOffLeaveNoConsumer(t *testing.T) {
	srv, err := embedded.Start(t.Context(), embedded.Config{Dir: t.TempDir()})
	require.NoError(t, err)
	defer func() { require.NoError(t, srv.Close()) }()
	log, err := stream.Create(t.Context(), srv.Conn(), stream.Config{})
	require.NoError(t, err)
	for i := range 300 {
		ctx, cut := context.WithCancel(t.Context())
		timer := time.AfterFunc(time.Duration(i)*10*time.Microsecond, cut)
		for _, err := range log.Follow(ctx, 1, ledger.Filter{}) {
			require.ErrorIs(t, err, context.Canceled)
		}
		timer.Stop()
		cut()
	}
	js, err := jetstream.New(srv.Conn())
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		info, err := js.Stream(t.Context(), "OFFSETLEDGER")
		require.NoError(t, err)
		return info.CachedInfo().State.Consumers == 0
	}, 10*time.Second, 10*time.Millisecond)
}

// Where others have taken all consumers that the server grants, a reader waits for one: the fold
// of a daemon must not end because somebody has read much.
func TestAReaderWaitsForAConsumer(t *testing.T) {
	const granted = 1000
	srv, err := embedded.Start(t.Context(), embedded.Config{Dir: t.TempDir()})
	require.NoError(t, err)
	defer func() { require.NoError(t, srv.Close()) }()
	log, err := stream.Create(t.Context(), srv.Conn(), stream.Config{})
	require.NoError(t, err)
	_, err = log.Append(t.Context(), []ledger.Event{committed("g", 1)})
	require.NoError(t, err)
	js, err := jetstream.New(srv.Conn())
	require.NoError(t, err)
	for i := range granted {
		_, err := js.CreateConsumer(t.Context(), "OFFSETLEDGER", jetstream.ConsumerConfig{
			Name: fmt.Sprint("other-", i), AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, InactiveThreshold: time.Minute,
		})
		require.NoError(t, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	freed := time.AfterFunc(300*time.Millisecond, func() {
		if err := js.DeleteConsumer(ctx, "OFFSETLEDGER", "other-0"); err != nil {
			t.Error(err)
		}
	})
	defer freed.Stop()
	for rec, err := range log.Follow(ctx, 1, ledger.Filter{}) {
		require.NoError(t, err)
		require.Equal(t, uint64(1), rec.Seq)
		break
	}
}
