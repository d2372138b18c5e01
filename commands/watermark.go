package commands

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/offsetledger/offsetledger/ledger"
)

// wait is an offset that may be committed once the watermark has come to until: the latest
// event time of all updates up to it. Updates without event time wait for none.
type wait struct {
	mark    mark
	until   int64 // milliseconds
	updates int   // that it stands for, of those that moved until
}

// maxWaits bounds the waits of one partition. When there are as many, two become one, and so do
// those that come from then on: commits are held back by a little, and none goes early.
const maxWaits = 1 << 12

// addWait notes that pending has to wait for the watermark. The caller holds c.mu.
func (c *cell) addWait(eventTime ledger.Time) {
	until := int64(math.MinInt64)
	if ms, ok := eventTime.Millis(); ok {
		until = ms
	}
	n := len(c.waits)
	if n < maxWaits/4 {
		c.stride = 1
	}
	if n > 0 && until <= c.waits[n-1].until {
		c.waits[n-1].mark = c.pending
		return
	}
	if n > 0 && c.waits[n-1].updates < c.stride {
		last := &c.waits[n-1]
		last.mark, last.until = c.pending, until
		last.updates++
		return
	}
	if n >= maxWaits {
		for i := range n / 2 {
			c.waits[i] = c.waits[2*i+1]
			c.waits[i].updates += c.waits[2*i].updates
		}
		c.waits = c.waits[:n/2]
		c.stride *= 2
	}
	c.waits = append(c.waits, wait{c.pending, until, 1})
}

// upTo selects what lies before a watermark.
type upTo struct{ watermark int64 }

func (s upTo) pick(c *cell) (mark, int, bool) {
	n := 0
	for n < len(c.waits) && c.waits[n].until <= s.watermark {
		n++
	}
	if n == 0 {
		return mark{}, 0, false
	}
	return c.waits[n-1].mark, n, true
}

// NotifyWatermark tells that everything with an event time up to t was processed, and commits,
// of each partition, the longest run of updates from the oldest on whose event times are all at
// or before t. Updates without event time go with the ones before them: a partition without any
// commits what was updated before the call.
//
// It returns whether something was committed. A watermark that is not later than one before
// commits nothing; one whose commit failed can be told again. The manager's strategy has to be
// [OnWatermark]. For records that workers finish out of order there is [Manager.DoneAt].
func (m *Manager) NotifyWatermark(ctx context.Context, t time.Time) (bool, error) {
	if m.cfg.Strategy.kind != strategyOnWatermark {
		return false, fmt.Errorf("%w: watermark: %w", ErrInvalid, errStrategy)
	}
	if t.IsZero() {
		return false, fmt.Errorf("%w: watermark: the time is zero", ErrInvalid)
	}
	if err := m.begin(ctx); err != nil {
		return false, fmt.Errorf("watermark: %w", err)
	}
	defer m.end()
	if !t.After(m.w.watermark) {
		return false, nil
	}
	n, err := m.commit(ctx, upTo{t.UnixMilli()})
	if err != nil {
		return n > 0, fmt.Errorf("watermark: %w", err)
	}
	m.w.watermark = t
	return n > 0, nil
}
