package projection

import (
	"cmp"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/offsetledger/offsetledger/ledger"
)

// code goes over all that is known of a group. What can be worked out from the rest is not
// written: how many offsets it has, and who its members are as a Change names them. Who has
// which partition is written, since that depends on when the ids of topics became known.
func (g *group) code(x *coder) {
	x.uint(&g.lastSeq)
	x.flag(&g.ever)
	x.flag(&g.tailed)
	number(x, &g.line)
	x.time(&g.seen)
	number(x, &g.state)
	if int(g.state) >= len(groupStateNames) {
		x.fail("state %d of a group", g.state)
	}
	x.time(&g.since)
	x.time(&g.deleted)
	g.members.code(x)
	g.stats.code(x)
	list(x, &g.topics, func(t **groupTopic) {
		if x.reading {
			*t = &groupTopic{}
		}
		(*t).code(x)
	})
	for i := 1; i < len(g.topics) && x.err == nil; i++ {
		if g.topics[i-1].name >= g.topics[i].name {
			x.fail("topics out of order")
		}
	}
	special := g.rare != nil
	if x.flag(&special); special {
		g.rarities().code(x)
	}
	if !x.reading || x.err != nil {
		return
	}
	g.live = 0
	g.cells(func(_ *groupTopic, cl *cell) {
		if cl.has(flagExists) {
			g.live++
		}
	})
	if g.members.recorded {
		g.nameMembers()
	}
}

func (t *groupTopic) code(x *coder) {
	x.text(&t.name)
	ids := t.ids[min(1, len(t.ids)):]
	list(x, &ids, x.id)
	if x.reading {
		t.ids = append(make([]uuid.UUID, 1, 1+len(ids)), ids...)
	}
	number(x, &t.id)
	if int(t.id) >= len(t.ids) || len(t.ids) > 1<<16 {
		x.fail("topic id %d of %d", t.id, len(t.ids))
	}
	t.codeCells(x)
}

func (m *membership) code(x *coder) {
	number(x, &m.typ)
	x.flag(&m.recorded)
	x.flag(&m.everMember)
	number(x, &m.generation)
	x.int(&m.position)
	x.text(&m.protocolType)
	list(x, &m.members, func(mb **member) {
		if x.reading {
			*mb = &member{}
		}
		(*mb).code(x)
	})
	for i := 1; i < len(m.members) && x.err == nil; i++ {
		if m.members[i-1].ID >= m.members[i].ID {
			x.fail("members out of order")
		}
	}
}

func (mb *member) code(x *coder) {
	x.text(&mb.ID)
	x.text(&mb.InstanceID)
	x.text(&mb.ClientID)
	x.text(&mb.Host)
	number(x, &mb.SessionTimeoutMillis)
	number(x, &mb.RebalanceTimeoutMillis)
	list(x, &mb.Subscriptions, x.text)
	list(x, &mb.Assigned, func(a *ledger.TopicPartitions) {
		x.text(&a.Topic)
		x.id(&a.TopicID)
		list(x, &a.Partitions, func(p *int32) { number(x, p) })
	})
	number(x, &mb.Epoch)
	x.flag(&mb.described)
	x.flag(&mb.assigned)
}

func (st *Statistics) code(x *coder) {
	for _, n := range []*uint64{&st.Commits, &st.Successes, &st.Failures, &st.OffsetsCommitted, &st.Rewinds, &st.Jumps, &st.timed} {
		x.uint(n)
	}
	x.time(&st.LastCommit)
	ns := int64(st.duration)
	x.int(&ns)
	st.duration = time.Duration(ns)
}

func (r *rare) code(x *coder) {
	byPartition(x, &r.expire, x.time)
	byPartition(x, &r.notBefore, x.time)
	byPartition(x, &r.unsure, x.interval)
	byPartition(x, &r.reread, x.int)
	x.flag(&r.managed)
	byPartition(x, &r.unmatched, func(all *[]reported) { list(x, all, x.reported) })
	pending := r.intent != nil
	if x.flag(&pending); pending {
		if x.reading {
			r.intent = &intent{}
		}
		r.intent.code(x)
	}
	table(x, &r.checkpoints, strings.Compare, x.text, x.uint)
	x.text(&r.claimed)
}

func (in *intent) code(x *coder) {
	x.text(&in.plan)
	x.text(&in.reason)
	x.text(&in.actor)
	x.flag(&in.verified)
	x.time(&in.opened)
	byPartition(x, &in.steps, x.reported)
}

func (x *coder) reported(r *reported) {
	number(x, &r.by)
	x.uint(&r.seq)
	x.int(&r.at)
	x.epoch(&r.epoch)
	x.text(&r.metadata)
}

func (x *coder) interval(i *Interval) {
	x.time(&i.From)
	x.time(&i.To)
}

// byPartition goes over what is known of some partitions.
func byPartition[V any](x *coder, m *map[ledger.TopicPartition]V, value func(*V)) {
	table(x, m, func(a, b ledger.TopicPartition) int {
		return cmp.Or(strings.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	}, x.partition, value)
}
