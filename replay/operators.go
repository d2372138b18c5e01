package replay

import (
	"context"

	"github.com/offsetledger/offsetledger/ledger"
)

// operators reads what operators did in a cluster, each event once. Not safe for use by several
// goroutines.
type operators struct {
	reader  Reader
	cluster string
	through uint64 // what is stored up to here has been read
}

// read hands over the events of an action, of any if it is empty, that were not yet, if it has not come as far as a
// sequence. Broken off, it goes on from there the next time.
func (o *operators) read(ctx context.Context, seq uint64, action string, take func(rec *ledger.Record)) error {
	if seq <= o.through {
		return nil
	}
	last, err := o.reader.Last(ctx)
	if err != nil {
		return err
	}
	f := ledger.Filter{Subjects: []string{ledger.OperatorSubject(o.cluster)}}
	for rec, err := range o.reader.Read(ctx, o.through+1, last, f) {
		if err != nil {
			return err
		}
		if done := rec.Event.Operation; done != nil && (action == "" || done.Action == action) {
			take(&rec)
		}
		o.through = rec.Seq
	}
	o.through = last
	return nil
}
