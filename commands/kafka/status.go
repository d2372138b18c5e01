package kafka

import (
	"sync"
	"time"

	"github.com/offsetledger/offsetledger/ledger"
)

// Counts is what capture has met since the process began.
type Counts struct {
	Records     uint64 // of __consumer_offsets, markers included
	Rows        uint64 // committed offsets, those of transactions included
	Tombstones  uint64 // of offsets
	AbortedRows uint64 // of transactions that were aborted
	Groups      uint64 // group metadata that became an event
	Opaque      uint64 // records that could not be decoded
	Events      uint64 // stored in the ledger, cursors included
	Appends     uint64 // transactions of the ledger
	// Types counts the records that are known and not kept, by key type.
	Types [maxKeyType + 1]uint64
}

func (c *Counts) countType(keyType int16) {
	if keyType >= 0 && int(keyType) < len(c.Types) {
		c.Types[keyType]++
	}
}

// LineStatus is where capture stands in one partition of __consumer_offsets.
type LineStatus struct {
	Partition int32
	Next      int64 // next offset to read, all before it being in the ledger
	End       int64 // high watermark, as last seen
	// CompleteThrough is the moment up to which the line was read to its end.
	CompleteThrough ledger.Time
	OpenSince       ledger.Time // of its oldest open transaction; unknown when there is none
}

// Status is how capture is doing.
type Status struct {
	Ready bool // what was there at the start has been captured
	// Reached is the moment up to which all source partitions had been read to their ends:
	// capture is behind by the time since. It is unknown until that happened once.
	Reached ledger.Time
	Lines   []LineStatus // by partition
	Seq     uint64       // of the last cursor that was stored
	Counts  Counts
	// KafkaError is why nothing can be read at present, nil while it can: as it came, and soon
	// after as an [*AccessError]. LogError is why nothing can be stored. Both are retried for
	// as long as Run runs.
	KafkaError, LogError error
}

// Behind is how far capture is behind the moment now. It is false while that is not known.
func (s Status) Behind(now time.Time) (time.Duration, bool) {
	d, ok := ledger.AtTime(now).Sub(s.Reached)
	return max(d, 0), ok
}

// Healthy reports whether capture can read and store.
func (s Status) Healthy() bool { return s.KafkaError == nil && s.LogError == nil }

// statusBoard is the Status that Run writes and others read.
type statusBoard struct {
	mu    sync.Mutex
	now   Status
	ready chan struct{}

	unexplained error         // the last fault, nil once it is being looked into
	faulty      chan struct{} // of length 1: there is something unexplained
}

func (b *statusBoard) update(change func(*Status)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	was := b.now.Ready
	change(&b.now)
	if b.now.Ready && !was {
		close(b.ready)
	}
}

func (b *statusBoard) get() Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

// fault notes why Kafka cannot be read, nil when it can. What explains the fault before stays
// until this one is explained too.
func (b *statusBoard) fault(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unexplained = err
	if err == nil || b.now.KafkaError == nil {
		b.now.KafkaError = err
	}
	if err != nil {
		select {
		case b.faulty <- struct{}{}:
		default: // it is known that there is one
		}
	}
}

// explained replaces the fault that is told, if there still is one.
func (b *statusBoard) explained(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.now.KafkaError != nil {
		b.now.KafkaError = err
	}
}

func (b *statusBoard) takeUnexplained() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	err := b.unexplained
	b.unexplained = nil
	return err
}
