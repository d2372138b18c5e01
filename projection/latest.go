package projection

import "github.com/offsetledger/offsetledger/ledger"

// latestOf is the latest moment that a record is about: that of its event, of one of its rows,
// or up to which a cursor shows a source partition read.
func latestOf(rec *ledger.Record) ledger.Time {
	ev := &rec.Event
	latest := moment(rec, ledger.Time{})
	if !told(ev.Source.Kind) {
		for i := range ev.Offsets {
			if at := ev.Offsets[i].Effective; at.After(latest) {
				latest = at
			}
		}
	}
	if ev.Cursor != nil {
		for i := range ev.Cursor.Lines {
			l := &ev.Cursor.Lines[i]
			latest = ledger.MaxTime(latest, ledger.MaxTime(l.CompleteThrough, l.MaxEffective))
		}
	}
	return latest
}

// namedBy is the latest moment that a record names by any clock: also by that of a manager or an
// operator who tells of himself, which can be wrong.
func namedBy(rec *ledger.Record, latest ledger.Time) ledger.Time {
	ev := &rec.Event
	named := ledger.MaxTime(latest, ev.Time)
	if told(ev.Source.Kind) {
		for i := range ev.Offsets {
			named = ledger.MaxTime(named, ev.Offsets[i].Effective)
		}
	}
	return named
}
