package api

import (
	"context"
	"iter"
	"slices"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/replay"
)

// event is what was asked for of one that is stored: the offsets that it moved, or a row with
// a note. It is valid until the next one: a [keeper] copies it. Most are only counted, so rows
// are made of those that are shown.
type event struct {
	seq     uint64
	kind    ledger.Kind
	changes []projection.Change
	note    *ChangeRow
	commits int // 1 if it is a commit in the time asked for, whatever else was

	source ledger.SourceKind
	twins  []projection.Twin // what it tells again, whatever was asked for
}

// size is the number of its rows.
func (e *event) size() int {
	if e.note != nil {
		return 1
	}
	return len(e.changes)
}

// rows makes its rows.
func (e *event) rows() []ChangeRow {
	if e.note != nil {
		return []ChangeRow{*e.note}
	}
	rows := make([]ChangeRow, len(e.changes))
	for i := range rows {
		rows[i] = changeRow(e.kind, &e.changes[i])
	}
	return rows
}

// selection is which events and rows of the story were asked for.
type selection struct {
	q            Query
	since, until replay.Point
	before       uint64 // only events before this sequence; 0: all

	changes []projection.Change // of the event that is being told
}

// from is where in the story begins what was asked for: the zero Point if that is with the first
// event, or not known.
func (sel *selection) from() replay.Point {
	if sel.q.From != (Position{}) {
		return replay.Point{Seq: sel.q.From.first()}
	}
	return sel.since
}

// tell picks what was asked for of an event: nothing if it does not belong to the story.
func (sel *selection) tell(step *replay.Entry) event {
	rec := step.Record
	if sel.before != 0 && rec.Seq >= sel.before || rec.Seq < sel.q.From.first() {
		return event{twins: step.State.Twins(), source: rec.Event.Source.Kind}
	}
	told := event{seq: rec.Seq, kind: rec.Event.Kind, twins: step.State.Twins(), source: rec.Event.Source.Kind}
	if len(step.Changes) == 0 {
		if row, ok := sel.noteOf(step); ok {
			told.note = &row
		}
		return told
	}
	sel.changes = sel.changes[:0]
	for i := range step.Changes {
		ch := &step.Changes[i]
		if sel.q.From.passed(rec.Seq, ch.Row) || !sel.inTime(rec.Seq, ch.Time) {
			continue
		}
		if rec.Event.Kind == ledger.KindCommitted {
			told.commits = 1
		}
		if sel.wants(&ch.Topic, &ch.Partition, ch.Movement) {
			sel.changes = append(sel.changes, *ch)
		}
	}
	told.changes = sel.changes
	return told
}

// noteOf is the row of an event that moved nothing.
func (sel *selection) noteOf(step *replay.Entry) (ChangeRow, bool) {
	ev := &step.Record.Event
	var topic *string
	if ev.Kind == ledger.KindTopic {
		topic = &ev.Topic
	}
	seq := step.Record.Seq
	if sel.q.From.passed(seq, 0) || !sel.inTime(seq, ev.Time) || !sel.wants(topic, nil, projection.MovementNone) {
		return ChangeRow{}, false
	}
	note := otherNote(ev)
	switch {
	case ev.Kind == ledger.KindGroup:
		after, _ := step.State.Group(ev.Cluster, ev.Group)
		note = membersNote(step.Before, after)
	case ev.Kind == ledger.KindTopic && sel.q.Group != nil:
		if g, _ := step.State.Group(ev.Cluster, *sel.q.Group); !slices.Contains(g.Topics, ev.Topic) {
			note = ""
		}
	}
	if note == "" {
		return ChangeRow{}, false
	}
	return noteRow(step.Record, note), true
}

func (sel *selection) inTime(seq uint64, t ledger.Time) bool {
	switch {
	case seq < sel.since.Seq, sel.until.Seq != 0 && seq > sel.until.Seq:
		return false
	case sel.since.Time.Known() && t.Before(sel.since.Time):
		return false
	}
	return !sel.until.Time.Known() || !t.After(sel.until.Time)
}

// wants reports whether a movement was asked for; topic and partition are nil if it has none.
func (sel *selection) wants(topic *string, partition *int32, m projection.Movement) bool {
	q := &sel.q
	if len(q.Topics) > 0 && (topic == nil || !slices.Contains(q.Topics, *topic)) ||
		len(q.Partitions) > 0 && (partition == nil || !slices.Contains(q.Partitions, *partition)) {
		return false
	}
	return (len(q.Movements) == 0 || slices.Contains(q.Movements, m)) && !slices.Contains(q.Not, m)
}

// narrator tells the story of a selection. What comes before the selection is folded too,
// since what an event did depends on it. An event of which nothing was asked for is told
// without rows.
type narrator struct {
	log       Log
	sel       *selection
	scope     replay.Scope
	snapshots *replay.Snapshots
	history   *replay.History // as far as it was told
	approvals *replay.Approvals
}

func (s *server) narrator(sel *selection, cluster string) *narrator {
	sc := scope(cluster, sel.q.Group)
	return &narrator{
		log: s.Log, sel: sel, scope: sc, snapshots: s.Snapshots, history: replay.NewHistory(sc), approvals: replay.NewApprovals(s.Log, cluster),
	}
}

// rows makes the rows of an event, with who agreed to the plan that they are of.
func (n *narrator) rows(ctx context.Context, e *event) ([]ChangeRow, error) {
	rows := e.rows()
	for i := range rows {
		row := &rows[i]
		if row.Plan == nil {
			continue
		}
		var actor string
		if row.Actor != nil {
			actor = string(*row.Actor)
		}
		by, _, err := n.approvals.Through(ctx, *row.Plan, actor, row.Seq, row.Time.Time)
		if err != nil {
			return nil, err
		}
		row.ApprovedBy = said(by)
	}
	return rows, nil
}

// stored tells what is stored up to sequence to. It begins with the first event, or with a snapshot
// behind which all that was asked for stands: the rows and their counts are the same. Only here both sources of a commit that was told
// twice are known: what comes live is told at once.
func (n *narrator) stored(ctx context.Context, to uint64) iter.Seq2[event, error] {
	if to == 0 {
		return func(func(event, error) bool) {}
	}
	return func(yield func(event, error) bool) {
		history, entries, err := n.snapshots.HistoryFrom(ctx, n.log, n.scope, n.sel.from(), to)
		if err != nil {
			yield(event{}, err)
			return
		}
		n.history = history
		together(n.tell(entries))(yield)
	}
}

// live goes on from sequence from, where stored has ended, with what comes until ctx ends.
func (n *narrator) live(ctx context.Context, from uint64) iter.Seq2[event, error] {
	return n.tell(n.history.Tell(n.log.Follow(ctx, from, n.history.Filter())))
}

func (n *narrator) tell(entries iter.Seq2[replay.Entry, error]) iter.Seq2[event, error] {
	return func(yield func(event, error) bool) {
		for step, err := range entries {
			if err != nil {
				yield(event{}, err)
				return
			}
			if !yield(n.sel.tell(&step), nil) {
				return
			}
		}
	}
}
