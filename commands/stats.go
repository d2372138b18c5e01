package commands

import (
	"sync"
	"sync/atomic"
	"time"
)

// Stats count what a manager did since it was made.
type Stats struct {
	// TotalCommits are the attempts that had something to commit: SuccessfulCommits and
	// FailedCommits. One of which the broker refused some rows is a failed one.
	TotalCommits, SuccessfulCommits, FailedCommits uint64
	TotalOffsetsCommitted                          uint64        // rows, of all attempts
	LastCommitTime                                 time.Time     // of the last successful one; zero if there is none
	AvgCommitDuration                              time.Duration // of the successful ones
	// LostUpdates were taken and could not be recorded, under [CommitAndMarkGap].
	LostUpdates uint64
}

type counters struct {
	mu    sync.Mutex // guards s and took
	s     Stats
	took  time.Duration // all successful commits together
	lost  atomic.Int64  // updates not recorded
	since atomic.Int64  // when the first of those that no gap tells of was lost, milliseconds; 0: none
}

// Stats returns the counts as of now.
func (m *Manager) Stats() Stats {
	m.stats.mu.Lock()
	defer m.stats.mu.Unlock()
	s := m.stats.s
	if s.SuccessfulCommits > 0 {
		s.AvgCommitDuration = m.stats.took / time.Duration(s.SuccessfulCommits)
	}
	s.LostUpdates = uint64(m.stats.lost.Load())
	return s
}

func (c *counters) succeeded(rows int, now, began time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.s.TotalCommits++
	c.s.SuccessfulCommits++
	c.s.TotalOffsetsCommitted += uint64(rows)
	c.s.LastCommitTime = now
	c.took += max(now.Sub(began), 0)
}

// partly counts a commit of which some rows were refused.
func (c *counters) partly(rows int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.s.TotalCommits++
	c.s.FailedCommits++
	c.s.TotalOffsetsCommitted += uint64(rows)
}

func (c *counters) failed() { c.partly(0) }
