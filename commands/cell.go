package commands

import (
	"sync"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// cell is what a manager keeps of one partition. Its lock is held for moments only, never while
// anything is waited for.
type cell struct {
	mu sync.Mutex // guards all but tp
	tp ledger.TopicPartition

	// floor is the least offset that an update may have: the committed one, or that of a commit
	// under way. It stays 0 where going back is allowed.
	floor  int64
	credit int // updates that buf has room for in the budget
	// buf holds the offsets of updates that are not recorded yet, in order; extras what some of
	// them have beside it.
	buf    []int64
	extras []extra
	cost   int64 // of the budget, for buf, extras and credit
	// spare and spareExtras are empty buffers to go on with when buf and extras are taken.
	spare       []int64
	spareExtras []extra

	pending   mark // what the next commit says; meaningless unless hasPending
	committed mark
	inflight  mark // in a commit under way; meaningless unless hasInflight

	hasPending, hasCommitted, hasInflight bool
	dropped                               bool // given up by Drop
	refused                               bool // the broker refused pending, and would again

	// logStart and logEnd are the bounds of the log as last told.
	logStart, logEnd       int64
	hasLogStart, hasLogEnd bool

	waits   []wait // OnWatermark: what pending came through, oldest first
	stride  int    // how many updates one wait stands for, if there are many
	tracker *Tracker
}

// mark is an offset as it is or may be committed.
type mark struct {
	at       int64 // the next offset to read
	when     int64 // when it was updated, or restored: when it was committed; milliseconds
	epoch    ledger.Epoch
	metadata string
}

// extra is what update i of a buffer has beside its offset.
type extra struct {
	i         int
	epoch     ledger.Epoch
	eventTime ledger.Time
	metadata  string
}

// setFloor computes floor anew. The caller holds mu.
func (c *cell) setFloor(allowRewind bool) {
	c.floor = 0
	if allowRewind {
		return
	}
	if c.hasCommitted {
		c.floor = max(c.floor, c.committed.at)
	}
	if c.hasInflight {
		c.floor = max(c.floor, c.inflight.at)
	}
}

// info is a mark for people. The caller holds mu.
func (c *cell) info(m *mark) projection.OffsetInfo {
	i := projection.OffsetInfo{
		Offset: m.at, LastUpdated: ledger.AtMillis(m.when), Metadata: m.metadata, LeaderEpoch: m.epoch,
	}
	if c.hasLogEnd {
		i.HighWatermark = projection.Value{At: c.logEnd, Exists: true}
	}
	return i
}

// newest is what a commit would say if it came now, a commit under way included.
func (c *cell) newest() (*mark, bool) {
	switch {
	case c.hasPending:
		return &c.pending, true
	case c.hasInflight:
		return &c.inflight, true
	}
	return nil, false
}
