package projection

import (
	"cmp"
	"slices"

	"github.com/offsetledger/offsetledger/ledger"
)

// roomSlack is how many cells an event may move aside, beyond as many as it has rows, before room
// is made for all of its partitions at once.
const roomSlack = 1024

// crowded counts the cells that a new one at index at moves aside, and reports whether it is time
// to make room. Partitions that come in order move none, and those of a random order nearly all:
// one by one, tens of thousands would take seconds.
func (f *folding) crowded(at int) bool {
	f.shifted += len(f.t.cells) - at
	return f.shifted > len(f.ev.Offsets)+roomSlack
}

// makeRoom makes the cells of all rows from row i on that are of its topic and new. None is made
// of a row that will not be folded: it would be seen.
func (f *folding) makeRoom(i int) {
	f.shifted = 0
	t, rows, step := f.t, f.ev.Offsets, 1
	if f.backwards() {
		step = -1
	}
	var fresh []cell
	made := map[int32]struct{}{}
	for ; i >= 0 && i < len(rows); i += step {
		r := &rows[i]
		if r.Topic != t.name || !f.folds(r) {
			continue
		}
		if _, ok := made[r.Partition]; ok {
			continue
		}
		if _, ok := t.find(r.Partition); ok {
			continue
		}
		made[r.Partition] = struct{}{}
		c := cell{partition: r.Partition, position: noPosition, topicID: t.idIndex(r.TopicID)}
		c.owner = f.g.ownerOf(f.c, t, r.Partition)
		fresh = append(fresh, c)
	}
	slices.SortFunc(fresh, func(a, b cell) int { return cmp.Compare(a.partition, b.partition) })
	t.merge(fresh)
}

// backwards reports whether the rows of the event are folded from the last to the first.
func (f *folding) backwards() bool {
	return f.ev.Kind != ledger.KindDeleted && f.transactional
}

// folds reports whether a row changes the state at all.
func (f *folding) folds(r *ledger.Offset) bool {
	if f.s.limited && f.s.later(f.rec, f.effective(r)) {
		return false
	}
	return f.ev.Kind == ledger.KindDeleted || r.Flags&ledger.FlagReplaced == 0
}

// merge adds sorted cells of partitions that the topic does not have.
func (t *groupTopic) merge(fresh []cell) {
	old := t.cells
	all := make([]cell, 0, len(old)+len(fresh)+len(old)/8)
	for len(old) > 0 && len(fresh) > 0 {
		if old[0].partition < fresh[0].partition {
			all, old = append(all, old[0]), old[1:]
		} else {
			all, fresh = append(all, fresh[0]), fresh[1:]
		}
	}
	t.cells = append(append(all, old...), fresh...)
}
