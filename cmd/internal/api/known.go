package api

import (
	"time"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// freshEnough is how far capture may be behind for an answer about now to be called exact:
// five seconds, and the one by which capture always holds back what it calls complete.
const freshEnough = 6 * time.Second

// asked is the moment that the answer is about, as the fold wants to know it.
func (f *frame) asked() projection.Asked {
	return projection.Asked{Time: f.point.Time, Now: f.asOf, Through: f.through()}
}

// through is how far capture had come at the moment asked for, as far as it is known: by the
// capture that runs here, by the record that was asked for, or else by what it has stored.
func (f *frame) through() ledger.Time {
	switch {
	case f.point.Seq != 0:
		return f.reached
	case f.point.Time.Known(): // final is only what capture has stored that it is complete
		return f.cover.Through
	case f.status.BehindKnown && f.status.Problem == "":
		return ledger.MaxTime(f.now.Add(-f.status.Behind), f.cover.Through)
	}
	return f.cover.Through
}

// exact reports whether nothing that comes can change the answer, or, of the present and by
// sequence, whether capture was close to that moment.
func (f *frame) exact() bool {
	if f.point.Time.Known() {
		return !f.point.Time.After(f.through())
	}
	behind, ok := f.asOf.Sub(f.through())
	return ok && behind <= freshEnough
}

// known is how sure the answer is as a whole. Each row says it for itself.
func (f *frame) known() string {
	certainty := projection.CertaintyStale
	switch {
	case f.seq == 0 && f.point.Time.Known() && f.point.Time.Before(f.cover.Began):
		certainty = projection.CertaintyUnknown
	case f.exact():
		certainty = projection.CertaintyExact
	}
	return certainty.String()
}

// setKnown says how sure a row is.
func (r *OffsetRow) setKnown(k projection.Known) {
	r.Known, r.Why = k.Certainty.String(), k.Why
	r.KnownUntil, r.DeletedAt, r.Never = Time{k.Until}, Time{k.DeletedAt}, k.Never
	if k.Certainty == projection.CertaintyInterval {
		r.NotBefore, r.NotAfter, r.CommitTime = Time{k.NotBefore}, Time{k.NotAfter}, Time{}
	}
}
