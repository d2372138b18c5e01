package kafka

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"
)

// Tail captures a Kafka cluster by reading __consumer_offsets. It is in no consumer group:
// where it stands is in the ledger, in the same append as the events up to there, so whatever
// stops it and whenever, no event is lost and none is stored twice. Of two captures of one
// cluster the second to append fails with [ledger.ErrConflict].
//
// Four goroutines run it: one reads and makes events, one appends them, two ask the brokers
// for ends and for watermarks. Only the first touches lines and what else it is made of; the
// others reach it through channels.
//
// What it holds in memory does not grow with history: two batches of the size of an append, one
// fetch of each broker, and of each line a run of at most 2 MiB, the rows of the transactions
// that are open in the partition, and behind a hole the names of the keys that are told.
type Tail struct {
	cfg   TailConfig
	board statusBoard // of all goroutines, and of who asks for Status

	// Set before the goroutines start, and used by all.
	client     *kgo.Client  // of all requests but fetches
	admin      *kadm.Client // over client
	toAppend   chan *appendJob
	spare      chan *batch
	observed   chan observation
	still      atomic.Pointer[map[int32]int64] // lines that stand still, for observeEnds to look at
	watermarks *Observer

	// Of the reading goroutine, once Run has begun.
	consumer   *kgo.Client // nil until the topic exists
	kafkaID    string
	topicID    uuid.UUID
	foundTopic uuid.UUID // id of __consumer_offsets at the start, if it is not topicID
	lines      map[int32]*sourceLine
	shared     lineShared
	began      time.Time // when the open batch got its first event; zero when it has none
	complete   bool      // the next cursor tells every line, moved or not
	fresh      bool      // there is news for Status
	topicWaits ration    // of the waiting for topics to disappear
	lastFault  error     // of a fetch
	faultAt    time.Time // when a fetch last told whether it could be done
}

// NewTail returns a Tail that is not running yet.
func NewTail(cfg TailConfig) (*Tail, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("capture: %w", err)
	}
	cfg.setDefaults()
	cfg.Clock = steady(cfg.Clock, completed(&cfg.Resume.Cursor))
	t := &Tail{cfg: cfg, lines: map[int32]*sourceLine{}}
	t.board.ready, t.board.faulty = make(chan struct{}), make(chan struct{}, 1)
	t.board.now.Seq = cfg.Resume.Seq
	return t, nil
}

// Ready is closed once everything that was there when Run began has been stored.
func (t *Tail) Ready() <-chan struct{} { return t.board.ready }

// Status returns how capture is doing. It may be called at any time.
func (t *Tail) Status() Status { return t.board.get() }

// Run captures until ctx ends, and then returns its error. While Kafka or the log are away it
// waits for them, which [Tail.Status] tells. It gives up with an error that matches
// [ledger.ErrConflict] when another capture of the cluster is running, [ErrOtherCluster] when
// the brokers are not those of the ledger's cluster, and [ledger.ErrInvalid] or
// [ledger.ErrTooLarge] when the log refuses what it was given. Run must be called only once.
func (t *Tail) Run(ctx context.Context) error {
	client, err := kgo.NewClient(t.cfg.Options...)
	if err != nil {
		return fmt.Errorf("capture %s: %w", t.cfg.Cluster, err)
	}
	defer client.Close()
	t.client, t.admin = client, kadm.NewClient(client)
	defer t.explainFaults(ctx)()
	defer func() {
		if t.consumer != nil {
			t.consumer.Close()
		}
	}()
	if err := t.start(ctx); err != nil {
		return fmt.Errorf("capture %s: %w", t.cfg.Cluster, err)
	}
	t.toAppend = make(chan *appendJob)
	t.spare = make(chan *batch, 2)
	t.spare <- &batch{}
	t.observed = make(chan observation)

	t.watermarks, err = NewObserver(ObserverConfig{Client: client, Cluster: t.cfg.Cluster, Topics: t.cfg.Topics})
	if err != nil {
		return fmt.Errorf("capture %s: %w", t.cfg.Cluster, err)
	}
	t.watermarks.Retain(t.cfg.Committed)

	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return t.append(ctx) })
	g.Go(func() error { return t.observeEnds(ctx) })
	g.Go(func() error { return t.observeWatermarks(ctx) })
	g.Go(func() error { return t.read(ctx) })
	if err := g.Wait(); err != nil {
		return fmt.Errorf("capture %s: %w", t.cfg.Cluster, err)
	}
	return nil
}
