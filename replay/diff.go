package replay

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// Moves sums up how offsets were moved, in offsets. A sum beyond the largest int64 stops there.
type Moves struct {
	Advanced int64 // forward, as reading does
	Replayed int64 // back over: to be read again
	Skipped  int64 // forward over without reading
	// Uncounted is how many rows moved between offsets that cannot be compared: of another topic
	// of the same name, negative ones, and after a loss beyond what was lost.
	Uncounted int
	// Did has a bit for every Movement there was, see [Moves.Movements].
	Did uint32
}

// Movements are the kinds of movement there were, in the order in which they are declared.
func (m *Moves) Movements() []projection.Movement {
	var out []projection.Movement
	for k := projection.MovementAdvance; k <= projection.MovementRecreated; k++ {
		if m.Did&(1<<k) != 0 {
			out = append(out, k)
		}
	}
	return out
}

// add counts one Change.
func (m *Moves) add(ch *projection.Change) {
	m.Did |= 1 << ch.Movement
	from, to := ch.From, ch.To
	if ch.Movement == projection.MovementAfterLoss {
		from = ch.Lost
	}
	switch {
	case !from.Exists || !to.Exists: // it appeared or is gone, which the two states tell
	case from.At < 0 || to.At < 0 || ch.Movement == projection.MovementRecreated:
		m.Uncounted++
	case to.At < from.At:
		m.Replayed = sum(m.Replayed, from.At-to.At)
	case ch.Movement == projection.MovementAdvance:
		m.Advanced = sum(m.Advanced, to.At-from.At)
	case ch.Movement == projection.MovementAfterLoss && ch.Who.Kind != projection.WhoNoMember:
		m.Uncounted++ // read anew from further back, or skipped some: nobody can tell
	default:
		m.Skipped = sum(m.Skipped, to.At-from.At)
	}
}

func sum(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Between gathers, event by event, what happened between two states of one cluster. The zero
// Between is before the first event.
type Between struct {
	// Partitions has every partition told apart, which takes memory for each that was moved.
	Partitions bool

	groups    map[string]*movedGroup
	incidents *projection.Incidents
}

type movedGroup struct {
	Moves
	events     int
	partitions map[ledger.TopicPartition]*Moves
}

// Add takes in what folding an event did: those of its Changes that count. s is the state after
// it.
func (b *Between) Add(s *projection.State, rec *ledger.Record, changes []projection.Change) {
	if len(changes) == 0 {
		return
	}
	if b.groups == nil {
		b.groups, b.incidents = map[string]*movedGroup{}, projection.NewIncidents()
	}
	b.incidents.Apply(s, rec, changes)
	g := b.groups[rec.Event.Group]
	if g == nil {
		g = &movedGroup{}
		b.groups[rec.Event.Group] = g
	}
	g.events++
	for i := range changes {
		ch := &changes[i]
		g.add(ch)
		if b.Partitions {
			g.partition(ch).add(ch)
		}
	}
}

func (g *movedGroup) partition(ch *projection.Change) *Moves {
	key := ledger.TopicPartition{Topic: ch.Topic, Partition: ch.Partition}
	m := g.partitions[key]
	if m == nil {
		if g.partitions == nil {
			g.partitions = map[ledger.TopicPartition]*Moves{}
		}
		m = &Moves{}
		g.partitions[key] = m
	}
	return m
}

// GroupDiff is what became of one group from one state to a later one.
type GroupDiff struct {
	Group string
	Moves
	Partitions int // that have an offset in one of the two, or had one in between
	Appeared   int // partitions that have one only in the later
	Gone       int // partitions that have none in the later, but in the earlier or in between
	// LagFrom and LagTo are the lag in the two, of the partitions that have an offset there.
	LagFrom, LagTo projection.TotalLag
	Events         int // that moved offsets of it, or committed them again
	Incidents      []projection.Incident
	Rows           []PartitionDiff // by topic and partition; only if they were asked for
}

// PartitionDiff is what became of one partition.
type PartitionDiff struct {
	Topic     string
	Partition int32
	Moves
	From, To       projection.Value
	LagFrom, LagTo projection.Lag
}

// Moved reports whether the group did more than commit again what it had.
func (d *GroupDiff) Moved() bool {
	return d.Appeared > 0 || d.Gone > 0 || d.Did&^(1<<projection.MovementRecommit) != 0
}

// Back reports whether something of the group went back or is gone.
func (d *GroupDiff) Back() bool { return d.Replayed > 0 || d.Gone > 0 }

// Notable reports whether the group did more than read.
func (d *GroupDiff) Notable() bool {
	return d.Gone > 0 || slices.ContainsFunc(d.Movements(), projection.Movement.Notable)
}

// New reports whether the group had no offset before.
func (d *GroupDiff) New() bool { return d.Appeared > 0 && d.Appeared == d.Partitions }

// LagDelta is by how much the lag has grown. It is false unless the lag of all partitions is
// known in both states: else it would be that of different partitions.
func (d *GroupDiff) LagDelta() (int64, bool) {
	from, ok1 := d.LagFrom.Get()
	to, ok2 := d.LagTo.Get()
	return to - from, ok1 && ok2 && d.LagFrom.Unknown == 0 && d.LagTo.Unknown == 0
}

// Diff tells what became of every group of a cluster from state a to the later state b, both of
// one scope, by what happened between them. Groups that lost offsets come first, then those
// that were moved back, then those that were moved far forward, then those that read most.
func Diff(a, b *projection.State, cluster string, between *Between) []GroupDiff {
	names := map[string]bool{}
	for _, st := range []*projection.State{a, b} {
		for _, g := range st.Groups(cluster) {
			names[g.Name] = true
		}
	}
	happened := map[string][]projection.Incident{}
	if between.incidents != nil {
		for in := range between.incidents.All(cluster) {
			happened[in.Group] = append(happened[in.Group], in.Copy())
		}
	}
	out := make([]GroupDiff, 0, len(names))
	for name := range names {
		d := diffGroup(a, b, cluster, name, between)
		d.Incidents = happened[name]
		slices.Reverse(d.Incidents)
		out = append(out, d)
	}
	slices.SortFunc(out, func(x, y GroupDiff) int {
		return cmp.Or(cmp.Compare(y.Gone, x.Gone), cmp.Compare(y.Replayed, x.Replayed), cmp.Compare(y.Skipped, x.Skipped),
			cmp.Compare(y.Advanced, x.Advanced), strings.Compare(x.Group, y.Group))
	})
	return out
}

func diffGroup(a, b *projection.State, cluster, name string, between *Between) GroupDiff {
	d := GroupDiff{Group: name}
	moved := between.groups[name]
	if moved != nil {
		d.Moves, d.Events = moved.Moves, moved.events
	}
	each := func(tp ledger.TopicPartition, was, is *projection.Partition) {
		row := PartitionDiff{Topic: tp.Topic, Partition: tp.Partition, From: was.Committed, To: is.Committed}
		if row.From.Exists {
			row.LagFrom = a.Lag(cluster, was)
			d.LagFrom.Add(row.LagFrom)
		}
		if row.To.Exists {
			row.LagTo = b.Lag(cluster, is)
			d.LagTo.Add(row.LagTo)
		}
		switch {
		case row.To.Exists && !row.From.Exists:
			d.Appeared++
		case row.To.Exists:
		case row.From.Exists, is.Before.Exists && is.Seq != was.Seq: // the latter came and went
			d.Gone++
		default:
			return
		}
		d.Partitions++
		if !between.Partitions {
			return
		}
		if moved != nil {
			if m := moved.partitions[tp]; m != nil {
				row.Moves = *m
			}
		}
		d.Rows = append(d.Rows, row)
	}
	pair(a.Partitions(cluster, name), b.Partitions(cluster, name), each)
	return d
}

// pair calls each with the partitions of two sorted lists, once for every partition; what is in
// one list only comes with the zero Partition.
func pair(was, is []projection.Partition, each func(tp ledger.TopicPartition, was, is *projection.Partition)) {
	for len(was) > 0 || len(is) > 0 {
		order := cmp.Compare(len(is), len(was)) // if one is empty, the other comes
		if len(was) > 0 && len(is) > 0 {
			order = cmp.Or(strings.Compare(was[0].Topic, is[0].Topic), cmp.Compare(was[0].Partition, is[0].Partition))
		}
		var then, now projection.Partition
		if order <= 0 {
			then, was = was[0], was[1:]
		}
		if order >= 0 {
			now, is = is[0], is[1:]
		}
		tp := ledger.TopicPartition{Topic: then.Topic, Partition: then.Partition}
		if order > 0 {
			tp = ledger.TopicPartition{Topic: now.Topic, Partition: now.Partition}
		}
		each(tp, &then, &now)
	}
}
