package projection

import "github.com/offsetledger/offsetledger/ledger"

// Nearly all rows are one thing: a commit of the partition after that of the row before, forward
// or where it was, by nobody remarkable, and no faster than reading can be. A replay of millions
// folds those here, in less than half of the time that it takes to look for everything else that
// a row can be.

// easy reports whether the event leaves to its rows whether they are such a commit: no Change is
// wanted of it, and nothing but the row decides.
func (f *folding) easy() bool {
	m := &f.g.members
	byMember := f.by != nil || !m.everMember || f.outsider.Kind != WhoNoMember && f.bareOutsider.Kind != WhoNoMember
	return f.s.quiet && f.plain && byMember && !f.rare && !f.notBefore.Known()
}

// advance folds rows up to the first that needs [folding.commit], and returns how many it folded.
// What it does to a cell is what commit, forward and set would do.
func (f *folding) advance(rows []ledger.Offset) int {
	t, n, seq := f.t, f.next, f.rec.Seq
	if t == nil {
		return 0
	}
	i := 0
	for ; i < len(rows) && n < len(t.cells); i++ {
		r, cl, at := &rows[i], &t.cells[n], f.effective(&rows[i])
		moved, span := r.At-cl.at, cl.span(at)
		if cl.partition != r.Partition || t.name != r.Topic || cl.flags != flagExists|flagHad ||
			r.At < cl.at || cl.at < 0 || cl.tooFast(moved, span) ||
			cl.topicID != t.id || t.ids[t.id] != r.TopicID || r.ExpireTime.Known() || r.Flags != 0 ||
			f.s.limited && at.After(f.s.until) {
			break
		}
		if moved > 0 {
			cl.still = 0
			cl.learn(moved, span)
		} else {
			cl.stay(at)
		}
		if f.source == ledger.SourceTail {
			cl.position = r.SourceOffset
		}
		cl.at, cl.seq, cl.commit, cl.effective, cl.epoch = r.At, seq, r.CommitTime, at, r.LeaderEpoch
		if cl.metadata != r.Metadata {
			cl.metadata = r.Metadata
		}
		cl.source, cl.cause = uint8(f.source), 0
		n++
	}
	if i > 0 {
		f.g.lastSeq = seq
		f.next = n
		f.rows += i
	}
	return i
}
