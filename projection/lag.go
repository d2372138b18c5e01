package projection

import (
	"math"
	"strconv"

	"github.com/offsetledger/offsetledger/ledger"
)

// Lag is how far a group is behind the end of one partition, and what is odd about it. It
// counts offsets, which are not quite records: markers of transactions and what compaction
// removed have offsets too.
type Lag struct {
	Known bool
	// Records is the lag up to the log end offset, Readable that up to the last stable offset,
	// which is all that a consumer with read_committed can get. Both mean something only if
	// Known, and are never negative.
	Records, Readable int64
	// Unread counts the offsets between the committed one and the log start: they were
	// removed before the group came to them.
	Unread int64
	// Ahead is how far the committed offset lies beyond the log end offset.
	Ahead int64
	// Why says why the lag is not known; empty if it is.
	Why string
}

// LagOf computes the lag of a committed offset. From an end that is old no lag is known: the
// log has grown since, nobody can say how far. effective is when the offset was committed,
// the zero Time if that is not known; w is nil if the partition was never observed.
func LagOf(v Value, effective ledger.Time, w *Watermark) Lag {
	switch {
	case !v.Exists:
		return Lag{Why: "no committed offset"}
	case v.At < 0:
		return Lag{Why: "the committed offset is invalid"}
	case w == nil:
		return Lag{Why: "the log was not observed"}
	case w.LogEnd < 0 || w.LogStart < 0 || w.LogStart > w.LogEnd:
		return Lag{Why: "the observation of the log makes no sense"}
	case w.Old:
		return Lag{Why: "the log could not be observed since " + w.Observed.String()}
	}
	if v.At > w.LogEnd {
		// A commit after the observation proves that the log is longer now, not that the
		// offset is beyond it.
		if effective.After(w.Observed) {
			return Lag{Known: true}
		}
		return Lag{Known: true, Ahead: v.At - w.LogEnd}
	}
	from := max(v.At, w.LogStart)
	return Lag{
		Known: true, Records: w.LogEnd - from, Readable: max(min(w.LastStable, w.LogEnd)-from, 0), Unread: from - v.At,
	}
}

// Waits reports whether an open transaction holds back all that is left to read.
func (l Lag) Waits() bool { return l.Known && l.Records > 0 && l.Readable == 0 }

// Note says what is odd about the lag, "" if nothing is.
func (l Lag) Note() string {
	switch {
	case l.Unread > 0:
		return ledger.Count(l.Unread, "record") + " gone unread"
	case l.Ahead > 0:
		return "ahead of end by " + strconv.FormatInt(l.Ahead, 10)
	case l.Waits():
		return "waiting on an open transaction"
	}
	return l.Why
}

// Lag computes the lag of a partition of a group as of the state. An offset of another topic
// of the same name has none.
func (s *State) Lag(cluster string, p *Partition) Lag {
	w, ok := s.Watermark(cluster, p.Topic, p.Partition)
	if !ok {
		return p.Lag(nil)
	}
	return p.Lag(&w)
}

// Lag is [State.Lag] with the log as it was observed at some time; nil if it never was.
func (p *Partition) Lag(w *Watermark) Lag {
	switch {
	case p.OtherTopic:
		return Lag{Why: "committed to another topic of this name"}
	case p.Unreadable:
		return Lag{Why: "a later record could not be decoded"}
	}
	return LagOf(p.Committed, p.Effective, w)
}

// TotalLag sums up the lag of many partitions.
type TotalLag struct {
	Records, Readable int64 // of the known ones
	Known, Unknown    int   // partitions
}

// Add counts one partition in. A sum beyond the largest int64 stops there.
func (t *TotalLag) Add(l Lag) {
	if !l.Known {
		t.Unknown++
		return
	}
	t.Known++
	t.Records = addCapped(t.Records, l.Records)
	t.Readable = addCapped(t.Readable, l.Readable)
}

// Get returns the sum, and false when not a single partition's lag is known.
func (t TotalLag) Get() (int64, bool) { return t.Records, t.Known > 0 }

func addCapped(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// TotalLag sums up the lag of a group. Partitions whose offset went away do not count.
func (s *State) TotalLag(cluster, group string) TotalLag {
	var total TotalLag
	c, g := s.find(cluster, group)
	if g == nil {
		return total
	}
	g.cells(func(t *groupTopic, cl *cell) {
		if !cl.has(flagExists) {
			return
		}
		p := c.readCell(g, t, cl, nil)
		total.Add(s.Lag(cluster, &p))
	})
	return total
}
