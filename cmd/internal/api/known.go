package api

import (
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// asked is the moment that the answer is about, as the fold wants to know it. As of a time,
// final is only what capture has stored that it is complete; of the present, a capture that
// runs here knows better than what it has stored. What a group had at a sequence may have been
// true for longer than was known then.
func (f *frame) asked() projection.Asked {
	q := projection.Asked{Time: f.point.Time, Now: f.asOf}
	switch {
	case f.point.Time.Known():
		q.Through = f.through
	case f.ofNow():
		if f.status.BehindKnown && f.status.Problem == "" {
			q.Through = ledger.MaxTime(f.now.Add(-f.status.Behind), f.through)
		}
	default:
		q.Through = f.held
	}
	return q
}

// setKnown says how sure a row is.
func (r *OffsetRow) setKnown(k projection.Known) {
	r.Known, r.Why = k.Certainty.String(), k.Why
	r.KnownUntil, r.DeletedAt, r.Never = Time{k.Until}, Time{k.DeletedAt}, k.Never
	if k.Certainty == projection.CertaintyInterval {
		r.NotBefore, r.NotAfter, r.CommitTime = Time{k.NotBefore}, Time{k.NotAfter}, Time{}
	}
}
