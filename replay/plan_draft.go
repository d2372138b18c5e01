package replay

import (
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// Wish says what a plan is to achieve.
type Wish struct {
	Command string // CommandRestore or CommandReset
	Cluster string
	Groups  []string
	Target  Target
	// Repair, if set, is an incident whose moves are to be taken back: groups, partitions and
	// targets are those of it.
	Repair *Repair
	// Picks are the partitions that it is about. Without any it is about all that the groups
	// have or had: then AllTopics has to say so if the command is reset.
	Picks     []Pick
	AllTopics bool
	Rules     Rules
	Now       ledger.Time // the moment that is now, for everything in the plan
}

// Pick names partitions of a topic.
type Pick struct {
	Topic      string
	Partitions []int32
	All        bool // every partition of the topic
}

// Material is what the ledger knows, for a plan to be made of.
type Material struct {
	Now  *projection.State // of the present, of the whole cluster
	Then *projection.State // of the Point of the target, of the groups that it is about; nil where none is needed
	// Asked is the moment of Then, as [projection.State.Known] wants to know it.
	Asked projection.Asked
}

// Draft is a plan of which nothing of the present is known yet: [Draft.Inquiry] says what has
// to be, and [Draft.Plan] makes the plan of it. It holds on to no State.
type Draft struct {
	wish    Wish
	head    Plan
	groups  []draftGroup
	ledgers string     // id of the cluster that was captured; empty if unknown
	epochs  []EpochEnd // of the rows of a group that is to be copied
}

// draftGroup is what the ledger says of one group.
type draftGroup struct {
	name   string
	seen   bool // the ledger knows it
	topics []string
	then   map[ledger.TopicPartition]want // of a target of the history
	none   want                           // likewise, of a partition that the history does not know
}

// NewDraft begins a plan.
func NewDraft(w Wish, m Material) (*Draft, error) {
	if err := w.validate(); err != nil {
		return nil, err
	}
	w.Target.Rows = slices.Clone(w.Target.Rows)
	sortRows(w.Target.Rows)
	d := &Draft{wish: w, head: Plan{
		Command: w.Command, Cluster: w.Cluster, Point: w.Target.Text, Clock: w.Target.clock(), Made: w.Now,
		Seq: m.Now.Seq(), Rules: w.Rules,
	}}
	if cover, ok := m.Now.Coverage(w.Cluster); ok {
		d.ledgers = cover.KafkaClusterID
	}
	if w.Repair != nil {
		d.head.Incident, d.head.IncidentTime, d.head.Clock, d.head.Point = w.Repair.ID, w.Repair.Time, ClockCommit, w.Repair.point()
	}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(w.Groups))) {
		g := draftGroup{name: name}
		if known, ok := m.Now.Group(w.Cluster, name); ok {
			g.seen, g.topics = true, known.Topics
		}
		if !g.seen && w.Command == CommandRestore {
			return nil, &UnknownError{What: "group", Name: name}
		}
		switch {
		case w.Repair != nil:
			g.then = w.Repair.wants(name)
		case w.Target.ofHistory():
			source := w.Target.source(name)
			g.then = m.recorded(w.Cluster, source)
			g.none = m.unrecorded(w.Cluster, ledger.TopicPartition{}, m.Then.Known(w.Cluster, source, ledger.TopicPartition{}, nil, m.Asked))
		}
		refuseRecreated(m.Now, w.Cluster, g.then)
		d.groups = append(d.groups, g)
	}
	if _, known := m.Now.Group(w.Cluster, w.Target.Group); w.Target.Kind == TargetGroup && !known && w.Target.ofHistory() {
		return nil, &UnknownError{What: UnknownCopied, Name: w.Target.Group}
	}
	if t := &w.Target; t.Kind == TargetGroup && t.Point.IsNow() {
		for _, p := range m.Now.Partitions(w.Cluster, t.Group) {
			if p.LeaderEpoch.Known() {
				d.epochs = append(d.epochs, EpochEnd{Topic: p.Topic, Partition: p.Partition, Epoch: p.LeaderEpoch})
			}
		}
	}
	return d, nil
}

// refuseRecreated refuses targets that were committed to a topic which was made again since, where
// no topic id says so.
func refuseRecreated(now *projection.State, cluster string, then map[ledger.TopicPartition]want) {
	for tp, w := range then {
		t, ok := now.Topic(cluster, tp.Topic)
		if ok && w.target.Exists && w.refused == "" && w.topicID == uuid.Nil && w.since.Known() && t.Recreated.After(w.since) {
			w.refused = "the topic was deleted and made again since, at " + t.Recreated.String() + ": its offsets mean other records"
			then[tp] = w
		}
	}
}

// source is the group whose history a target is looked up in.
func (t *Target) source(group string) string {
	if t.Kind == TargetGroup {
		return t.Group
	}
	return group
}

// recorded is what a group had at the point, of every partition that is known to have had
// something up to then or to have something now.
func (m *Material) recorded(cluster, group string) map[ledger.TopicPartition]want {
	parts := m.Then.AllPartitions(cluster, group)
	later := m.Now.AllPartitions(cluster, group)
	out := map[ledger.TopicPartition]want{}
	for i := range later {
		tp := ledger.TopicPartition{Topic: later[i].Topic, Partition: later[i].Partition}
		out[tp] = m.unrecorded(cluster, tp, m.Then.Known(cluster, group, tp, nil, m.Asked))
	}
	for i := range parts {
		p := &parts[i]
		tp := ledger.TopicPartition{Topic: p.Topic, Partition: p.Partition}
		k := m.Then.Known(cluster, group, tp, p, m.Asked)
		if !p.Committed.Exists {
			out[tp] = m.unrecorded(cluster, tp, k)
			continue
		}
		out[tp] = m.wantRow(cluster, p, k)
	}
	return out
}

// unrecorded is what is wanted where no offset was.
func (m *Material) unrecorded(cluster string, tp ledger.TopicPartition, k projection.Known) want {
	return want{tp: tp, refused: m.unsure(cluster, k)}
}

// unsure is why what was committed then cannot be a target; empty if it is known for good.
func (m *Material) unsure(cluster string, k projection.Known) string {
	asked := m.Asked
	switch {
	case k.Certainty == projection.CertaintyUnknown:
		why := "it is not known what was committed then: " + k.Why
		if cover, _ := m.Now.Coverage(cluster); k.Why == projection.WhyBeforeHistory && cover.Began.Known() {
			why += ", which is known whole since " + cover.Began.String()
		}
		return why
	case asked.Time.Known() && k.Certainty == projection.CertaintyStale && k.Until.Known():
		return "capture has not passed that moment; it is known up to " + k.Until.String()
	case asked.Time.Known() && k.Certainty == projection.CertaintyStale:
		return "capture has not passed that moment"
	}
	return ""
}

// wantRow is what is wanted where an offset was: the row as it was recorded.
func (m *Material) wantRow(cluster string, p *projection.Partition, k projection.Known) want {
	w := want{
		tp: ledger.TopicPartition{Topic: p.Topic, Partition: p.Partition}, target: p.Committed, recorded: true,
		epoch: p.LeaderEpoch, metadata: p.Metadata, topicID: p.TopicID, since: p.Effective,
	}
	if w.topicID == uuid.Nil {
		if t, ok := m.Then.Topic(cluster, p.Topic); ok {
			w.topicID = t.ID
		}
	}
	switch unsure := m.unsure(cluster, k); {
	case p.OtherTopic:
		w.refused = "it was committed to another topic of this name, which was deleted"
	case p.Invalid():
		w.refused = fmt.Sprintf("%d was committed, which is no offset", p.Committed.At)
	case unsure != "":
		w.refused = unsure
	case k.Certainty == projection.CertaintyInterval:
		w.note = fmt.Sprintf("polled: it became so between %s and %s", k.NotBefore, k.NotAfter)
	}
	return w
}

// Inquiry is what has to be known of the present.
func (d *Draft) Inquiry() Inquiry {
	q := Inquiry{Epochs: slices.Clone(d.epochs)}
	for i := range d.groups {
		g := &d.groups[i]
		q.Groups = append(q.Groups, g.name)
		for tp, w := range g.then {
			q.Partitions = append(q.Partitions, tp)
			if w.recorded && w.epoch.Known() {
				q.Epochs = append(q.Epochs, EpochEnd{Topic: tp.Topic, Partition: tp.Partition, Epoch: w.epoch})
			}
		}
	}
	t := &d.wish.Target
	if t.Kind == TargetGroup && t.Point.IsNow() {
		q.Groups = append(q.Groups, t.Group)
	}
	for _, r := range t.Rows {
		q.Partitions = append(q.Partitions, ledger.TopicPartition{Topic: r.Topic, Partition: r.Partition})
	}
	for _, pick := range d.wish.Picks {
		q.Topics = append(q.Topics, pick.Topic)
	}
	if t.Kind == TargetRecord {
		q.RecordTime = t.Time
	}
	q.sort()
	return q
}

// sort makes the inquiry the same whatever order maps were walked in, and asks nothing twice.
func (q *Inquiry) sort() {
	slices.Sort(q.Groups)
	slices.Sort(q.Topics)
	slices.SortFunc(q.Partitions, comparePartitions)
	slices.SortFunc(q.Epochs, func(a, b EpochEnd) int {
		c := comparePartitions(ledger.TopicPartition{Topic: a.Topic, Partition: a.Partition},
			ledger.TopicPartition{Topic: b.Topic, Partition: b.Partition})
		if c == 0 {
			c = int(a.Epoch.Kafka()) - int(b.Epoch.Kafka())
		}
		return c
	})
	q.Groups, q.Topics = slices.Compact(q.Groups), slices.Compact(q.Topics)
	q.Partitions, q.Epochs = slices.Compact(q.Partitions), slices.Compact(q.Epochs)
}
