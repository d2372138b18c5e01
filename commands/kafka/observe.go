package kafka

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/offsetledger/offsetledger/ledger"
)

// endsEvery is the time between two questions for the ends of the source partitions. Without
// them a line that nothing is written to could not be told from one that nothing arrives of.
const endsEvery = time.Second

// observation is what one round of questions to the brokers brought: ends of the source
// partitions, or the events of a tick.
type observation struct {
	err error

	asked   ledger.Time
	ends    map[int32]int64
	barren  map[int32]barren
	topicID uuid.UUID

	tick   bool // time for a complete cursor
	events []ledger.Event
	// taken is closed once the events of a tick are on their way to the log, or dropped.
	taken chan struct{}
}

// observeEnds asks, at short intervals, where the source partitions end. It never holds up the
// reading of records, and tells first when Kafka is away.
func (t *Tail) observeEnds(ctx context.Context) error {
	return t.every(ctx, min(endsEvery, t.cfg.Interval), func() observation {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		o := observation{asked: ledger.AtTime(t.cfg.Clock())}
		topics, err := describeTopics(ctx, t.client, []string{offsetsTopic})
		if err != nil {
			o.err = fmt.Errorf("ask for %s: %w", offsetsTopic, err)
			return o
		}
		o.topicID = topics[offsetsTopic].id
		if o.ends, o.err = t.list(ctx, t.admin.ListEndOffsets); o.err != nil {
			return o
		}
		if still := t.still.Swap(nil); still != nil {
			o.barren = beyond(ctx, t.client, *still)
		}
		return o
	})
}

// retainEvery is after how many observations of watermarks the fold is asked which partitions
// groups still have offsets in.
const retainEvery = 30

// observeWatermarks asks, at the interval of the configuration, how far the logs of the
// groups' topics reach. What it could not learn is asked again the next time.
func (t *Tail) observeWatermarks(ctx context.Context) error {
	told, n := "", 0
	return t.every(ctx, t.cfg.Interval, func() observation {
		if n++; n%retainEvery == 0 && t.cfg.Facts != nil {
			t.watermarks.Retain(t.cfg.Facts.Committed())
		}
		o := observation{tick: true, taken: make(chan struct{})}
		asked := t.cfg.Clock()
		events, err := t.watermarks.Observe(ctx, asked)
		o.events = late(events, ledger.AtTime(asked), ledger.AtTime(t.cfg.Clock()))
		problem := ""
		if err != nil && ctx.Err() == nil {
			problem = err.Error()
		}
		if problem != "" && problem != told {
			t.cfg.Logger.Warn("watermarks are not all known", "cluster", t.cfg.Cluster, "err", err)
		}
		told = problem
		return o
	})
}

// late gives events that were long in coming the time of the answer: what was said to be
// complete up to a moment in between does not change any more.
func late(events []ledger.Event, asked, answered ledger.Time) []ledger.Event {
	if !answered.After(asked.Add(finality / 2)) {
		return events
	}
	for i := range events {
		events[i].Time = answered
		if events[i].Kind == ledger.KindWatermarks {
			events[i].NotBefore = asked
		}
	}
	return events
}

// every gives what ask returns to the reading goroutine, at intervals and once at the start.
// While that has a tick in hand nothing is asked.
func (t *Tail) every(ctx context.Context, interval time.Duration, ask func() observation) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		o := ask()
		select {
		case t.observed <- o:
		case <-ctx.Done():
			return ctx.Err()
		}
		if o.taken != nil {
			select {
			case <-o.taken:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// takeObservation takes what an observing goroutine brought.
func (t *Tail) takeObservation(ctx context.Context, o observation) error {
	switch {
	case o.err != nil:
		t.board.fault(o.err)
		return nil
	case o.tick:
		defer close(o.taken)
		return t.takeTick(ctx, o.events)
	}
	if t.lastFault == nil || time.Since(t.faultAt) > faultMemory {
		t.lastFault = nil
		t.board.fault(nil)
	}
	if o.topicID != uuid.Nil && o.topicID != t.topicID {
		if err := t.recreated(ctx, o.topicID); err != nil {
			return err
		}
	}
	now := ledger.AtTime(t.cfg.Clock())
	for p, end := range o.ends {
		if l := t.lines[p]; l != nil {
			if b, ok := o.barren[p]; ok {
				l.pass(b, now)
			}
			l.observeEnd(end, o.asked)
			continue
		}
		t.openLines(map[int32]int64{p: 0}, o.ends) // it is new, and we have watched from before
	}
	if still := t.standing(o.ends); len(still) > 0 {
		t.still.Store(&still)
	}
	t.fresh = true
	return nil
}

// takeTick stores what a tick brought, and a cursor that tells of every line: that reading up
// to a moment can end, and that a second capture of the cluster is found out.
func (t *Tail) takeTick(ctx context.Context, events []ledger.Event) error {
	if len(t.lines) == 0 {
		// Nobody commits, and without a line there is no cursor to store events with. Once
		// there is one, all that these events say is said again.
		t.watermarks.Reset()
		return nil
	}
	for _, e := range events {
		if err := t.add(ctx, e); err != nil {
			return err
		}
	}
	t.complete = true
	return nil
}
