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
	count, rows := 0, 0
	for _, o := range m.w.backlog {
		if o.event.Kind != ledger.KindUpdated { // those are in the budget of updates
			count, rows = count+1, rows+len(o.event.Offsets)
		}
	}
	if count < maxBacklog && rows < maxBacklogRows {
		return
	}
	g := &m.w.gap
	if !g.open {
		g.open, g.from = true, m.w.backlog[0].event.Time
	}
	var kept, commits []*outgoing
	for _, o := range m.w.backlog {
		switch o.event.Kind {
		case ledger.KindUpdated:
			kept = append(kept, o)
		case ledger.KindCommitted:
			commits = append(commits, o)
		default:
			g.commits++ // one that failed
		}
	}
	if n := len(commits); n > 0 {
		g.commits += int64(n) - 1
		kept = append(kept, merge(commits))
	}
	m.w.backlog = kept
}

// merge returns the last of some commits, with the last row of each partition of all of them.
func merge(commits []*outgoing) *outgoing {
	last := commits[len(commits)-1]
	index := map[ledger.TopicPartition]int{}
	var rows []ledger.Offset
	for _, o := range commits {
		for _, r := range o.event.Offsets {
			r.SourceOffset = last.event.Source.Offset
			tp := ledger.TopicPartition{Topic: r.Topic, Partition: r.Partition}
			if i, ok := index[tp]; ok {
				rows[i] = r
				continue
			}
			index[tp] = len(rows)
			rows = append(rows, r)
		}
	}
	last.event.Offsets = rows
	return last
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
	o.event.Reason = fmt.Sprintf("%s and %s were not recorded", ledger.Count(lost-g.lost, "update"), ledger.Count(g.commits, "commit"))
	o.event.Gap = &ledger.Gap{OfGroup: true, From: ledger.MinTime(from, o.event.Time), To: o.event.Time}
	*g = gap{lost: lost}
	return m.write(ctx, o)
}
