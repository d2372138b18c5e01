package api

import (
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// The values of OffsetRow.Known and Envelope.Known.
const (
	knownExact    = "exact"    // capture has passed that moment
	knownStale    = "stale"    // capture has not yet, or is away
	knownInterval = "interval" // polled: it changed at some moment in between
	knownNone     = "none"     // there is no committed offset
	knownUnknown  = "unknown"  // see OffsetRow.Why
)

// The values of OffsetRow.Why.
const (
	whyBeforeHistory = "before-history" // the ledger does not reach back so far
	whyGap           = "gap"            // history may be missing here
	whyUnreadable    = "unreadable"     // a later record could not be decoded
	whyPending       = "pending"        // only an undecided transaction names the partition
)

// judge says how sure the row of a partition is.
func (f *frame) judge(row *OffsetRow, group string, p *projection.Partition) {
	row.Known = f.known()
	switch {
	case p.Unreadable:
		row.unknown(whyUnreadable)
	case f.inGap(group, p):
		row.unknown(whyGap)
	case p.Unsure != nil:
		row.Known = knownInterval
		row.NotBefore, row.NotAfter = Time{p.Unsure.From}, Time{p.Unsure.To}
	case !p.Committed.Exists && p.Pending != nil && !p.DeletedAt.Known():
		row.unknown(whyPending)
	case !p.Committed.Exists:
		row.Known = knownNone
		row.DeletedAt = Time{p.DeletedAt}
	case p.NotBefore.Known():
		row.Known = knownInterval
		row.NotBefore, row.NotAfter, row.CommitTime = Time{p.NotBefore}, Time{p.Effective}, Time{}
	}
	if row.Known == knownStale {
		row.KnownUntil = Time{f.cover.Through}
	}
}

func (r *OffsetRow) unknown(why string) { r.Known, r.Why = knownUnknown, why }

// inGap reports whether the moment asked for lies in a gap that names the partition: between
// its last row before and its first row after.
func (f *frame) inGap(group string, p *projection.Partition) bool {
	for i := range f.cover.Gaps {
		g := &f.cover.Gaps[i]
		if !g.OfGroup || g.Group != group || !gapNames(g, p) {
			continue
		}
		span := gapSpan(*g)
		if f.asOf.After(span.From) && f.asOf.Before(span.To) && !p.Effective.After(span.From) {
			return true
		}
	}
	return false
}

func gapNames(g *projection.Gap, p *projection.Partition) bool {
	for _, k := range g.Keys {
		if k == (ledger.TopicPartition{Topic: p.Topic, Partition: p.Partition}) {
			return true
		}
	}
	return len(g.Keys) == 0
}
