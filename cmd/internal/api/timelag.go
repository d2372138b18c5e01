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
	// TimeLagDrain is how long the group needs to read all that is there, at the pace at which it has
	// been reading. It is told where the age is not known, and the pace is.
	TimeLagDrain = "time-to-drain"
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
func (l *timeLags) fill(ctx context.Context, s *server, rows []OffsetRow) error {
	if err := l.backlog.Find(ctx, s.Log); err != nil {
		return err
	}
	var ageless []*OffsetRow
	for i := range rows {
		r := &rows[i]
		if r.TimeLag == nil && r.TimeLagWhy == "" && !r.setAge(l.backlog, l.moment(r)) {
			ageless = append(ageless, r)
		}
	}
	if len(ageless) == 0 {
		return nil
	}
	point := l.frame.point
	if point.IsNow() {
		point.Seq = l.frame.seq
	}
	pace, err := s.Snapshots.PaceAt(ctx, s.Log, l.frame.cluster, *l.frame.group, point, l.moment(ageless[0]))
	if err != nil {
		return err
	}
	for _, r := range ageless {
		if d, ok := pace.Drain(string(r.Topic), r.Partition, *r.Lag); ok {
			seconds := d.Seconds()
			r.TimeLag, r.TimeLagKind, r.TimeLagWhy = &seconds, TimeLagDrain, ""
		}
	}
	return nil
}

// moment is the one at which a row is known to be true.
func (l *timeLags) moment(r *OffsetRow) ledger.Time {
	if r.KnownUntil.Known() {
		return r.KnownUntil.Time
	}
	return l.frame.asOf
}

// setAge tells how old the next record is. It is false if there is no more than a least age, or
// not even that.
func (r *OffsetRow) setAge(b *replay.Backlog, at ledger.Time) bool {
	w, ok := b.Since(string(r.Topic), r.Partition)
	age, known := at.Sub(w.Since)
	if !ok || !known {
		r.TimeLagWhy = "no observation of the log was found"
		return false
	}
	seconds := max(age, 0).Seconds()
	r.TimeLag, r.TimeLagKind = &seconds, TimeLagAge
	if w.Longer {
		r.TimeLagKind = TimeLagAtLeast
	}
	return !w.Longer
}
