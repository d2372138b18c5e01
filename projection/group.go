package projection

import (
	"slices"
	"time"

	"github.com/offsetledger/offsetledger/ledger"
)

// group is all that is known of one consumer group.
type group struct {
	name    string
	lastSeq uint64
	topics  []*groupTopic // sorted by name
	live    int           // cells with a committed offset
	ever    bool          // it had an offset or a group record

	// line is the source partition that the group lives in, if tailed.
	line   int32
	tailed bool
	// seen is the latest time of its own records there: as far the partition was read.
	seen ledger.Time

	state   GroupState
	since   ledger.Time
	deleted ledger.Time
	members membership
	stats   Statistics
	rare    *rare // facts that few groups have; nil for the others
}

func (c *cluster) group(name string) *group {
	g := c.groups[name]
	if g == nil {
		g = &group{name: name}
		c.groups[name] = g
	}
	return g
}

// foldGroup folds an event of a group.
func (s *State) foldGroup(c *cluster, rec *ledger.Record) {
	ev := &rec.Event
	g := c.group(ev.Group)
	if ev.Source.Kind == ledger.SourceTail {
		g.line, g.tailed = ev.Source.Partition, true
	}
	if c.capture.source == 0 && ev.Source.Kind == ledger.SourcePoll {
		c.capture.source = ledger.SourcePoll
	}
	if ev.Source.Kind == ledger.SourceTail { // as of cursors, whatever moment is asked for
		g.seen = ledger.MaxTime(g.seen, ev.Time)
	}
	switch ev.Kind {
	case ledger.KindCommitted, ledger.KindReset, ledger.KindDeleted:
		s.foldRows(c, g, rec)
		return
	}
	if s.later(rec, ledger.Time{}) {
		return
	}
	g.lastSeq = rec.Seq
	switch ev.Kind {
	case ledger.KindUpdated:
		g.rarities().managed = true
	case ledger.KindFailed:
		g.ever = true
		g.stats.Commits++
		g.stats.Failures++
	case ledger.KindIntent:
		g.openIntent(ev)
	case ledger.KindClaim:
		if ev.Claim != nil {
			g.rarities().managed = true
			g.rare.claimed = ev.Claim.Instance
		}
	case ledger.KindCheckpoint:
		if ev.Checkpoint != nil {
			r := g.rarities()
			if r.checkpoints == nil {
				r.checkpoints = map[string]uint64{}
			}
			r.checkpoints[ev.Checkpoint.Name] = rec.Seq
		}
	case ledger.KindGroup:
		g.foldMembership(c, ev)
	}
}

// enter notes that the group is in a state, since at if it was in another one before.
func (g *group) enter(state GroupState, at ledger.Time) {
	if g.state == state {
		return
	}
	g.state, g.since = state, at
	g.deleted = ledger.Time{}
	if state == GroupStateDeleted {
		g.deleted = at
	}
}

// settle keeps the state of a group without a group record in step with its offsets: it is
// there as long as it has some. Groups that assign their partitions themselves leave nothing
// but the tombstones of their offsets when they are deleted.
func (g *group) settle(at ledger.Time) {
	if g.members.recorded {
		return
	}
	switch {
	case g.live > 0:
		g.enter(GroupStateEmpty, at)
	case g.ever:
		g.enter(GroupStateDeleted, at)
	}
}

// count notes a commit that was folded in the statistics.
func (g *group) count(ev *ledger.Event, rows int) {
	st := &g.stats
	st.Commits++
	st.Successes++
	if took, ok := ev.Time.Sub(ev.NotBefore); ok && ev.Source.Kind == ledger.SourceManager && took >= 0 {
		st.timed++
		st.duration += min(took, time.Hour) // a clock set back must not drown the others
	}
	st.OffsetsCommitted += uint64(rows)
	st.LastCommit = ev.Time
}

// kind is the protocol the group runs. One that has no group record, although all records of
// its source partition were read, is classic too: so brokers list groups without members.
func (g *group) kind(c *cluster) ledger.GroupType {
	if g.members.typ == ledger.GroupTypeUnknown && g.tailed && c.capture.caughtUp(g.line) {
		return ledger.GroupTypeClassic
	}
	return g.members.typ
}

func (g *group) read(c *cluster) Group {
	out := Group{
		Cluster: c.name, Name: g.name, Type: g.kind(c), State: g.state, Since: g.since, DeletedAt: g.deleted,
		Generation: g.members.generation, ProtocolType: g.members.protocolType, Simple: !g.members.recorded,
		Offsets: g.live, LastSeq: g.lastSeq, Statistics: g.stats, Members: slices.Clone(g.members.list()),
	}
	for _, t := range g.topics {
		out.Topics = append(out.Topics, t.name)
	}
	return out
}

func (st *Statistics) movement(m Movement) {
	switch m {
	case MovementRewind:
		st.Rewinds++
	case MovementJump:
		st.Jumps++
	}
}
