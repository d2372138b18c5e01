package projection

import (
	"fmt"
	"math"
	"time"

	"github.com/offsetledger/offsetledger/ledger"
)

// State is the fold of all records up to a sequence. It is not safe for concurrent use;
// [View] is.
type State struct {
	seq      uint64
	appended time.Time   // of the record at seq
	latest   ledger.Time // see Latest
	named    ledger.Time // see Named
	clusters map[string]*cluster
	last     *cluster      // the one of the record before: most ledgers hold one
	changes  []Change      // reused from one Apply to the next
	twins    []Twin        // likewise
	rec      ledger.Record // the one being folded; here and not on the heap for each
	rows     folding       // of its event
	until    ledger.Time
	limited  bool   // rows after until are passed over
	quiet    bool   // only Changes that an incident can come of are reported
	tellers  []*Who // managers and operators seen last
	// parts are those that were read of an event that is not whole yet.
	parts []ledger.Event
}

// cluster is all that is known of one Kafka cluster.
type cluster struct {
	name     string
	groups   map[string]*group
	topics   map[string]*topic
	observed [ledger.WatermarkShards]observed
	capture  capture
}

// NewState returns the state before the first record.
func NewState() *State {
	return &State{clusters: map[string]*cluster{}}
}

// Seq is the sequence up to which records were applied or skipped; 0 is none.
func (s *State) Seq() uint64 { return s.seq }

// Appended is when the last applied record was stored; the zero Time before the first.
func (s *State) Appended() time.Time { return s.appended }

// Skip says that the records up to and including to have nothing to do with what the state
// is asked for: a filtered read left them out. It never goes back.
func (s *State) Skip(to uint64) { s.seq = max(s.seq, to) }

// Apply folds one record and returns what it did, one Change for every row that changed
// or repeated an offset that clients can read. The Changes are valid until the next Apply.
//
// A record at or below [State.Seq] was applied before: it changes nothing and is no error.
// A record that does not follow the last one is refused with an error that matches
// [ledger.ErrMissing], and the state stays as it was.
//
// An event that was cut in parts folds with the last of them, as the one event that it is.
// Kinds that this version does not know are passed over.
func (s *State) Apply(rec ledger.Record) ([]Change, error) {
	s.limited, s.quiet, s.rec = false, false, rec
	return s.apply()
}

// ApplyUpTo folds of one record what was true at the moment until, or all of it if until is
// the unknown Time. It is otherwise like [State.Apply], and faster, since it reports no
// Changes. Rows with a later effective time are passed over, and are not the end of reading:
// records can be appended long after their time. What capture says of itself is folded
// whatever its time, since it tells how sure the answer is.
func (s *State) ApplyUpTo(rec ledger.Record, until ledger.Time) error {
	s.limited, s.until, s.quiet, s.rec = until.Known(), until, true, rec
	_, err := s.apply()
	return err
}

func (s *State) apply() ([]Change, error) {
	rec := &s.rec
	if rec.Seq <= s.seq {
		return nil, nil
	}
	if rec.Seq != s.seq+1 {
		return nil, fmt.Errorf("apply record %d: the records after %d: %w", rec.Seq, s.seq, ledger.ErrMissing)
	}
	s.seq, s.appended = rec.Seq, rec.Appended
	s.changes, s.twins = s.changes[:0], s.twins[:0]
	ev := &rec.Event
	if (ev.Parts != 0 || len(s.parts) > 0) && !s.gather(rec) {
		return nil, nil
	}
	latest := latestOf(rec)
	s.latest, s.named = ledger.MaxTime(s.latest, latest), ledger.MaxTime(s.named, namedBy(rec, latest))
	c := s.cluster(rec)
	switch ev.Kind {
	case ledger.KindCursor:
		c.foldCursor(rec, !s.later(rec, ledger.Time{}))
	case ledger.KindGap:
		c.foldGap(rec)
	case ledger.KindOpaque:
		c.capture.opaque++
		if !s.later(rec, ledger.Time{}) {
			c.foldOpaque(ev)
		}
	case ledger.KindWatermarks:
		if !s.later(rec, ledger.Time{}) {
			c.foldWatermarks(ev)
		}
	case ledger.KindTopic:
		if !s.later(rec, ledger.Time{}) {
			c.foldTopic(ev)
		}
	default:
		if ev.Kind.OfGroup() {
			s.foldGroup(c, rec)
		}
	}
	return s.changes, nil
}

// cluster returns the record's cluster, which its first record makes.
func (s *State) cluster(rec *ledger.Record) *cluster {
	name := rec.Event.Cluster
	if s.last != nil && s.last.name == name {
		return s.last
	}
	c := s.clusters[name]
	if c == nil {
		c = newCluster(name)
		c.capture.firstSeq, c.capture.first = rec.Seq, moment(rec, ledger.Time{})
		s.clusters[name] = c
	}
	s.last = c
	return c
}

func newCluster(name string) *cluster {
	return &cluster{name: name, groups: map[string]*group{}, topics: map[string]*topic{}}
}

// later reports whether a fact is after the moment asked for. The clock of a manager or
// operator is not capture's: of what they tell, the append time decides.
func (s *State) later(rec *ledger.Record, effective ledger.Time) bool {
	return s.limited && moment(rec, effective).After(s.until)
}

// moment is the time of a row, or of its event if the row has none of its own.
func moment(rec *ledger.Record, effective ledger.Time) ledger.Time {
	ev := &rec.Event
	if told(ev.Source.Kind) && !rec.Appended.IsZero() {
		return ledger.AtTime(rec.Appended)
	}
	if effective.Known() {
		return effective
	}
	return ev.Time
}

// told reports whether a source tells what it did itself, as opposed to what was seen.
func told(k ledger.SourceKind) bool {
	return k == ledger.SourceManager || k == ledger.SourceOperator
}

// elapsed is the milliseconds from one moment to a later one; 0 if not later or unknown.
func elapsed(from, to ledger.Time) int64 {
	a, aok := from.Millis()
	b, bok := to.Millis()
	switch {
	case !aok || !bok || b <= a:
		return 0
	case b-a < 0: // further apart than an int64 counts
		return math.MaxInt64
	}
	return b - a
}
