package api

import (
	"context"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/replay"
)

// The kinds of a time lag.
const (
	// TimeLagAge is the age of the next record, as of the observation that first found it: it is
	// as old as that, or older by at most the time since the observation before. 0: nothing waits.
	TimeLagAge = "age-of-next-record"
	// TimeLagAtLeast is likewise, but the record was there at the oldest observation already that
	// was looked at, and can be older by any time.
	TimeLagAtLeast = "age-of-next-record-at-least"
)

// timeLags tell the time lag of the rows of a group. They are asked while the state is at hand,
// and looked up in the ledger when it is not any more.
type timeLags struct {
	frame   *frame
	backlog *replay.Backlog
}

func (f *frame) timeLags() *timeLags {
	return &timeLags{frame: f, backlog: replay.NewBacklog(f.cluster, f.point.Time)}
}

// ask notes what the row of a partition needs, or says why nothing is known.
func (l *timeLags) ask(st *projection.State, p *projection.Partition, row *OffsetRow) {
	switch lag := st.Lag(l.frame.cluster, p); {
	case row.Why != "":
		row.TimeLagWhy = row.Why
	case !lag.Known:
		row.TimeLagWhy = lag.Why
	case !l.backlog.Ask(st, p):
		row.TimeLag, row.TimeLagKind = new(float64), TimeLagAge
	}
}

// fill looks up what is still to be told. A row that is true up to some moment only has the time
// lag of that moment.
func (l *timeLags) fill(ctx context.Context, log replay.Reader, rows []OffsetRow) error {
	if err := l.backlog.Find(ctx, log); err != nil {
		return err
	}
	for i := range rows {
		r := &rows[i]
		if r.TimeLag != nil || r.TimeLagWhy != "" {
			continue
		}
		at := l.frame.asOf
		if r.KnownUntil.Known() {
			at = r.KnownUntil.Time
		}
		r.setTimeLag(l.backlog, at)
	}
	return nil
}

func (r *OffsetRow) setTimeLag(b *replay.Backlog, at ledger.Time) {
	w, ok := b.Since(string(r.Topic), r.Partition)
	age, known := at.Sub(w.Since)
	if !ok || !known {
		r.TimeLagWhy = "no observation of the log was found"
		return
	}
	seconds := max(age, 0).Seconds()
	r.TimeLag, r.TimeLagKind = &seconds, TimeLagAge
	if w.Longer {
		r.TimeLagKind = TimeLagAtLeast
	}
}
