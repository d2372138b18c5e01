package projection

import (
	"slices"

	"github.com/google/uuid"

	"github.com/offsetledger/offsetledger/ledger"
)

// folding is the fold of the rows of one event.
type folding struct {
	s   *State
	c   *cluster
	g   *group
	rec *ledger.Record
	ev  *ledger.Event

	base          Change      // what all Changes of the event have in common
	t             *groupTopic // of the row before
	next          int         // index in t.cells after that of the row before
	rows          int         // folded so far
	shifted       int         // cells that new ones moved aside, see crowded
	plain         bool        // a commit that nothing else explains
	rare          bool        // the group has rare facts
	transactional bool
	source        ledger.SourceKind
	// notBefore is that of a polled or re-read event. Who tells what it did itself means
	// another thing by it: when it began.
	notBefore ledger.Time
	by        *Who // who did it, if the source says so for all rows

	outsider, bareOutsider *Who // who did it, if nothing names a member
	metadata               string
	awaited                bool // the row is told by another source too, later
	metadataWho            *Who // the member that metadata names, or nil
}

// foldRows folds a committed, reset or deleted event.
func (s *State) foldRows(c *cluster, g *group, rec *ledger.Record) {
	ev := &rec.Event
	if ev.Plan != "" && !s.later(rec, ledger.Time{}) && g.behindTail(c, ev) {
		g.lastSeq = rec.Seq
		return
	}
	f := &s.rows // not made anew for every event
	*f = folding{s: s, c: c, g: g, rec: rec, ev: ev}
	if !told(ev.Source.Kind) {
		f.notBefore = ev.NotBefore
	}
	f.base = Change{
		Seq: rec.Seq, Cluster: c.name, Group: ev.Group, NotBefore: f.notBefore, Source: ev.Source,
		Actor: ev.Actor, ActorVerified: ev.ActorVerified, Reason: ev.Reason, Plan: ev.Plan,
		Cause: ev.Cause, CauseInferred: ev.CauseInferred,
	}
	f.plain = ev.Kind == ledger.KindCommitted && ev.Cause == 0
	f.transactional, f.source = ev.Source.Transactional, ev.Source.Kind
	f.prepareWho()
	if ev.Source.Kind == ledger.SourceManager && c.capture.source == ledger.SourceTail {
		g.rarities().managed = true
	}
	f.rare = g.rare != nil
	switch {
	case ev.Kind == ledger.KindDeleted:
		for i := range ev.Offsets {
			f.remove(i)
		}
	case ev.Source.Transactional:
		// Of two rows of one key only the later one applies, and it has the higher position:
		// going backwards, the earlier one finds itself overtaken.
		for i := len(ev.Offsets) - 1; i >= 0; i-- {
			f.commit(i)
		}
		slices.Reverse(s.changes)
	default:
		easy := f.easy()
		for i := 0; i < len(ev.Offsets); i++ {
			f.commit(i)
			if easy {
				i += f.advance(ev.Offsets[i+1:])
			}
		}
	}
	if f.rows == 0 {
		return
	}
	if ev.Kind == ledger.KindCommitted && ev.Source.Kind != ledger.SourceReconcile {
		g.count(ev, f.rows)
	}
	g.settle(ev.Time)
}

// cell returns the cell of row i, which its first row makes.
func (f *folding) cell(i int) *cell {
	r := &f.ev.Offsets[i]
	if f.t == nil || f.t.name != r.Topic {
		f.t, f.next = f.g.makeTopic(r.Topic), 0
	}
	t, at := f.t, f.next
	if at >= len(t.cells) || t.cells[at].partition != r.Partition {
		var ok bool
		if at, ok = t.find(r.Partition); !ok {
			f.next = at + 1
			return f.newCell(i, at)
		}
	}
	f.next = at + 1
	return &t.cells[at]
}

func (f *folding) newCell(i, at int) *cell {
	r := &f.ev.Offsets[i]
	if f.crowded(at) {
		f.makeRoom(i)
		f.g.ever = true
		at, _ = f.t.find(r.Partition)
		f.next = at + 1
		return &f.t.cells[at]
	}
	more := 0
	if len(f.t.cells) == cap(f.t.cells) { // else there is room, and to count for every row is quadratic
		for k := i + 1; k < len(f.ev.Offsets) && f.ev.Offsets[k].Topic == r.Topic; k++ {
			more++
		}
	}
	cl := f.t.insert(at, r.Partition, more)
	cl.topicID = f.t.idIndex(r.TopicID)
	cl.owner = f.g.ownerOf(f.c, f.t, r.Partition)
	f.g.ever = true
	return cl
}

// effective is the moment of a row.
func (f *folding) effective(r *ledger.Offset) ledger.Time {
	if r.Effective.Known() {
		return r.Effective
	}
	return f.ev.Time
}

// commit folds row i as a committed offset.
func (f *folding) commit(i int) {
	r := &f.ev.Offsets[i]
	at := f.effective(r)
	if f.s.limited && f.s.later(f.rec, at) {
		f.passOver(r, at)
		return
	}
	f.g.lastSeq = f.rec.Seq
	if r.Flags&ledger.FlagReplaced != 0 {
		return // a later row of the transaction stands in this event or in one that follows
	}
	cl := f.cell(i)
	if f.transactional && r.SourceOffset <= cl.position {
		return // overtaken: no client ever read it
	}
	if f.rare && f.g.rare.managed && f.twin(r, cl) {
		return
	}
	f.rows++
	before := cl.visible()
	who := f.who(r, cl)
	var step *intent
	if step = f.step(r, at); step != nil {
		who = f.s.teller(WhoOperator, "")
	}
	var lost Value
	if !before.Exists && cl.has(flagHad) {
		lost = Value{At: cl.at, Exists: true}
	}
	var movement Movement
	var evidence string
	if f.plain && step == nil && cl.flags&^flagFast == flagExists|flagHad && r.At > cl.at && cl.at >= 0 &&
		f.t.ids[cl.topicID] == r.TopicID {
		movement, evidence = f.forward(cl, r, at, who) // as nearly all rows are
	} else {
		movement, evidence = f.judge(cl, r, at, who, step != nil)
	}
	f.set(cl, r, at)
	if movement.Notable() {
		f.g.stats.movement(movement)
	} else if f.s.quiet {
		return
	}
	ch := f.report(i, r, at)
	ch.TopicID, ch.Metadata, ch.CommitTime = r.TopicID, r.Metadata, r.CommitTime
	ch.From, ch.To = before, Value{At: r.At, Exists: true}
	if movement == MovementAfterLoss {
		ch.Lost = lost
	}
	ch.Movement, ch.Evidence, ch.Who, ch.Twin = movement, evidence, who, f.awaited
	if step != nil {
		step.explain(ch)
	}
}

// set makes row r the cell's value.
func (f *folding) set(cl *cell, r *ledger.Offset, at ledger.Time) {
	if !cl.has(flagExists) {
		f.g.live++
		cl.still = 0
	} else if cl.at != r.At {
		cl.still = 0
	} else {
		cl.stay(at)
	}
	if id := f.t.idIndex(r.TopicID); id == 0 || id != cl.topicID {
		cl.flags &^= flagOldTopic
		cl.topicID = id
	}
	cl.flags = cl.flags&(flagOldTopic|flagFast) | flagExists | flagHad
	if f.source == ledger.SourceTail {
		cl.position = r.SourceOffset
	}
	cl.at, cl.seq, cl.commit, cl.effective = r.At, f.rec.Seq, r.CommitTime, at
	cl.metadata, cl.epoch = r.Metadata, r.LeaderEpoch
	cl.source, cl.cause = uint8(f.source), 0
	if f.rare || r.ExpireTime.Known() || f.notBefore.Known() {
		f.g.noteRare(r, f.notBefore)
	}
}

// remove folds row i as a tombstone.
func (f *folding) remove(i int) {
	r := &f.ev.Offsets[i]
	at := f.effective(r)
	if f.s.limited && f.s.later(f.rec, at) {
		f.passOver(r, at)
		return
	}
	f.g.lastSeq = f.rec.Seq
	cl := f.cell(i)
	if f.ev.Source.Kind == ledger.SourceTail {
		cl.position = r.SourceOffset // kept, so that it also outranks rows that still wait for their transaction
	}
	cl.flags &^= flagUnreadable
	step, cause, inferred := f.step(r, at), f.ev.Cause, f.ev.CauseInferred
	if step != nil {
		cause, inferred = ledger.CauseDeleted, false // whatever it looked like
	}
	if !cl.has(flagExists) {
		if !cl.has(flagGone) {
			cl.seq, cl.effective, cl.still = f.rec.Seq, at, 0
			cl.cause, cl.source = uint8(cause), uint8(f.ev.Source.Kind)
		}
		cl.flags |= flagGone
		f.rows++
		return // nothing that a client could read went away
	}
	movement := MovementDeleted
	switch {
	case cl.has(flagTruncated) && f.ev.Source.Kind == ledger.SourceReconcile, cause == ledger.CauseTruncated:
		movement = MovementRolledBack
	case cause == ledger.CauseExpired:
		movement = MovementExpired
	}
	f.rows++
	before, id := cl.visible(), f.t.ids[cl.topicID]
	f.g.live--
	cl.flags = cl.flags&^(flagExists|flagTruncated|flagInferred) | flagGone
	if inferred {
		cl.flags |= flagInferred
	}
	cl.seq, cl.commit, cl.effective, cl.still = f.rec.Seq, r.CommitTime, at, 0
	cl.source, cl.cause = uint8(f.ev.Source.Kind), uint8(cause)
	if f.g.rare != nil || f.notBefore.Known() {
		f.g.noteRare(r, f.notBefore)
	}
	ch := f.report(i, r, at)
	ch.TopicID, ch.Metadata, ch.CommitTime = id, "", r.CommitTime
	ch.From, ch.To = before, Value{}
	ch.Movement, ch.Evidence, ch.Who = movement, "", f.whoRemoved()
	if step != nil {
		ch.Who, ch.Cause, ch.CauseInferred = f.s.teller(WhoOperator, ""), cause, inferred
		step.explain(ch)
	}
}

// report appends a Change with what is the same for all movements.
func (f *folding) report(i int, r *ledger.Offset, at ledger.Time) *Change {
	n := len(f.s.changes)
	if n < cap(f.s.changes) {
		f.s.changes = f.s.changes[:n+1]
	} else {
		f.s.changes = append(f.s.changes, Change{})
	}
	ch := &f.s.changes[n]
	*ch = f.base
	ch.Row, ch.Time, ch.Topic, ch.Partition = i, at, r.Topic, r.Partition
	return ch
}

// otherTopic reports whether row r and the cell's value belong to two topics of one name.
func (f *folding) otherTopic(cl *cell, r *ledger.Offset) bool {
	if !cl.has(flagHad) {
		return false
	}
	old := f.t.ids[cl.topicID]
	if old == uuid.Nil || r.TopicID == uuid.Nil {
		return cl.has(flagOldTopic)
	}
	return old != r.TopicID
}
