package projection

import (
	"slices"

	"github.com/offsetledger/offsetledger/ledger"
)

// reported is a row that one of manager and tail has told, and the other not yet.
type reported struct {
	by       ledger.SourceKind
	seq      uint64
	at       int64
	epoch    ledger.Epoch
	metadata string
}

// maxUnmatched bounds the rows of one partition that wait for their twin. A manager that
// died between its commit and its append leaves one behind for ever.
const maxUnmatched = 64

// Twin is a row that tells again what another record has told: of a commit that an offset manager
// made in Kafka and that the tail has seen there.
type Twin struct {
	Seq   uint64 // of the record that told it first, whose Change says so by its Twin
	Group string
	ledger.TopicPartition
	At int64
}

// Twins returns the rows of the record applied last that told what was told already, and so
// changed nothing. A row that comes so late that nobody waits for it any more is not among them. They are
// valid until the next Apply, and none after [State.ApplyUpTo].
func (s *State) Twins() []Twin { return s.twins }

// again notes that row r tells what record seq has told.
func (f *folding) again(r *ledger.Offset, seq uint64) {
	if !f.s.quiet {
		key := ledger.TopicPartition{Topic: r.Topic, Partition: r.Partition}
		f.s.twins = append(f.s.twins, Twin{Seq: seq, Group: f.ev.Group, TopicPartition: key, At: r.At})
	}
}

// twin reports whether row r is the second telling of a commit: a manager commits to Kafka,
// where the tail sees it, and then appends it itself. Both tellings come, in either order;
// the first folds, the second folds nothing, and the tail's times stand.
func (f *folding) twin(r *ledger.Offset, cl *cell) bool {
	f.awaited = false
	by := f.ev.Source.Kind
	if by != ledger.SourceManager && by != ledger.SourceTail || f.ev.Kind != ledger.KindCommitted {
		return false
	}
	ra := f.g.rare
	key := ledger.TopicPartition{Topic: r.Topic, Partition: r.Partition}
	waiting, known := ra.unmatched[key]
	i := slices.IndexFunc(waiting, func(w reported) bool {
		return w.by != by && w.at == r.At && w.epoch == r.LeaderEpoch && w.metadata == r.Metadata
	})
	if i < 0 {
		if !known && by == ledger.SourceManager && cl.source == uint8(ledger.SourceTail) && cl.has(flagExists) &&
			cl.at == r.At && cl.epoch == r.LeaderEpoch && cl.metadata == r.Metadata {
			f.g.await(key, nil) // the tail told it before a manager was known to be here
			f.again(r, cl.seq)
			return true
		}
		if by == ledger.SourceManager && f.passed(cl) {
			return true
		}
		if len(waiting) == maxUnmatched {
			waiting = slices.Delete(waiting, 0, 1)
		}
		f.g.await(key, append(waiting, reported{by, f.rec.Seq, r.At, r.LeaderEpoch, r.Metadata}))
		f.awaited = true
		return false
	}
	if by == ledger.SourceTail {
		cl.position = max(cl.position, r.SourceOffset)
		if cl.seq == waiting[i].seq {
			cl.commit, cl.effective, cl.source = r.CommitTime, f.effective(r), uint8(by)
			cl.topicID = f.t.idIndex(r.TopicID)
		}
	}
	f.again(r, waiting[i].seq)
	f.g.await(key, slices.Delete(waiting, i, i+1))
	return true
}

// passed reports whether the tail has come past what a manager tells it committed to Kafka: what
// it says of the partition is from a later moment. Then it told this commit too, before a manager
// was known to be here, as while the manager did not get through to the ledger. If the clocks of
// both only make it seem so, the tail tells it next, and it folds then.
func (f *folding) passed(cl *cell) bool {
	began := f.ev.NotBefore // unknown of those that commit to the ledger alone
	return f.c.capture.source == ledger.SourceTail && cl.source == uint8(ledger.SourceTail) &&
		began.Known() && cl.effective.Known() && !began.After(cl.effective)
}

func (g *group) await(key ledger.TopicPartition, waiting []reported) {
	if g.rare.unmatched == nil {
		g.rare.unmatched = map[ledger.TopicPartition][]reported{}
	}
	g.rare.unmatched[key] = waiting
}
