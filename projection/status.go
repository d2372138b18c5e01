package projection

import (
	"time"

	"github.com/offsetledger/offsetledger/ledger"
)

// Status is how a group or a partition is doing.
type Status uint8

// The statuses, by how much they ask for attention; see [PartitionStatus] for the rules.
const (
	StatusEmpty   Status = iota // a group without members and without anything left to read
	StatusOK                    // nothing is left to read, or reading goes on
	StatusUnknown               // the records do not tell
	StatusLagging               // reading goes on, but far behind
	StatusStalled               // commits go on, or members are there, but the offset stands still
	StatusStopped               // something is left to read, and nobody commits any more
)

var statusNames = [...]string{"empty", "ok", "unknown", "lagging", "stalled", "stopped"}

// String is the word that users see.
func (s Status) String() string { return statusNames[s] }

// StatusRules are the limits of the rules. The zero value is the default.
type StatusRules struct {
	Window  time.Duration // without commit or progress, after which a group stopped or stalled; 0 is 5 minutes
	Lagging int64         // lag from which a partition is lagging; 0 is 10,000
}

func (r StatusRules) defaults() StatusRules {
	if r.Window <= 0 {
		r.Window = 5 * time.Minute
	}
	if r.Lagging <= 0 {
		r.Lagging = 10_000
	}
	return r
}

// PartitionStatus says how one partition is doing at the moment now. The first rule that
// holds decides:
//
//   - unknown: the lag is not known;
//   - ok: nothing is left to read;
//   - ok: all that is left waits for an open transaction, which is no fault of the group;
//   - stopped: no commit within the window;
//   - stalled: no progress within the window, though there are commits. A lag of one is
//     excused: some clients commit the last offset read instead of the next;
//   - lagging: the lag has reached the limit;
//   - ok.
func PartitionStatus(p *Partition, lag Lag, now ledger.Time, rules StatusRules) Status {
	rules = rules.defaults()
	switch {
	case !lag.Known:
		return StatusUnknown
	case lag.Records == 0, lag.Readable == 0:
		return StatusOK
	case longer(p.Effective, now, rules.Window):
		return StatusStopped
	case lag.Records > 1 && longer(p.Moved, now, rules.Window):
		return StatusStalled
	case lag.Records >= rules.Lagging:
		return StatusLagging
	}
	return StatusOK
}

func longer(since, now ledger.Time, window time.Duration) bool {
	d, ok := now.Sub(since)
	return ok && d > window
}

// GroupStatus says how a group is doing: the worst of its partitions, with these exceptions.
// A deleted group is empty, and so is one without members that has nothing left to read. A
// group with members but no offset is unknown. Partitions that the members do not read any
// more, because others are assigned to them and these are not, do not count. If some
// partitions have stopped while the group still commits others, it is stalled.
func GroupStatus(g *Group, parts []Partition, lags []Lag, now ledger.Time, rules StatusRules) Status {
	rules = rules.defaults()
	if g.State == GroupStateDeleted {
		return StatusEmpty
	}
	assigned := false
	for i := range parts {
		assigned = assigned || parts[i].Assigned
	}
	worst, alive, left := StatusEmpty, false, false
	for i := range parts {
		p := &parts[i]
		if !p.Committed.Exists {
			continue
		}
		alive = alive || !longer(p.Effective, now, rules.Window)
		if assigned && !p.Assigned {
			continue
		}
		left = left || !lags[i].Known || lags[i].Records > 0
		worst = max(worst, PartitionStatus(p, lags[i], now, rules))
	}
	switch {
	case worst == StatusEmpty && len(g.Members) > 0:
		return StatusUnknown
	case worst == StatusStopped && alive:
		return StatusStalled
	case len(g.Members) == 0 && !left:
		return StatusEmpty
	}
	return worst
}

// Status says how a group is doing at the moment now; see [GroupStatus]. It is unknown for a
// group that was never seen.
func (s *State) Status(cluster, name string, now ledger.Time, rules StatusRules) Status {
	g, ok := s.Group(cluster, name)
	if !ok {
		return StatusUnknown
	}
	parts := s.Partitions(cluster, name)
	lags := make([]Lag, len(parts))
	for i := range parts {
		lags[i] = s.Lag(cluster, &parts[i])
	}
	return GroupStatus(&g, parts, lags, now, rules)
}
