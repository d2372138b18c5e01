package kafka

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetledger/offsetledger/commands"
	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/ledgertest"
)

// Members join, leave and die while records flow. None is lost, and those that come twice lie
// above what was committed.
func TestMembersComeAndGo(t *testing.T) {
	t.Parallel() // it waits more than it works
	for name, opts := range protocols {
		t.Run(name, func(t *testing.T) {
			fake := startFake(t, kafkatest.FakeConfig{Topics: map[string]int32{"orders": 6}})
			comeAndGo(t, fake, "billing-"+name, "orders", opts)
		})
	}
}

func TestRealMembersComeAndGo(t *testing.T) {
	kafka := kafkatest.Shared(t, "")
	for name, opts := range protocols {
		t.Run(name, func(t *testing.T) {
			topic := "bound-" + strconv.FormatInt(time.Now().UnixNano(), 36)
			require.NoError(t, kafka.CreateTopic(t.Context(), topic, 6))
			comeAndGo(t, kafka, topic, topic, opts)
		})
	}
}

// producer can make records.
type producer interface {
	reachable
	Produce(ctx context.Context, topic string, partition int32, n int) error
}

func comeAndGo(t *testing.T, kafka producer, group, topic string, opts []kgo.Opt) {
	const partitions, each = 6, 500
	log := ledgertest.New(t)
	seen := &tally{records: map[ledger.TopicPartition][]int64{}}
	first, second := work(t, kafka, log, group, topic, opts, seen), work(t, kafka, log, group, topic, opts, seen)
	for round := range 5 {
		for p := range int32(partitions) {
			require.NoError(t, kafka.Produce(t.Context(), topic, p, each/5))
		}
		seen.wait(t, (round+1)*partitions*each/5/2) // somewhere in the middle
		switch round {
		case 1:
			first.end((*pod).leave)
			first = work(t, kafka, log, group, topic, opts, seen)
		case 2:
			second.end((*pod).kill)
			second = work(t, kafka, log, group, topic, opts, seen)
		}
	}
	seen.wait(t, partitions*each)
	first.end((*pod).leave)
	second.end((*pod).leave)

	for p := range int32(partitions) {
		require.EqualValues(t, each, committedAt(t, kafka, group, topic, p))
		ats := positionsIn(t, log, ledger.KindCommitted, topic, p)
		require.True(t, slices.IsSorted(ats), "partition %d goes back: %v", p, ats)
		require.EqualValues(t, each, ats[len(ats)-1])
	}
}

// tally counts distinct records.
type tally struct {
	mu      sync.Mutex
	records map[ledger.TopicPartition][]int64
	n       int
}

func (s *tally) add(r *kgo.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tp := ledger.TopicPartition{Topic: r.Topic, Partition: r.Partition}
	if i, found := slices.BinarySearch(s.records[tp], r.Offset); !found {
		s.records[tp] = slices.Insert(s.records[tp], i, r.Offset)
		s.n++
	}
}

func (s *tally) wait(t testing.TB, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.n >= n
	}, 3*patience, 5*time.Millisecond, "%d records", n)
}

// worker is a pod with workers that take records as they come and end in any order.
type worker struct {
	p      *pod
	cancel context.CancelFunc
	done   chan struct{}
}

func work(t *testing.T, kafka reachable, log commands.Log, group, topic string, opts []kgo.Opt, seen *tally) *worker {
	p := startPod(t, kafka, log, group, topic, podConfig{opts: append(slices.Clone(opts), kgo.BlockRebalanceOnPoll())})
	ctx, cancel := context.WithCancel(context.Background())
	w := &worker{p: p, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		for ctx.Err() == nil {
			fetches := p.PollRecords(ctx, 50)
			var working sync.WaitGroup
			for r := range fetches.RecordsAll() {
				working.Go(func() {
					seen.add(r)
					if err := Done(p.m, r); err != nil && !errors.Is(err, commands.ErrNotOwned) {
						t.Error(err)
					}
				})
			}
			working.Wait()
			p.AllowRebalance()
		}
	}()
	return w
}

func (w *worker) end(how func(*pod)) {
	w.cancel()
	<-w.done
	how(w.p)
}
