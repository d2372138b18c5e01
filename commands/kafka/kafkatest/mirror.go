package kafkatest

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// lookEvery is how often the mirror looks at every group it knows, for what no request shows:
// a member whose session ran out, an offset that expired.
const lookEvery = 500 * time.Millisecond

// mirror writes to OffsetsTopic what happens to the groups of a kfake cluster.
//
// Every request that can change a group is observed before the cluster handles it, and the
// group is queued. One goroutine then asks for the group's state, writes what differs from
// the state it wrote last, and so on. A request for a group that is still queued sleeps until
// its state has been read, so two commits are never taken for one, and what was written is
// every commit in order.
//
// Transactional commits appear when their transaction ends, as plain ones: a test of
// transactions writes its own records. Share groups leave no trace.
type mirror struct {
	kafka   *kfake.Cluster
	client  *kgo.Client
	log     *slog.Logger
	version int16 // of offset values
	n       int32 // partitions of OffsetsTopic

	mu     sync.Mutex
	closed bool
	queue  []string                       // groups to look at, the oldest first
	queued map[string]chan struct{}       // those in queue; closed when the group's state was read
	seen   map[string]*protocol           // what requests said that the group's state does not
	txns   map[string]map[string]struct{} // groups by the transactional id that committed to them
	busy   int                            // groups in queue or being looked at, and records on their way
	idle   chan struct{}                  // closed when busy falls to 0
	err    error                          // the first record that could not be written

	wake  chan struct{}
	known map[string]*groupState // as written; owned by run
}

func newMirror(kafka *kfake.Cluster, client *kgo.Client, cfg FakeConfig) *mirror {
	return &mirror{
		kafka: kafka, client: client, log: cfg.Log, version: cfg.ValueVersion,
		n:      int32(len(kafka.PartitionInfos(OffsetsTopic))),
		queued: make(map[string]chan struct{}),
		seen:   make(map[string]*protocol),
		txns:   make(map[string]map[string]struct{}),
		idle:   make(chan struct{}),
		wake:   make(chan struct{}, 1),
		known:  make(map[string]*groupState),
	}
}

// enqueue has groups looked at, those not queued already after the others.
func (m *mirror) enqueue(groups []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	for _, g := range groups {
		m.protocolOf(g)
		if m.queued[g] == nil {
			m.queued[g] = make(chan struct{})
			m.queue = append(m.queue, g)
			m.begin(1)
		}
	}
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// begin and end count what sync waits for; the caller of begin holds mu.
func (m *mirror) begin(n int) {
	if m.busy == 0 {
		m.idle = make(chan struct{})
	}
	m.busy += n
}

func (m *mirror) end(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil && m.err == nil {
		m.err = err
		m.log.Error("offset record not mirrored", "error", err)
	}
	if m.busy--; m.busy == 0 {
		close(m.idle)
	}
}

func (m *mirror) sync(ctx context.Context) error {
	for {
		m.mu.Lock()
		busy, idle, err := m.busy > 0, m.idle, m.err
		m.mu.Unlock()
		if err != nil || !busy {
			return err
		}
		select {
		case <-idle:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// close lets every sleeping request go on; nothing is queued after it.
func (m *mirror) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	for _, ch := range m.queued {
		close(ch)
	}
	clear(m.queued)
}

// run looks at queued groups until ctx ends, which must be before the cluster is closed.
func (m *mirror) run(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			m.mu.Lock()
			groups := keys(m.seen)
			m.mu.Unlock()
			m.enqueue(groups)
		case <-m.wake:
		}
		for group, ok := m.next(); ok && ctx.Err() == nil; group, ok = m.next() {
			m.look(ctx, group)
		}
	}
}

// next takes the oldest group from the queue. It stays in queued until its state is read.
func (m *mirror) next() (string, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.queue) == 0 {
		return "", false
	}
	group := m.queue[0]
	m.queue = m.queue[1:]
	return group, true
}

// look writes what changed in a group since it was looked at last.
func (m *mirror) look(ctx context.Context, group string) {
	// While an observer runs, the cluster answers GroupInfo before it handles the observed
	// request. Once no observer does, that request is handled before the answer.
	for m.kafka.CurrentNode() != -1 {
		runtime.Gosched()
	}
	info := m.kafka.GroupInfo(group)

	m.mu.Lock()
	if ch := m.queued[group]; ch != nil {
		close(ch)
		delete(m.queued, group)
	}
	seen := *m.protocolOf(group)
	m.mu.Unlock()

	recs := m.diff(group, info, seen)
	partition := PartitionFor(group, m.n)
	m.mu.Lock()
	m.begin(len(recs))
	m.mu.Unlock()
	for _, r := range recs {
		r.Topic, r.Partition = OffsetsTopic, partition
		m.client.Produce(ctx, r, func(_ *kgo.Record, err error) { m.end(err) })
	}
	m.end(nil)
}

func (m *mirror) topicID(topic string) [16]byte {
	info := m.kafka.TopicInfo(topic)
	if info == nil {
		return [16]byte{}
	}
	return info.TopicID
}

func keys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	return out
}
