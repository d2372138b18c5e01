package commands

import (
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// Lag returns how far the committed offset of a partition is behind a high watermark: never
// negative, and counted from the log start if that was told ([Manager.Observe]). It is false if
// nothing is committed, or the high watermark is none.
func (m *Manager) Lag(topic string, partition int32, highWatermark int64) (int64, bool) {
	c := m.cells.find(topic, partition)
	if c == nil {
		return 0, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.lag(highWatermark)
	return l.Records, l.Known
}

// lag is that of the committed offset. The caller holds c.mu.
func (c *cell) lag(logEnd int64) projection.Lag {
	start := int64(0)
	if c.hasLogStart {
		start = min(c.logStart, max(logEnd, 0))
	}
	return projection.LagOf(projection.Value{At: c.committed.at, Exists: c.hasCommitted}, ledger.Time{},
		&projection.Watermark{LogStart: start, LastStable: logEnd, LogEnd: logEnd})
}

// TotalLag sums up the lag of all partitions that were ever updated, restored or observed here
// and not given up, each to the high watermark that was told last. Unknown counts those of which it is not known:
// nothing was committed, or no high watermark told.
func (m *Manager) TotalLag() (lag int64, unknown int) {
	var total projection.TotalLag
	for _, c := range m.cells.list() {
		c.mu.Lock()
		l := projection.Lag{}
		if c.hasLogEnd {
			l = c.lag(c.logEnd)
		}
		if !c.dropped {
			total.Add(l)
		}
		c.mu.Unlock()
	}
	return total.Records, total.Unknown
}
