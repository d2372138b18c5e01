package replay

import (
	"fmt"
	"slices"

	"github.com/offsetledger/offsetledger/ledger"
)

// Plan makes the plan, of what is true now. It fails with an [UnknownError] for a name that
// neither the ledger nor Kafka knows, and with [ErrWish] if nothing is selected.
func (d *Draft) Plan(f Facts) (*Plan, error) {
	p := d.head
	p.KafkaClusterID, p.FromLedger, p.FactsAt, p.FactsProblem = f.KafkaClusterID, f.FromLedger, f.At, f.Problem
	if p.KafkaClusterID == "" {
		p.KafkaClusterID = d.ledgers
	}
	p.Groups = nil
	if t := &d.wish.Target; t.Kind == TargetGroup && t.Point.IsNow() {
		if from := f.Group(t.Group); from == nil || !from.Exists && from.Problem == "" {
			return nil, &UnknownError{What: UnknownCopied, Name: t.Group}
		}
	}
	for i := range d.groups {
		g, err := d.group(&d.groups[i], &f)
		if err != nil {
			return nil, err
		}
		p.Groups = append(p.Groups, g)
	}
	if steps := p.steps(); steps == 0 {
		return nil, fmt.Errorf("%w: no partition is selected", ErrWish)
	}
	if d.ledgers != "" && f.KafkaClusterID != "" && d.ledgers != f.KafkaClusterID && !d.wish.Rules.AnyCluster {
		p.Refused = append(p.Refused, fmt.Sprintf("these brokers are Kafka cluster %s, and what the ledger has as %s is cluster %s: "+
			"offsets of one mean nothing in the other; rule any_cluster if they hold the same records",
			f.KafkaClusterID, ledger.Spell(p.Cluster), d.ledgers))
	}
	d.direct(&p)
	return &p, nil
}

func (p *Plan) steps() (n int) {
	for i := range p.Groups {
		n += len(p.Groups[i].Steps)
	}
	return n
}

// group plans one group.
func (d *Draft) group(g *draftGroup, f *Facts) (PlanGroup, error) {
	facts := f.Group(g.name)
	if facts == nil {
		facts = &GroupFacts{Name: g.name, State: "Dead", Problem: "nothing is known of it now"}
	}
	out := PlanGroup{Group: g.name, State: facts.State, Type: facts.Type, New: !facts.Exists}
	by := &decider{rules: d.wish.Rules, facts: f, group: facts}
	if !facts.Exists && facts.Problem == "" {
		if err := d.mayMake(g, &out); err != nil {
			return out, err
		}
	}
	if d.wish.Command == CommandReset && facts.Exists {
		by.ever = map[string]bool{}
		for _, topic := range g.topics {
			by.ever[topic] = true
		}
		for i := range facts.Rows {
			by.ever[facts.Rows[i].Topic] = true
		}
	}
	picked, err := d.pick(g, facts, f)
	if err != nil {
		return out, err
	}
	for _, tp := range picked {
		out.Steps = append(out.Steps, by.step(d.wantOf(g, tp, by)))
	}
	for _, r := range facts.Rows {
		tp := ledger.TopicPartition{Topic: r.Topic, Partition: r.Partition}
		_, moved := g.then[tp]
		_, in := slices.BinarySearchFunc(picked, tp, comparePartitions)
		if !in && (d.wish.Repair == nil || !moved) {
			out.Untouched = append(out.Untouched, tp)
		}
	}
	for tp := range g.then {
		if d.wish.Repair != nil && !d.wish.wants(tp) {
			out.LeftOut = append(out.LeftOut, tp)
		}
	}
	slices.SortFunc(out.LeftOut, comparePartitions)
	by.judge(&out)
	return out, nil
}

// mayMake looks whether a group that does not exist may be made. One that the ledger knows has
// been there, and to restore it is to make it again; a name that nobody knows is a slip, unless
// it was said that it is meant.
func (d *Draft) mayMake(g *draftGroup, out *PlanGroup) error {
	switch {
	case d.wish.Rules.AllowNewGroup, g.seen && d.wish.Command == CommandRestore:
		return nil
	case !g.seen:
		return &UnknownError{What: "group", Name: g.name}
	}
	out.Refused = append(out.Refused, "the group does not exist any more; rule allow_new_group to make it again")
	return nil
}

// wantOf is where a partition is to be.
func (d *Draft) wantOf(g *draftGroup, tp ledger.TopicPartition, by *decider) want {
	if d.wish.Repair == nil && !d.wish.Target.ofHistory() {
		w := by.want(tp, &d.wish.Target)
		w.only = d.only(w.only)
		return w
	}
	w, ok := g.then[tp]
	if !ok {
		w = g.none
		w.tp, w.sought = tp, true
	}
	w.only = d.only(w.only)
	return w
}

// only is the way that a step may go: its own, or that of the whole plan.
func (d *Draft) only(own Direction) Direction {
	if own == DirectionAny && d.wish.Rules.Direction != DirectionBoth {
		return d.wish.Rules.Direction
	}
	return own
}

// pick is what a plan is about in one group, sorted.
func (d *Draft) pick(g *draftGroup, facts *GroupFacts, f *Facts) ([]ledger.TopicPartition, error) {
	var out []ledger.TopicPartition
	if d.wish.Repair != nil { // it is about what was moved, and nothing else
		for tp := range g.then {
			if d.wish.wants(tp) {
				out = append(out, tp)
			}
		}
		slices.SortFunc(out, comparePartitions)
		return out, nil
	}
	for _, p := range d.wish.Picks {
		topic := f.Topic(p.Topic)
		if (topic == nil || !topic.Exists && topic.Problem == "") && !slices.Contains(g.topics, p.Topic) {
			return nil, &UnknownError{What: "topic", Name: p.Topic}
		}
		for _, n := range p.Partitions {
			out = append(out, ledger.TopicPartition{Topic: p.Topic, Partition: n})
		}
		if p.All && topic != nil {
			for i := range topic.Partitions {
				out = append(out, ledger.TopicPartition{Topic: p.Topic, Partition: topic.Partitions[i].Partition})
			}
		}
	}
	if len(d.wish.Picks) == 0 && d.wish.Target.Kind != TargetRows {
		for _, r := range facts.Rows {
			out = append(out, ledger.TopicPartition{Topic: r.Topic, Partition: r.Partition})
		}
	}
	for tp := range g.then {
		if d.wish.wants(tp) {
			out = append(out, tp)
		}
	}
	for _, r := range d.wish.Target.Rows {
		tp := ledger.TopicPartition{Topic: r.Topic, Partition: r.Partition}
		if d.wish.wants(tp) && (!r.HasGroup || r.Group == g.name) {
			out = append(out, tp)
		}
	}
	if d.wish.Target.Kind == TargetGroup {
		if from := f.Group(d.wish.Target.Group); from != nil && d.wish.Target.Point.IsNow() {
			for _, r := range from.Rows {
				if tp := (ledger.TopicPartition{Topic: r.Topic, Partition: r.Partition}); d.wish.wants(tp) {
					out = append(out, tp)
				}
			}
		}
	}
	slices.SortFunc(out, comparePartitions)
	return slices.Compact(out), nil
}

// wants reports whether a partition that the target names is among those picked.
func (w *Wish) wants(tp ledger.TopicPartition) bool {
	if len(w.Picks) == 0 {
		return true
	}
	return slices.ContainsFunc(w.Picks, func(p Pick) bool {
		return p.Topic == tp.Topic && (p.All || slices.Contains(p.Partitions, tp.Partition))
	})
}

// named reports whether every partition of the plan was named one by one: that says what is
// meant, whichever way it goes.
func (w *Wish) named() bool {
	for _, p := range w.Picks {
		if p.All {
			return false
		}
	}
	return len(w.Picks) > 0
}

// PlanRestore plans to put back what was committed at a point of the history, or to take back
// what an incident moved. It is a pure function of what it is given.
func PlanRestore(w Wish, m Material, f Facts) (*Plan, error) {
	return makePlan(CommandRestore, w, m, f)
}

// PlanReset plans to move offsets to where the target says. It is a pure function of what it is
// given.
func PlanReset(w Wish, m Material, f Facts) (*Plan, error) { return makePlan(CommandReset, w, m, f) }

func makePlan(command string, w Wish, m Material, f Facts) (*Plan, error) {
	w.Command = command
	d, err := NewDraft(w, m)
	if err != nil {
		return nil, err
	}
	p, err := d.Plan(f)
	if err != nil {
		return nil, err
	}
	p.Seal(nil)
	return p, nil
}
