package crashtest

import (
	"context"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
	"github.com/offsetledger/offsetledger/ledger"
)

// firstFetches notes from where each partition of __consumer_offsets is fetched first.
type firstFetches struct {
	mu   sync.Mutex
	from map[int32]int64
}

// watchFetches has a broker note fetches from now on.
func watchFetches(fake *kafkatest.Fake) *firstFetches {
	f := &firstFetches{from: map[int32]int64{}}
	id := fake.Kafka.TopicInfo(kafkatest.OffsetsTopic).TopicID
	fake.Kafka.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, topic := range r.(*kmsg.FetchRequest).Topics {
			if topic.Topic != kafkatest.OffsetsTopic && topic.TopicID != id {
				continue
			}
			for _, p := range topic.Partitions {
				if _, again := f.from[p.Partition]; !again {
					f.from[p.Partition] = p.FetchOffset
				}
			}
		}
		return nil, nil, false
	})
	return f
}

func (f *firstFetches) get() map[int32]int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.from)
}

// SIGTERM while commits flow ends the daemon in good order, and the next one fetches from
// where the ledger stands: nothing is read again.
func TestSIGTERMEndsInOrderAndTheNextResumes(t *testing.T) {
	rnd := newRand(t)
	b := startBroker(t, rnd)
	b.most = 0 // the rows of an open transaction are read again, as they have to be
	dir := filepath.Join(t.TempDir(), "ledger")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	flowing := make(chan error, 1)
	go func() { flowing <- b.flow(ctx) }()

	for range 3 {
		d := start(t, dir, b.fake).ready()
		require.Zero(t, d.stop(), "%s", d.log)
		require.Contains(t, d.log.String(), "msg=stopped")
		require.NotContains(t, d.log.String(), "level=ERROR")
		require.NoFileExists(t, filepath.Join(dir, "api"), "a daemon that ended listens nowhere")
	}
	stands := cursorOf(t, dir)
	require.NotEmpty(t, stands)
	fetched := watchFetches(b.fake)
	d := start(t, dir, b.fake).ready()
	require.Equal(t, stands, fetched.get())
	require.Zero(t, d.stop(), "%s", d.log)
	cancel()
	require.NoError(t, <-flowing)

	d = start(t, dir, b.fake).ready()
	require.Zero(t, d.stop(), "%s", d.log)
	auditLedger(t, b, dir)
}

// cursorOf returns where the cursor of the ledger in dir stands.
func cursorOf(t *testing.T, dir string) map[int32]int64 {
	next := map[int32]int64{}
	readAll(t, dir, func(rec *ledger.Record) {
		if rec.Event.Kind == ledger.KindCursor {
			for _, l := range rec.Event.Cursor.Lines {
				next[l.Partition] = l.Next
			}
		}
	})
	return next
}

// SIGTERM before the daemon has come to anything ends it in good order too.
func TestSIGTERMAtAnyMomentOfTheStart(t *testing.T) {
	rnd := newRand(t)
	b := startBroker(t, rand.New(rand.NewPCG(rnd.Uint64(), 0))) //nolint:gosec // a test that can be repeated
	for range 200 {
		require.NoError(t, b.step(t.Context()))
	}
	for len(b.open) > 0 {
		require.NoError(t, b.end(t.Context()))
	}
	dir := filepath.Join(t.TempDir(), "ledger")
	for range 6 {
		d := start(t, dir, b.fake)
		select {
		case <-d.done:
			require.Fail(t, "the daemon ended by itself", "%s", d.log)
		case <-time.After(time.Duration(100+rnd.IntN(250)) * time.Millisecond):
		}
		// Before it was set up to be told, the signal ends it as it ends any process.
		require.Contains(t, []int{0, 130, -1}, d.stop(), "%s", d.log)
	}
	d := start(t, dir, b.fake).ready()
	require.Zero(t, d.stop())
	auditLedger(t, b, dir)
}
