package projection

import (
	"cmp"
	"slices"
	"strings"

	"github.com/offsetledger/offsetledger/ledger"
)

// code goes over how far a cluster is known, but for the gaps of single groups: those go with
// their groups.
func (k *capture) code(x *coder) {
	x.text(&k.kafkaID)
	x.id(&k.topicID)
	number(x, &k.source)
	x.uint(&k.firstSeq)
	x.time(&k.began)
	x.time(&k.first)
	x.time(&k.polled)
	x.flag(&k.allLines)
	x.uint(&k.opaque)
	told := k.lines != nil // some cursor was folded
	if x.flag(&told); told {
		table(x, &k.lines, cmp.Compare[int32], func(p *int32) { number(x, p) }, func(l **line) {
			if x.reading {
				*l = &line{}
			}
			(*l).code(x)
		})
		table(x, &k.cursorSeq, strings.Compare, x.text, x.uint)
		if k.lines == nil {
			k.lines = map[int32]*line{}
		}
		if k.cursorSeq == nil {
			k.cursorSeq = map[string]uint64{}
		}
	}
	table(x, &k.lineGaps, cmp.Compare[int32], func(p *int32) { number(x, p) }, func(g **gaps) {
		if x.reading {
			*g = &gaps{}
		}
		(*g).code(x)
	})
}

func (l *line) code(x *coder) {
	number(x, &l.Partition)
	x.text(&l.Shard)
	x.uint(&l.Seq)
	x.int(&l.Next)
	x.epoch(&l.LeaderEpoch)
	x.time(&l.MaxEffective)
	x.time(&l.CompleteThrough)
	list(x, &l.Open, x.openTransaction)
	same := slices.EqualFunc(l.Open, l.pending, equalOpen)
	if x.flag(&same); same {
		l.pending = l.Open
	} else {
		list(x, &l.pending, x.openTransaction)
	}
	hole := l.Hole != nil
	if x.flag(&hole); hole {
		if x.reading {
			l.Hole = &ledger.Hole{}
		}
		x.int(&l.Hole.First)
		x.int(&l.Hole.Last)
		x.int(&l.Hole.Until)
		x.time(&l.Hole.From)
		x.flag(&l.Hole.Removed)
	}
}

func (x *coder) openTransaction(tx *ledger.OpenTransaction) {
	x.int(&tx.ProducerID)
	x.int(&tx.First)
	x.time(&tx.Since)
	list(x, &tx.Rows, func(r *ledger.PendingOffset) {
		x.text(&r.Group)
		x.text(&r.Topic)
		number(x, &r.Partition)
		x.int(&r.At)
		x.int(&r.Position)
	})
}

func (g *gaps) code(x *coder) {
	list(x, &g.list, x.gap)
	list(x, (*[]Interval)(&g.whole), x.interval)
	byPartition(x, &g.some, func(s **spans) {
		if x.reading {
			*s = &spans{}
		}
		list(x, (*[]Interval)(*s), x.interval)
	})
}

func (x *coder) gap(g *Gap) {
	x.flag(&g.OfGroup)
	number(x, &g.SourcePartition)
	x.int(&g.First)
	x.int(&g.Last)
	x.time(&g.From)
	x.time(&g.To)
	x.uint(&g.Seq)
	x.time(&g.Time)
	x.text(&g.Group)
	number(x, &g.Cause)
	x.text(&g.Reason)
	list(x, &g.Keys, x.partition)
}

// codeTopics goes over one shard of the cluster's topics: when it was observed, and the topics.
func (c *cluster) codeTopics(x *coder, shard int32) {
	o := &c.observed[shard]
	x.time(&o.at)
	x.time(&o.complete)
	byPartition(x, &o.answered, x.time)
	var of []*topic
	for _, t := range c.topics {
		if ledger.WatermarkShard(t.Name) == shard {
			of = append(of, t)
		}
	}
	slices.SortFunc(of, func(a, b *topic) int { return strings.Compare(a.Name, b.Name) })
	list(x, &of, func(t **topic) {
		if x.reading {
			*t = &topic{}
		}
		(*t).code(x)
		if x.reading && ledger.WatermarkShard((*t).Name) != shard {
			x.fail("topic %q is not of shard %d", (*t).Name, shard)
		}
	})
	if x.reading && x.err == nil {
		for _, t := range of {
			c.topics[t.Name] = t
		}
	}
}

func (t *topic) code(x *coder) {
	x.text(&t.Name)
	x.id(&t.ID)
	number(x, &t.Partitions)
	x.flag(&t.Counted)
	x.time(&t.DeletedAt)
	x.time(&t.Recreated)
	t.codeMarks(x)
}
