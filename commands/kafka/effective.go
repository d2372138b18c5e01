package kafka

import "github.com/offsetledger/offsetledger/ledger"

// effective returns the effective time of what the line gives out next: the earliest of the
// moments that its record and the capture clock name, but never before that of anything given
// out earlier, nor before a moment up to which answers were promised not to change.
//
// So a commit time in the future hides nothing (record and clock cap it), one in the past
// changes no answer that was given, and order in time follows order in the log. A moment
// before 1970 is no moment that a broker's clock ever showed: it counts as not there.
func (l *sourceLine) effective(now ledger.Time, times ...ledger.Time) ledger.Time {
	least := now
	for _, t := range times {
		if ms, ok := t.Millis(); ok && ms >= 0 {
			least = ledger.MinTime(least, t)
		}
	}
	l.maxEffective = ledger.MaxTime(l.latest(), least)
	return l.maxEffective
}

// latest is the moment before which the line gives out nothing any more.
func (l *sourceLine) latest() ledger.Time {
	return ledger.MaxTime(l.maxEffective, l.completeThrough)
}
