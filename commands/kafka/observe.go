package kafka

import (
	"context"
	"time"

	"github.com/offsetledger/offsetledger/ledger"
)

// endsEvery is the time between two questions for the ends of the source partitions. Without
// them a line that nothing is written to could not be told from one that nothing arrives of.
const endsEvery = time.Second

// observation is what one round of questions to the brokers brought.
type observation struct {
	asked ledger.Time
	ends  map[int32]int64
	tick  bool // time for watermarks and a complete cursor
	err   error
}

// observe asks the brokers, at intervals, what reading cannot tell. It never holds up the
// reading of records.
func (t *Tail) observe(ctx context.Context) error {
	every := min(endsEvery, t.cfg.Interval)
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	lastTick := time.Now()
	for {
		o := t.ask(ctx)
		if o.err == nil && time.Since(lastTick) >= t.cfg.Interval {
			lastTick, o.tick = time.Now(), true
		}
		select {
		case t.observed <- o:
		case <-ctx.Done():
			return ctx.Err()
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (t *Tail) ask(ctx context.Context) observation {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	o := observation{asked: ledger.AtTime(t.cfg.Clock())}
	o.ends, o.err = t.list(ctx, t.admin.ListEndOffsets)
	return o
}

// takeObservation takes what the observing goroutine brought into the lines.
func (t *Tail) takeObservation(ctx context.Context, o observation) error {
	if o.err != nil {
		t.board.update(func(s *Status) { s.KafkaError = o.err })
		return nil
	}
	if t.lastFault == nil || time.Since(t.faultAt) > faultMemory {
		t.lastFault = nil
		t.board.update(func(s *Status) { s.KafkaError = nil })
	}
	for p, end := range o.ends {
		if l := t.lines[p]; l != nil {
			l.observeEnd(end, o.asked)
			continue
		}
		t.openLines(map[int32]int64{p: 0}, o.ends)
	}
	return t.send(ctx, o.tick)
}
