package api

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/replay"
)

// storyFilter selects what tells the story of one group, or of all groups of a cluster: the
// records of groups, topics and capture, and not the watermarks, which are most of the log.
func storyFilter(cluster string, group *string) ledger.Filter {
	root := strings.TrimSuffix(ledger.ClusterSubjects(cluster), ">")
	groups := root + "g.>"
	if group != nil {
		groups = ledger.GroupSubjects(cluster, *group)
	}
	return ledger.Filter{Subjects: []string{groups, root + "t.>", root + "c.>", root + "s.>"}}
}

// event is what one record did: one row for every offset that it moved, or one with a note.
type event struct {
	seq     uint64
	rows    []ChangeRow
	commits int // 1 if it is a commit, whatever its rows
}

// teller folds records and tells what each did.
type teller struct {
	state *projection.State
	group *string // nil: all
}

// tell folds the record. It has no rows if the record does not belong to the story.
func (t *teller) tell(rec *ledger.Record) (event, error) {
	ev := &rec.Event
	var before projection.Group
	if ev.Kind == ledger.KindGroup {
		before, _ = t.state.Group(ev.Cluster, ev.Group)
	}
	t.state.Skip(rec.Seq - 1)
	changes, err := t.state.Apply(*rec)
	if err != nil {
		return event{}, err
	}
	told := event{seq: rec.Seq}
	if ev.Kind == ledger.KindCommitted && len(changes) > 0 {
		told.commits = 1
	}
	for i := range changes {
		told.rows = append(told.rows, changeRow(rec, &changes[i]))
	}
	if len(changes) == 0 {
		if note := t.note(ev, before); note != "" {
			told.rows = []ChangeRow{noteRow(rec, note)}
		}
	}
	return told, nil
}

func (t *teller) note(ev *ledger.Event, before projection.Group) string {
	switch {
	case ev.Kind == ledger.KindGroup:
		after, _ := t.state.Group(ev.Cluster, ev.Group)
		return membersNote(before, after)
	case ev.Kind == ledger.KindTopic && t.group != nil:
		g, _ := t.state.Group(ev.Cluster, *t.group)
		if !slices.Contains(g.Topics, ev.Topic) {
			return ""
		}
	}
	return otherNote(ev)
}

// selection is which events and rows of the story were asked for.
type selection struct {
	q            Query
	since, until replay.Point
	before       uint64 // only events before this sequence; 0: all
}

// pick leaves of an event what was asked for.
func (sel *selection) pick(e event) event {
	if sel.before != 0 && e.seq >= sel.before || e.seq < sel.q.From.first() {
		return event{}
	}
	inTime := false
	e.rows = slices.DeleteFunc(e.rows, func(r ChangeRow) bool {
		if sel.q.From.passed(e.seq, r.Row) || !sel.inTime(e.seq, r.Time.Time) {
			return true
		}
		inTime = true
		return !sel.wants(&r)
	})
	if !inTime {
		e.commits = 0
	}
	return e
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

func (sel *selection) wants(r *ChangeRow) bool {
	if len(sel.q.Topics) > 0 && (r.Topic == nil || !slices.Contains(sel.q.Topics, string(*r.Topic))) {
		return false
	}
	if len(sel.q.Partitions) > 0 && (r.Partition == nil || !slices.Contains(sel.q.Partitions, *r.Partition)) {
		return false
	}
	m, _ := projection.ParseMovement(r.Movement)
	if len(sel.q.Movements) > 0 && !slices.Contains(sel.q.Movements, m) {
		return false
	}
	return !slices.Contains(sel.q.Not, m)
}

// narrator tells the story of a selection. What comes before the selection is folded too,
// since what an event did depends on it. An event of which nothing was asked for is told
// without rows.
type narrator struct {
	log    Log
	sel    *selection
	teller teller
	filter ledger.Filter
}

func (s *server) narrator(sel *selection, cluster string) *narrator {
	return &narrator{
		log: s.Log, sel: sel, filter: storyFilter(cluster, sel.q.Group),
		teller: teller{state: projection.NewState(), group: sel.q.Group},
	}
}

// stored tells what is stored up to sequence to.
func (n *narrator) stored(ctx context.Context, to uint64) iter.Seq2[event, error] {
	if to == 0 {
		return func(func(event, error) bool) {}
	}
	return n.tell(n.log.Read(ctx, 1, to, n.filter))
}

// live goes on from sequence from, where stored has ended, with what comes until ctx ends.
func (n *narrator) live(ctx context.Context, from uint64) iter.Seq2[event, error] {
	return n.tell(n.log.Follow(ctx, from, n.filter))
}

func (n *narrator) tell(records iter.Seq2[ledger.Record, error]) iter.Seq2[event, error] {
	return func(yield func(event, error) bool) {
		for rec, err := range records {
			if err != nil {
				yield(event{}, err)
				return
			}
			told, err := n.teller.tell(&rec)
			if !yield(n.sel.pick(told), err) || err != nil {
				return
			}
		}
	}
}
