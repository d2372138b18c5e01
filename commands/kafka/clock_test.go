package kafka

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/ledgertest"
	"github.com/offsetledger/offsetledger/projection"
)

func TestSteadyClockNeverGoesBack(t *testing.T) {
	at := func(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
	shown := []int64{5, 3, 8, 8, 1, 9}
	clock := steady(func() time.Time { ms := shown[0]; shown = shown[1:]; return at(ms) }, at(4))
	for _, want := range []int64{5, 5, 8, 8, 8, 9} {
		require.Equal(t, at(want), clock())
	}
	behind := steady(func() time.Time { return at(1) }, at(4))
	require.Equal(t, at(4), behind())
}

// The clock of the machine is set back by an hour while capture is down. What it records then
// does not happen before what it had called complete.
func TestClockSetBackBetweenTwoRuns(t *testing.T) {
	fake := startFake(t, kafkatest.FakeConfig{Partitions: 1})
	log := ledgertest.New(t)
	require.NoError(t, fake.Write(t.Context(), "g", commits("g", "t", 0, 1)...))
	r := capture(t, fake, log, nil)
	r.ready()
	var through projection.Coverage
	r.eventually(func(Status) bool {
		through, _ = folded(t, log).Coverage("c")
		return through.Through.Known()
	})
	require.Error(t, r.kill())
	last := recordsOf(t, log)[len(recordsOf(t, log))-1].Seq

	r = capture(t, fake, log, func(cfg *TailConfig) {
		cfg.Clock = func() time.Time { return time.Now().Add(-time.Hour) }
	})
	r.ready()
	require.NoError(t, fake.Write(t.Context(), "g", commits("g", "t", 0, 2)...))
	r.eventually(func(Status) bool { return len(eventsOf(t, log, ledger.KindCommitted)) == 2 })
	for _, rec := range recordsOf(t, log) {
		if rec.Seq > last {
			require.False(t, rec.Event.Time.Before(through.Through), "record %d of %s", rec.Seq, rec.Event.Time)
		}
	}
}
