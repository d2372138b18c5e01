package replay

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// TargetKind says by what rule a target is found.
type TargetKind uint8

// The kinds of targets.
const (
	TargetPoint    TargetKind = iota // what was committed at a Point of the history
	TargetEarliest                   // the log start offset
	TargetLatest                     // the log end offset
	TargetCurrent                    // what is committed now
	TargetOffset                     // N
	TargetShift                      // what is committed now, and N more or less
	TargetRecord                     // the first record at or after Time, by the time of records
	TargetRows                       // as listed, by Rows
	TargetGroup                      // what another group has, at Point
)

// Target is where a plan moves offsets to. Which fields are set depends on Kind.
type Target struct {
	Kind  TargetKind
	Text  string // as it was given, or is to be shown
	N     int64
	Time  ledger.Time
	Point Point // TargetPoint and TargetGroup; it has to be resolved
	Group string
	Rows  []FileRow // sorted
}

// FileRow is a line of a file that the stock tool writes and reads.
type FileRow struct {
	Line      int    // where it stands, from 1; 0 if the rows are of no file
	Group     string // empty in a file for one group
	HasGroup  bool
	Topic     string
	Partition int32
	Offset    int64
}

// clock says by what the target is found.
func (t *Target) clock() Clock {
	switch {
	case t.Kind == TargetRecord:
		return ClockRecord
	case t.Kind != TargetPoint && t.Kind != TargetGroup, t.Point.IsNow():
		return ClockNone
	case t.Point.Time.Known():
		return ClockCommit
	}
	return ClockSequence
}

// ofHistory reports whether a target is looked up in the state of a group at a point.
func (t *Target) ofHistory() bool {
	return t.Kind == TargetPoint || t.Kind == TargetGroup && !t.Point.IsNow()
}

// want is where a partition is to be by a target that is not of the history.
func (d *decider) want(tp ledger.TopicPartition, t *Target) want {
	w := want{tp: tp}
	row := d.group.Row(tp)
	var log *Bounds
	var part *PartitionFacts
	if topic := d.facts.Topic(tp.Topic); topic != nil {
		if part = topic.Find(tp.Partition); part != nil {
			log = part.Log
		}
	}
	switch t.Kind {
	case TargetOffset:
		w.target = existing(t.N)
		return w
	case TargetCurrent, TargetShift:
		if row == nil {
			w.kept = "nothing is committed"
			if t.Kind == TargetShift {
				w.kept, w.refused = "", "nothing is committed, so nothing can be shifted"
			}
			return w
		}
		if row.At < 0 {
			w.refused = fmt.Sprintf("%d is committed, which is no offset", row.At)
			return w
		}
		w.target = existing(shifted(row.At, t.N))
		return w
	case TargetRows:
		return w.listed(d.group.Name, t.Rows)
	case TargetGroup:
		return w.copied(d.facts.Group(t.Group))
	}
	if part == nil {
		w.sought = true
		return w
	}
	if log == nil {
		w.refused = "the bounds of the log are not known"
		return w
	}
	switch t.Kind {
	case TargetEarliest:
		w.target = existing(log.Start)
	case TargetLatest:
		w.target = existing(log.End)
	case TargetRecord:
		w.atRecord(d.facts, part, t.Time)
	}
	return w
}

// shifted is an offset and what is added to it, which can be more than there are offsets.
func shifted(at, by int64) int64 {
	if by > math.MaxInt64-at {
		return math.MaxInt64
	}
	return at + by
}

// atRecord finds the record at or after a time. Producers set the times of records, which are
// not sorted: the first one that the broker finds counts, and its own time is shown.
func (w *want) atRecord(f *Facts, p *PartitionFacts, t ledger.Time) {
	switch {
	case f.FromLedger:
		w.refused = "no Kafka was asked, and only it knows the times of records; name it with -B"
	case p.Found == nil:
		w.target = existing(p.Log.End)
		w.note = fmt.Sprintf("no record at or after %s, using end", t)
	default:
		w.target = existing(p.Found.Offset)
		w.note = "record of " + p.Found.Time.String()
	}
}

// listed finds the row of a file, whose rows are sorted.
func (w want) listed(group string, rows []FileRow) want {
	if len(rows) > 0 && !rows[0].HasGroup {
		group = ""
	}
	i, ok := slices.BinarySearchFunc(rows, w.tp, func(r FileRow, tp ledger.TopicPartition) int {
		if c := strings.Compare(r.Group, group); c != 0 {
			return c
		}
		return comparePartitions(ledger.TopicPartition{Topic: r.Topic, Partition: r.Partition}, tp)
	})
	if !ok {
		w.kept = "not in the file"
		return w
	}
	w.target = existing(rows[i].Offset)
	if rows[i].Offset < 0 {
		w.refused = fmt.Sprintf("%d is no offset", rows[i].Offset)
	}
	return w
}

// copied takes over what another group has now, with epoch and metadata.
func (w want) copied(from *GroupFacts) want {
	if from == nil {
		w.refused = "nothing is known of the group to copy"
		return w
	}
	row := from.Row(w.tp)
	if row == nil {
		w.note = "the other group has nothing there"
		return w
	}
	w.target, w.recorded, w.epoch, w.metadata, w.topicID = existing(row.At), true, row.LeaderEpoch, row.Metadata, row.TopicID
	return w
}

func existing(at int64) projection.Value { return projection.Value{At: at, Exists: true} }
