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
	mark  mark
	until int64 // milliseconds
}

// maxWaits bounds the waits of one partition. Beyond it every other one is left out, which
// holds some commits back a little and lets none go early.
const maxWaits = 1 << 14

// addWait notes that pending has to wait for the watermark. The caller holds c.mu.
func (c *cell) addWait(eventTime ledger.Time) {
	until := int64(math.MinInt64)
	if ms, ok := eventTime.Millis(); ok {
		until = ms
	}
	if n := len(c.waits); n > 0 && until <= c.waits[n-1].until {
		c.waits[n-1].mark = c.pending
		return
	}
	if len(c.waits) == maxWaits {
		thinned := make([]wait, 0, maxWaits)
		for i := 1; i < len(c.waits); i += 2 {
			thinned = append(thinned, c.waits[i])
		}
		c.waits = thinned
	}
	c.waits = append(c.waits, wait{c.pending, until})
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
