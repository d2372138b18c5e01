package stream

import (
	"context"
	"fmt"
	"time"
)

// Size is how much a ledger holds.
type Size struct {
	Events uint64
	// Bytes are those of the events with what the server adds to each, before it compresses
	// them: on disk it is half of that, or less.
	Bytes uint64
	// From and To are the append times of the first and the last event; zero when there is none.
	From, To time.Time
}

// PerDay is how many such bytes a day the ledger has grown by on average. It is false while it
// holds less than a minute, which says nothing yet.
func (s Size) PerDay() (float64, bool) {
	span := s.To.Sub(s.From)
	if span < time.Minute {
		return 0, false
	}
	return float64(s.Bytes) / span.Hours() * 24, true
}

// Size asks the server how much is stored.
func (l *Log) Size(ctx context.Context) (Size, error) {
	info, err := l.checked(ctx, 0)
	if err != nil {
		return Size{}, fmt.Errorf("size of %s: %w", l.cfg.Name, err)
	}
	st := info.State
	size := Size{Events: st.Msgs, Bytes: st.Bytes}
	if st.Msgs > 0 {
		size.From, size.To = st.FirstTime.UTC(), st.LastTime.UTC()
	}
	return size, nil
}
