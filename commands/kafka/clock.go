package kafka

import (
	"sync"
	"time"

	"github.com/offsetledger/offsetledger/ledger"
)

// steady returns a clock that never goes back, and never behind from. A moment that a cursor
// called complete has to stay complete, so that nothing may happen before it any more, whatever
// becomes of the clock of this machine. The returned clock may be asked from any goroutine.
func steady(clock func() time.Time, from time.Time) func() time.Time {
	var mu sync.Mutex
	last := from
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		if now := clock(); now.After(last) {
			last = now
		}
		return last
	}
}

// completed is the latest moment that a cursor called complete for any of its lines; the zero
// time if there is none.
func completed(c *ledger.Cursor) time.Time {
	var latest ledger.Time
	for i := range c.Lines {
		latest = ledger.MaxTime(latest, c.Lines[i].CompleteThrough)
	}
	at, _ := latest.Std()
	return at
}
