package commands

import (
	"context"
	"fmt"

	"github.com/offsetledger/offsetledger/ledger"
)

// gap is what could not be held while the ledger was away. Whoever has the turn owns it; updates
// that are lost are counted in [counters].
type gap struct {
	open    bool
	from    ledger.Time
	lost    int64 // updates that are in the gap already
	commits int64 // commits given up
}

// lose notes that updates are not recorded.
func (m *Manager) lose(n int64) {
	m.stats.lost.Add(n)
	m.stats.since.CompareAndSwap(0, m.millis())
}

// Limits of the backlog of commits that the ledger does not have.
const (
	maxBacklog     = 1000
	maxBacklogRows = 100_000
)

// boundBacklog makes one commit of the commits that wait, once they are too many: of each
// partition the last one stays, and those before it are in a gap.
func (m *Manager) boundBacklog() {
	rows := 0
	for _, o := range m.w.backlog {
		rows += len(o.event.Offsets)
	}
	if len(m.w.backlog) < maxBacklog && rows < maxBacklogRows {
		return
	}
	if !m.w.gap.open {
		m.w.gap.open, m.w.gap.from = true, m.w.backlog[0].event.Time
	}
	var last *outgoing
	index := map[ledger.TopicPartition]int{}
	var kept []*outgoing
	for _, o := range m.w.backlog {
		if o.event.Kind != ledger.KindCommitted {
			if o.event.Kind == ledger.KindUpdated {
				kept = append(kept, o)
			} else {
				m.w.gap.commits++
			}
			continue
		}
		m.w.gap.commits++
		if last == nil {
			merged := *o
			merged.event.Offsets = nil
			last = &merged
		}
		last.cost += o.cost
		last.event.ID, last.event.Time, last.event.NotBefore, last.event.Source = o.event.ID, o.event.Time, ledger.Time{}, o.event.Source
		for _, r := range o.event.Offsets {
			tp := ledger.TopicPartition{Topic: r.Topic, Partition: r.Partition}
			i, ok := index[tp]
			if !ok {
				i = len(last.event.Offsets)
				index[tp] = i
				last.event.Offsets = append(last.event.Offsets, r)
			}
			last.event.Offsets[i] = r
		}
	}
	if last != nil {
		m.w.gap.commits--
		kept = append(kept, last)
	}
	m.w.backlog = kept
}

// writeGap records that something could not be held, once the ledger is back.
func (m *Manager) writeGap(ctx context.Context) error {
	g := &m.w.gap
	lost := m.stats.lost.Load()
	if !g.open && lost == g.lost {
		return nil
	}
	o, err := m.event(ledger.KindGap)
	if err != nil {
		return err
	}
	from := g.from
	if since := m.stats.since.Swap(0); since != 0 {
		from = ledger.MinTime(from, ledger.AtMillis(since))
	}
	o.event.Cause = ledger.CauseLogAway
	o.event.Reason = fmt.Sprintf("%d updates and %d commits were not recorded", lost-g.lost, g.commits)
	o.event.Gap = &ledger.Gap{OfGroup: true, From: ledger.MinTime(from, o.event.Time), To: o.event.Time}
	*g = gap{lost: lost}
	return m.write(ctx, o)
}
