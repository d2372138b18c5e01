package projection

import (
	"time"

	"github.com/offsetledger/offsetledger/ledger"
)

// Certainty is how sure an answer is. It is never surer than the records make it.
type Certainty uint8

// The certainties.
const (
	CertaintyUnknown  Certainty = iota // Known.Why says why
	CertaintyExact                     // capture has passed the moment asked for
	CertaintyStale                     // capture has not yet, or is away: true up to Known.Until
	CertaintyInterval                  // polled: it came true between Known.NotBefore and Known.NotAfter
	CertaintyNone                      // there was no offset: Known.DeletedAt or Known.Never
)

var certaintyNames = [...]string{"unknown", "exact", "stale", "interval", "none"}

// String is the word that users see.
func (c Certainty) String() string { return certaintyNames[c] }

// Why an answer is unknown.
const (
	WhyBeforeHistory = "before history" // compaction had removed what was there
	WhyGap           = "gap"            // records were lost or never read
	WhyUnreadable    = "unreadable"     // the record that decides could not be decoded
	WhyOnlyPending   = "only pending"   // all that was seen is a transaction that is open
)

// Known says how sure an answer about one partition is.
type Known struct {
	Certainty           Certainty
	Until               ledger.Time // stale; unknown if capture was never at the end
	NotBefore, NotAfter ledger.Time // interval
	// DeletedAt and Never say which none it is; exactly one is set whenever there is no offset
	// and it is known why, also if the answer is stale.
	DeletedAt ledger.Time
	Never     bool
	Why       string // unknown
}

// Asked is the moment that an answer is about.
type Asked struct {
	// Time is set if the question is as of an effective time, and not for now or a sequence.
	Time ledger.Time
	// Now is the present; for a sequence, the append time of its record.
	Now ledger.Time
	// Through, if known, is how far capture has come, for callers that know better than the
	// last cursor of the state. For a sequence it is how long the answer is known to have held.
	Through ledger.Time
}

// maxBehind is how far capture can be behind for an answer about now, or by sequence, to be
// exact: five seconds, and the one that complete_through is always held back.
const maxBehind = 6 * time.Second

// Known says how sure the state is of a group's offset in one partition. p is what
// [State.Partition] returned, nil if that was nothing.
func (s *State) Known(cluster, group string, tp ledger.TopicPartition, p *Partition, q Asked) Known {
	c, g := s.find(cluster, group)
	if c == nil {
		return Known{Why: WhyBeforeHistory}
	}
	k := c.knowing(g, q)
	k.p = p
	own, ofLine := c.capture.gapsOf(group, g)
	k.hidden = own.hides(tp, k.moment()) || ofLine.hides(tp, k.moment())
	return k.known()
}

// Sure says how sure the state is as a whole: of everything in a cluster, or of one group. It
// is exact, stale, or unknown because the moment lies before history and nothing is known of it.
func (s *State) Sure(cluster string, name *string, q Asked) Known {
	c := s.clusters[cluster]
	if c == nil {
		return Known{Why: WhyBeforeHistory}
	}
	var g *group
	empty := c.lastSeq() == 0
	if name != nil {
		g = c.groups[*name]
		empty = g == nil || len(g.topics) == 0
	}
	k := c.knowing(g, q)
	switch {
	case empty && k.beforeHistory():
		return Known{Why: WhyBeforeHistory}
	case k.final():
		return Known{Certainty: CertaintyExact}
	}
	return Known{Certainty: CertaintyStale, Until: k.through}
}

// Through is the moment up to which everything was read that concerns a group, or a whole
// cluster: what is said of times before it never changes. It is unknown if that is not known.
func (s *State) Through(cluster string, group *string) ledger.Time {
	c := s.clusters[cluster]
	switch {
	case c == nil:
		return ledger.Time{}
	case group == nil:
		return c.through(nil, (*line).complete)
	}
	return c.through(c.groups[*group], (*line).complete)
}

// knowing gathers what decides about a group, or about the whole cluster if g is nil.
func (c *cluster) knowing(g *group, q Asked) knowing {
	k := knowing{asked: q, began: c.capture.began, told: c.capture.source == 0}
	if !k.began.Known() {
		k.began = c.capture.first
	}
	if q.Time.Known() {
		k.through = c.through(g, (*line).complete)
	} else {
		k.through = c.through(g, (*line).read)
		if g != nil {
			k.through = ledger.MaxTime(k.through, g.seen)
		}
	}
	k.through = ledger.MaxTime(k.through, q.Through)
	return k
}

// through is how far the source partition of a group was read, or all of them if it is not
// known or there is no group.
func (c *cluster) through(g *group, of func(*line) ledger.Time) ledger.Time {
	if g != nil && g.tailed {
		if l := c.capture.lines[g.line]; l != nil {
			return of(l)
		}
	}
	return c.capture.through(of)
}

// Span is the time that a gap covers; one that does not say when it ended is as long as it can be.
func (g *Gap) Span() Interval {
	span := Interval{From: g.From, To: g.To}
	if !span.To.Known() {
		span.To = g.Time
	}
	return span
}

// knowing is all that decides how sure an answer is.
type knowing struct {
	p       *Partition // nil: nothing was seen of it
	asked   Asked
	began   ledger.Time // of capture
	through ledger.Time // everything up to it is known
	told    bool        // nothing is captured: managers tell what they do
	hidden  bool        // rows may be missing at the moment asked for
}

// moment is the time that the answer is about.
func (k *knowing) moment() ledger.Time {
	if k.asked.Time.Known() {
		return k.asked.Time
	}
	return k.asked.Now
}

func (k *knowing) known() Known {
	p := k.p
	if k.hidden {
		return Known{Why: WhyGap}
	}
	if p != nil && p.Unreadable {
		return Known{Why: WhyUnreadable}
	}
	var out Known
	switch {
	case p != nil && p.Committed.Exists:
		out.Certainty = CertaintyExact
		if p.Unsure != nil {
			out = Known{Certainty: CertaintyInterval, NotBefore: p.Unsure.From, NotAfter: p.Unsure.To}
		} else if p.NotBefore.Known() {
			out = Known{Certainty: CertaintyInterval, NotBefore: p.NotBefore, NotAfter: p.Effective}
		}
	case p != nil && p.DeletedAt.Known():
		out = Known{Certainty: CertaintyNone, DeletedAt: p.DeletedAt}
	case p != nil && p.Pending != nil:
		return Known{Why: WhyOnlyPending}
	case k.beforeHistory():
		return Known{Why: WhyBeforeHistory}
	default:
		out = Known{Certainty: CertaintyNone, Never: true}
	}
	if !k.final() {
		out.Certainty, out.Until = CertaintyStale, k.through
	}
	return out
}

// beforeHistory reports whether the moment asked for is one of which only what compaction had
// left is known.
func (k *knowing) beforeHistory() bool {
	return k.asked.Time.Known() && (!k.began.Known() || k.asked.Time.Before(k.began))
}

// final reports whether nothing that comes can change the answer, or, for now, whether
// capture is close enough behind.
func (k *knowing) final() bool {
	if k.told {
		return !k.asked.Time.Known() || !k.asked.Time.After(k.asked.Now)
	}
	if k.asked.Time.Known() {
		return !k.asked.Time.After(k.through)
	}
	behind, ok := k.asked.Now.Sub(k.through)
	return ok && behind <= maxBehind
}
