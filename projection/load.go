package projection

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/offsetledger/offsetledger/ledger"
)

// Whole reports whether the state can be written: not while an event that was cut in parts is
// half read.
func (s *State) Whole() bool { return len(s.parts) == 0 }

// Latest is the latest moment of anything folded or passed over: as of that moment and any after
// it, the state is the fold of all records up to [State.Seq].
func (s *State) Latest() ledger.Time { return s.latest }

// Named is the latest moment that anything folded or passed over names by any clock, Latest or
// later. So what happened after it by the clock of whoever told it stands behind [State.Seq].
func (s *State) Named() ledger.Time { return s.named }

// Size is the number of partitions that groups have, or had, an offset for.
func (s *State) Size() int {
	n := 0
	for _, c := range s.clusters {
		for _, g := range c.groups {
			for _, t := range g.topics {
				n += len(t.cells)
			}
		}
	}
	return n
}

// Begin says with which record the history of its cluster begins, without folding it: for a state
// of one group, whose own records begin later.
func (s *State) Begin(rec ledger.Record) { s.cluster(&rec) }

// GroupNames yields the groups of a cluster of which the state holds anything at all, sorted.
// That is more than [State.Groups]: of some only a gap is known.
func (s *State) GroupNames(cluster string) iter.Seq[string] {
	c := s.clusters[cluster]
	if c == nil {
		return func(func(string) bool) {}
	}
	names := slices.Collect(maps.Keys(c.groups))
	for name := range c.capture.groupGaps {
		if c.groups[name] == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Values(names)
}

// TopicsOf yields the topics that a group has or had an offset in, in no order.
func (s *State) TopicsOf(cluster, group string) iter.Seq[string] {
	return func(yield func(string) bool) {
		c := s.clusters[cluster]
		if c == nil || c.groups[group] == nil {
			return
		}
		for _, t := range c.groups[group].topics {
			if !yield(t.name) {
				return
			}
		}
	}
}

// AppendGroup appends to b all that the state holds of a group, as docs/snapshot.md says. The
// same state gives the same bytes. The cluster and the group have to be known.
func (s *State) AppendGroup(b []byte, cluster, group string) []byte {
	x := coder{b: b}
	s.clusters[cluster].codeGroup(&x, group)
	return x.b
}

// AppendTopics does the same for one shard of a cluster's topics, 0 to
// [ledger.WatermarkShards] - 1, with the ends of their logs.
func (s *State) AppendTopics(b []byte, cluster string, shard int32) []byte {
	x := coder{b: b}
	s.clusters[cluster].codeTopics(&x, shard)
	return x.b
}

// AppendCapture does the same for how far a cluster is known: cursors, gaps, open transactions.
func (s *State) AppendCapture(b []byte, cluster string) []byte {
	x := coder{b: b}
	s.clusters[cluster].capture.code(&x)
	return x.b
}

// codeGroup goes over a group and its own gaps. What is only gaps is no group yet.
func (c *cluster) codeGroup(x *coder, name string) {
	g := c.groups[name]
	known := g != nil
	if x.flag(&known); known {
		if x.reading {
			g = &group{name: name}
			c.groups[name] = g
		}
		g.code(x)
	}
	own := c.capture.groupGaps[name]
	missing := own != nil
	if x.flag(&missing); missing {
		if x.reading {
			own = &gaps{}
			if c.capture.groupGaps == nil {
				c.capture.groupGaps = map[string]*gaps{}
			}
			c.capture.groupGaps[name] = own
		}
		own.code(x)
	}
}

// Loader puts a state together from parts that were written by one. Parts that are left out are
// as if nothing had been recorded of what is in them, so that a state can hold one group only:
// the topics and the capture of its cluster belong to it.
//
// A part that is damaged fails with [ledger.ErrDamaged]; the loader is worth nothing then.
type Loader struct {
	state *State
	names map[string]string
}

// NewLoader returns a loader of the state after a sequence, with what [State.Appended] and
// [State.Latest] were there.
func NewLoader(seq uint64, appended time.Time, latest ledger.Time) *Loader {
	s := NewState()
	s.seq, s.appended, s.latest, s.named = seq, appended, latest, ledger.AtMillis(math.MaxInt64)
	return &Loader{state: s, names: map[string]string{}}
}

// Group takes in what [State.AppendGroup] wrote.
func (l *Loader) Group(of, group string, b []byte) error {
	return l.load(fmt.Sprintf("group %q", group), of, b, func(c *cluster, x *coder) { c.codeGroup(x, group) })
}

// Topics takes in what [State.AppendTopics] wrote.
func (l *Loader) Topics(of string, shard int32, b []byte) error {
	if shard < 0 || shard >= ledger.WatermarkShards {
		return fmt.Errorf("load topics of cluster %q: there is no shard %d", of, shard)
	}
	return l.load("topics", of, b, func(c *cluster, x *coder) { c.codeTopics(x, shard) })
}

// Capture takes in what [State.AppendCapture] wrote.
func (l *Loader) Capture(of string, b []byte) error {
	return l.load("capture", of, b, func(c *cluster, x *coder) { c.capture.code(x) })
}

func (l *Loader) load(what, name string, b []byte, code func(*cluster, *coder)) error {
	c := l.state.clusters[name]
	if c == nil {
		c = newCluster(name)
		l.state.clusters[name] = c
	}
	x := coder{b: b, reading: true, names: l.names}
	if code(c, &x); len(x.b) > 0 {
		x.fail("%d bytes are left over", len(x.b))
	}
	if x.err != nil {
		return fmt.Errorf("load %s of cluster %q: %w", what, name, x.err)
	}
	return nil
}

// Named says what [State.Named] was there. Who does not know that leaves it out: it can have been
// any moment.
func (l *Loader) Named(t ledger.Time) { l.state.named = t }

// State returns the state. It goes on with the record after its sequence.
func (l *Loader) State() *State { return l.state }
