package kafka

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetledger/offsetledger/commands"
	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
	"github.com/offsetledger/offsetledger/ledger/ledgertest"
)

// Somebody reset the group on purpose while the consumer was away: it begins there, whatever
// the ledger says.
func TestStartFromBrokerHonoursAReset(t *testing.T) {
	fake := startFake(t, kafkatest.FakeConfig{Topics: map[string]int32{"orders": 1}})
	require.NoError(t, fake.Produce(t.Context(), "orders", 0, 10))
	log := ledgertest.New(t)
	first := startPod(t, fake, log, "billing", "orders", podConfig{})
	first.done(first.poll(10)...)
	first.leave()
	require.EqualValues(t, 10, committedAt(t, fake, "billing", "orders", 0))
	require.NoError(t, fake.Commit(t.Context(), "billing", "orders", map[int32]int64{0: 3}))

	second := startPod(t, fake, log, "billing", "orders", podConfig{})
	records := second.poll(7)
	require.EqualValues(t, 3, records[0].Offset)
	at, ok := second.m.Offset("orders", 0)
	require.True(t, ok)
	require.EqualValues(t, 3, at)
	second.done(records...)
	second.leave()
	require.EqualValues(t, 10, committedAt(t, fake, "billing", "orders", 0))
}

func TestStartFromLedger(t *testing.T) {
	for name, c := range map[string]startCase{
		"inside":                  {5, OutsideFails, 5},
		"at the start":            {2, OutsideFails, 2},
		"before the log, clamped": {1, OutsideClamps, 2},
		"before the log":          {1, OutsideFails, -1},
		"behind the log":          {11, OutsideFails, -1},
		"behind the log, clamped": {11, OutsideClamps, 10},
	} {
		t.Run(name, func(t *testing.T) {
			for protocol, opts := range protocols {
				t.Run(protocol, func(t *testing.T) { startFromLedger(t, opts, c) })
			}
		})
	}
}

type startCase struct {
	recorded int64
	outside  Outside
	reads    int64 // the first record; -1 if it fails
}

func startFromLedger(t *testing.T, opts []kgo.Opt, c startCase) {
	fake := startFake(t, kafkatest.FakeConfig{Topics: map[string]int32{"orders": 1}})
	require.NoError(t, fake.Produce(t.Context(), "orders", 0, 10))
	deleteRecords(t, fake, "orders", 0, 2)
	require.NoError(t, fake.Commit(t.Context(), "billing", "orders", map[int32]int64{0: 9}))
	log := ledgertest.New(t)
	record(t, log, "billing", "orders", c.recorded)
	p := startPod(t, fake, log, "billing", "orders", podConfig{opts: opts, bind: Bind{Start: StartFromLedger, Outside: c.outside}})
	if c.reads < 0 {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		fetches := p.PollFetches(ctx)
		require.ErrorIs(t, fetches.Err(), ErrOutside)
		require.ErrorContains(t, fetches.Err(), fmt.Sprintf("orders/0: offset %d of the ledger is outside of the log, which reaches from 2 to 10", c.recorded))
		return
	}
	if c.reads == 10 { // the end: something has to come first
		awaitStart(t, p, "orders", 1)
		require.NoError(t, fake.Produce(t.Context(), "orders", 0, 1))
	}
	records := p.poll(1)
	require.Equal(t, c.reads, records[0].Offset)
	p.done(records...)
	p.leave()
	require.Equal(t, c.reads+1, committedAt(t, fake, "billing", "orders", 0))
}

// record writes a committed event of a manager.
func record(t testing.TB, log commands.Log, group, topic string, at int64) {
	t.Helper()
	m, err := commands.NewManager(t.Context(), log, commands.Config{Cluster: "c", Group: group, Strategy: commands.Manual()})
	require.NoError(t, err)
	require.NoError(t, m.UpdateOffset(topic, 0, at))
	_, err = m.Commit(t.Context())
	require.NoError(t, err)
	require.NoError(t, m.Close(t.Context()))
}

func deleteRecords(t testing.TB, kafka reachable, topic string, partition int32, before int64) {
	t.Helper()
	client, err := kgo.NewClient(kafka.Options()...)
	require.NoError(t, err)
	defer client.Close()
	offsets := kadm.Offsets{}
	offsets.Add(kadm.Offset{Topic: topic, Partition: partition, At: before})
	resp, err := kadm.NewClient(client).DeleteRecords(t.Context(), offsets)
	require.NoError(t, err)
	require.NoError(t, resp.Error())
}
