package replay

import (
	"slices"
	"time"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// course is how the offset of one partition and its log went of late. Commits and observations of
// the log are told by two who read side by side: what came true first can be recorded last. So what
// was recorded is held back for a while, in the order in which it came true.
type course struct {
	before turn   // what was so before all of recent
	recent []turn // by time
}

// turn is what was so from a moment on.
type turn struct {
	at  ledger.Time
	p   *projection.Partition // what was committed; nil: nothing is known to have been
	log *projection.Watermark // the log as it was observed last; nil: it never was
	of  turnOf
}

// turnOf is what a turn came of.
type turnOf uint8

const (
	turnCommit turnOf = iota
	turnObserved
)

// How long what was recorded is held back, by the times of what is recorded since, and how much of
// one partition at most: what is recorded later than that is as of a log that was not observed.
const (
	heldBack   = 10 * time.Second
	mostTurns  = 256
	spareTurns = 64 // how many go at once where they are too many
)

// moved takes in what a record did to a partition at a moment.
func (l *lagging) moved(st *projection.State, tp ledger.TopicPartition, at ledger.Time) {
	if l.span.Wants != nil && !l.span.Wants(tp.Topic, tp.Partition) {
		return
	}
	c := l.courses[tp]
	if c == nil {
		c = &course{}
		l.courses[tp] = c
	}
	l.turn(st, tp, c, at, turnCommit)
}

// turn takes in what is so of a partition since a moment, by the state after the record that told it.
func (l *lagging) turn(st *projection.State, tp ledger.TopicPartition, c *course, at ledger.Time, of turnOf) {
	next := turn{at: at, of: of}
	if p, ok := st.Partition(l.cluster, l.group, tp.Topic, tp.Partition); ok {
		next.p = &p
	}
	if w, ok := st.Watermark(l.cluster, tp.Topic, tp.Partition); ok {
		next.log = &w
	}
	c.insert(next)
	newest := c.recent[len(c.recent)-1].at
	passed := 0
	for passed < len(c.recent)-1 {
		age, _ := newest.Sub(c.recent[passed].at)
		if age <= heldBack && len(c.recent)-passed <= mostTurns {
			break
		}
		passed++
	}
	if len(c.recent) > mostTurns {
		passed = max(passed, spareTurns)
	}
	l.pass(c, passed)
}

// insert puts a turn where it belongs by its time. One that came true before others were recorded
// takes from the turn before it what it does not tell itself, and they take over what it tells.
func (c *course) insert(next turn) {
	i := len(c.recent)
	for i > 0 && c.recent[i-1].at.After(next.at) {
		i--
	}
	if i < len(c.recent) {
		last := &c.before
		if i > 0 {
			last = &c.recent[i-1]
		}
		if next.of == turnCommit {
			next.log = last.log
		} else {
			next.p = last.p
		}
		for j := i; j < len(c.recent) && c.recent[j].of != next.of; j++ {
			if next.of == turnCommit {
				c.recent[j].p = next.p
			} else {
				c.recent[j].log = next.log
			}
		}
	}
	c.recent = slices.Insert(c.recent, i, next)
}

// pass notes the first turns for good.
func (l *lagging) pass(c *course, n int) {
	if n == 0 {
		return
	}
	for i := range c.recent[:n] {
		if t := &c.recent[i]; t.p != nil {
			l.keep(t.sample())
		}
	}
	c.before = c.recent[n-1]
	c.recent = slices.Delete(c.recent, 0, n)
}

// settle notes all that was held back.
func (l *lagging) settle() {
	for _, c := range l.courses {
		l.pass(c, len(c.recent))
	}
}

// sample is the lag at a turn. A log end that was told only later says nothing of that moment: it is
// so of commits that were recorded long after they came true.
func (t *turn) sample() LagSample {
	s := LagSample{Topic: t.p.Topic, Partition: t.p.Partition, Time: t.at, Committed: t.p.Committed, Lag: t.p.Lag(t.log)}
	if t.log == nil {
		return s
	}
	s.LogEnd = projection.Value{At: t.log.LogEnd, Exists: true}
	if t.log.Told.After(t.at) {
		s.LogEnd, s.Lag = projection.Value{}, projection.Lag{Why: "the log was not observed at that time"}
	}
	return s
}
