package commands_test

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/commands"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/embedded"
	"github.com/offsetledger/offsetledger/ledger/ledgertest"
	"github.com/offsetledger/offsetledger/ledger/stream"
)

// Managers in other processes than the daemon's write over TCP, and the daemon is restarted
// under them, three times. One commits to the ledger alone, one to Kafka too. Nothing that they
// took is lost, changes places or is there twice, and nobody has to start them anew.
func TestTheDaemonIsRestarted(t *testing.T) {
	t.Parallel() // it waits for answers that do not come
	dir := filepath.Join(t.TempDir(), "ledger")
	srv, err := embedded.Start(t.Context(), embedded.Config{Dir: dir, Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	defer func() { require.NoError(t, srv.Close()) }()
	_, err = stream.Create(t.Context(), srv.Conn(), stream.Config{})
	require.NoError(t, err)
	address := strings.TrimPrefix(srv.URL(), "nats://")

	nc, err := nats.Connect(srv.URL(), nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond))
	require.NoError(t, err)
	defer nc.Close()
	log, err := stream.Open(t.Context(), nc, stream.Config{AppendTimeout: 8 * time.Second}) // an answer that is lost is waited for an eighth of it
	require.NoError(t, err)

	alone := commands.Config{Cluster: "prod", Group: "alone", Strategy: commands.Periodic(5 * time.Millisecond)}
	alone.LogWait, alone.FlushEvery = 100*time.Millisecond, 5*time.Millisecond
	withKafka := alone
	withKafka.Group, withKafka.KafkaCommits = "with-kafka", true
	managers := map[string]*commands.Manager{}
	for _, cfg := range []commands.Config{alone, withKafka} {
		m := newManager(t, log, cfg)
		m.Bind(newBroker())
		run(t, m)
		managers[cfg.Group] = m
	}

	done := make(chan struct{})
	taken := map[string]*int64{"alone": new(int64), "with-kafka": new(int64)}
	var workers sync.WaitGroup
	for group, m := range managers {
		workers.Go(func() {
			for at := int64(1); ; {
				select {
				case <-done:
					return
				case <-time.After(100 * time.Microsecond):
				}
				if took(m.UpdateOffset("orders", 0, at)) {
					*taken[group] = at
					at++
				}
			}
		})
	}
	for range 3 {
		for _, m := range managers { // they get on
			before := m.Stats().TotalOffsetsCommitted
			require.Eventually(t, func() bool { return m.Stats().TotalOffsetsCommitted > before+3 }, soon, look)
		}
		require.NoError(t, srv.Close())
		srv, err = embedded.Start(t.Context(), embedded.Config{Dir: dir, Listen: address})
		require.NoError(t, err)
	}
	close(done)
	workers.Wait()
	for group, m := range managers {
		require.NoError(t, m.Close(t.Context()))
		last := *taken[group]
		require.Equal(t, last, offset(t, m, "orders", 0))
		require.Zero(t, m.Stats().LostUpdates)
		var want []int64
		for at := int64(1); at <= last; at++ {
			want = append(want, at)
		}
		got := recordedOf(t, log, group, tp("orders", 0))
		require.True(t, slices.Equal(want, got), "%s: %d updates taken and %d recorded", group, len(want), len(got))
		requireCommitsAdvance(t, log, group)
		ids := map[string]bool{}
		for rec, err := range log.Read(t.Context(), 1, 0, ledger.Filter{Subjects: []string{ledger.GroupSubjects("prod", group)}}) {
			require.NoError(t, err)
			require.False(t, ids[rec.Event.ID.String()], "event %s is there twice", rec.Event.ID)
			ids[rec.Event.ID.String()] = true
		}
	}
	ledgertest.Check(t, srv.Conn(), stream.Config{})
}
