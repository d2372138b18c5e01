package projection

import "github.com/offsetledger/offsetledger/ledger"

// rare holds facts that few groups or partitions have.
type rare struct {
	expire    map[ledger.TopicPartition]ledger.Time
	notBefore map[ledger.TopicPartition]ledger.Time
	unsure    map[ledger.TopicPartition]Interval
	// reread is, of partitions that were set back, the offset that they had come to.
	reread map[ledger.TopicPartition]int64

	managed     bool // an offset manager reports here, beside the tail
	unmatched   map[ledger.TopicPartition][]reported
	intent      *intent
	checkpoints map[string]uint64
	claimed     string // instance of the last claim
}

func (g *group) rarities() *rare {
	if g.rare == nil {
		g.rare = &rare{}
	}
	return g.rare
}

// passOver looks at a row that is later than the moment asked for: a polled one may have
// come true before it.
func (f *folding) passOver(r *ledger.Offset, at ledger.Time) {
	from := f.notBefore
	if !from.Known() || !from.Before(f.s.until) {
		return
	}
	ra := f.g.rarities()
	if ra.unsure == nil {
		ra.unsure = map[ledger.TopicPartition]Interval{}
	}
	key := ledger.TopicPartition{Topic: r.Topic, Partition: r.Partition}
	if _, known := ra.unsure[key]; !known {
		ra.unsure[key] = Interval{From: from, To: at}
	}
}

// noteRare keeps, or forgets, the facts that few rows have.
func (g *group) noteRare(r *ledger.Offset, notBefore ledger.Time) {
	ra := g.rarities()
	if ra.expire == nil && ra.notBefore == nil && !r.ExpireTime.Known() && !notBefore.Known() {
		return
	}
	key := ledger.TopicPartition{Topic: r.Topic, Partition: r.Partition}
	ra.expire = keep(ra.expire, key, r.ExpireTime)
	ra.notBefore = keep(ra.notBefore, key, notBefore)
}

func keep(m map[ledger.TopicPartition]ledger.Time, key ledger.TopicPartition, t ledger.Time) map[ledger.TopicPartition]ledger.Time {
	if !t.Known() {
		delete(m, key)
		return m
	}
	if m == nil {
		m = map[ledger.TopicPartition]ledger.Time{}
	}
	m[key] = t
	return m
}
