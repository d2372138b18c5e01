package replay

import (
	"context"
	"fmt"
	"time"

	"github.com/offsetledger/offsetledger/ledger"
)

// HeldUntil returns the last moment at which what a group had after the record at seq was still
// true: just before what is recorded next of it, of whatever may be missing, or of a record that
// nobody could read. It is false if nothing of that kind has followed yet; and the unknown Time
// if what followed does not say since when it is true.
func HeldUntil(ctx context.Context, r Reader, cluster, group string, seq uint64) (ledger.Time, bool, error) {
	last, err := r.Last(ctx)
	if err == nil && seq < last {
		f := ledger.Filter{Subjects: []string{ledger.GroupSubjects(cluster, group), ledger.SourceSubjects(cluster)}}
		for rec, e := range r.Read(ctx, seq+1, last, f) {
			if err = e; err == nil {
				return justBefore(&rec.Event), true, nil
			}
		}
	}
	if err != nil {
		return ledger.Time{}, false, fmt.Errorf("what followed record %d of group %q: %w", seq, group, err)
	}
	return ledger.Time{}, false, nil
}

// justBefore is the last moment at which what an event tells was not true yet, for certain.
func justBefore(ev *ledger.Event) ledger.Time {
	switch {
	case ev.Gap != nil:
		return ev.Gap.From
	case ev.Source.Kind == ledger.SourcePoll || ev.Source.Kind == ledger.SourceReconcile:
		return ev.NotBefore
	}
	return ev.Time.Add(-time.Millisecond)
}
