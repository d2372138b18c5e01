package projection

import (
	"cmp"
	"slices"

	"github.com/offsetledger/offsetledger/ledger"
)

// maxGaps bounds the gaps that are told apart of one source partition or one group, and the
// stretches of one partition of a group. When there are more, the two oldest become one, with
// what lies between them: an answer is then less sure than it could be, never surer than it is.
const maxGaps = 1024

// gaps are the stretches of possibly missing history of one source partition or of one group.
type gaps struct {
	list  []Gap                            // in log order
	whole spans                            // where rows of every key may be missing
	some  map[ledger.TopicPartition]*spans // where rows of one key may be
}

// add takes in the gap that was found last. Where the source lost its end it hides nothing:
// everything there had been read.
func (g *gaps) add(gap *Gap) {
	n := len(g.list)
	switch {
	case n > 0 && g.list[n-1].sameHole(gap):
		last := &g.list[n-1]
		last.To, last.Time, last.Keys = ledger.MaxTime(last.Span().To, gap.Span().To), gap.Time, append(last.Keys, gap.Keys...)
	case n == maxGaps:
		g.list[1] = joined(&g.list[0], &g.list[1])
		g.list = append(g.list[:0], g.list[1:]...)
		fallthrough
	default:
		g.list = append(g.list, *gap)
	}
	if !gap.OfGroup && gap.Cause == ledger.CauseTruncated {
		return
	}
	span := gap.Span()
	if len(gap.Keys) == 0 {
		g.whole.add(span)
		return
	}
	if g.some == nil {
		g.some = map[ledger.TopicPartition]*spans{}
	}
	for _, key := range gap.Keys {
		of := g.some[key]
		if of == nil {
			of = &spans{}
			g.some[key] = of
		}
		of.add(span)
	}
}

// sameHole reports whether two gaps tell of different keys behind the same missing records, as
// they do one by one when their first rows are read.
func (gap *Gap) sameHole(o *Gap) bool {
	return len(gap.Keys) > 0 && len(o.Keys) > 0 && gap.Cause == o.Cause && gap.Reason == o.Reason &&
		gap.SourcePartition == o.SourcePartition && gap.First == o.First && gap.Last == o.Last && gap.From == o.From
}

// joined is one gap in place of two, the older of them first.
func joined(a, b *Gap) Gap {
	out := *a
	span := b.Span()
	if b.From.Before(out.From) {
		out.From = b.From
	}
	out.To = ledger.MaxTime(a.Span().To, span.To)
	out.First, out.Last, out.Time = min(a.First, b.First), max(a.Last, b.Last), b.Time
	if a.Cause != b.Cause {
		out.Cause = ledger.CauseUnknown
	}
	out.Reason, out.Keys = "several gaps of long ago", nil
	return out
}

// hides reports whether rows of a key may be missing at a moment. g may be nil.
func (g *gaps) hides(key ledger.TopicPartition, at ledger.Time) bool {
	if g == nil {
		return false
	}
	return g.whole.hold(at) || g.some[key] != nil && g.some[key].hold(at)
}

// spans are stretches of time in order, none of which overlaps another. They are open at both
// ends, since what stands there is known.
type spans []Interval

// add takes in one stretch, and makes those that it overlaps one with it.
func (s *spans) add(span Interval) {
	if !span.From.Before(span.To) {
		return
	}
	all := *s
	first, _ := slices.BinarySearchFunc(all, span.From, func(i Interval, t ledger.Time) int {
		if i.To.After(t) {
			return 1
		}
		return -1
	})
	end := first
	for ; end < len(all) && all[end].From.Before(span.To); end++ {
		if all[end].From.Before(span.From) {
			span.From = all[end].From
		}
		span.To = ledger.MaxTime(span.To, all[end].To)
	}
	all = slices.Replace(all, first, end, span)
	if len(all) > maxGaps {
		all[1].From = all[0].From
		all = slices.Delete(all, 0, 1)
	}
	*s = all
}

// hold reports whether a moment lies inside one of the stretches.
func (s spans) hold(t ledger.Time) bool {
	after, _ := slices.BinarySearchFunc(s, t, func(i Interval, t ledger.Time) int {
		if i.From.Before(t) {
			return -1
		}
		return 1
	})
	return after > 0 && t.Before(s[after-1].To)
}

// gapsOf returns the gaps of a group, and those of the source partition that it lives in; both
// can be nil. name is that of the group, which g may not hold anything of yet.
func (k *capture) gapsOf(name string, g *group) (own, ofLine *gaps) {
	if g != nil && g.tailed {
		ofLine = k.lineGaps[g.line]
	}
	return k.groupGaps[name], ofLine
}

// Gaps returns where history may be missing of one group, or of a whole cluster if group is
// nil, and that touches the time within: in log order.
func (s *State) Gaps(cluster string, group *string, within Interval) []Gap {
	c := s.clusters[cluster]
	if c == nil {
		return nil
	}
	var out []Gap
	collect := func(g *gaps) {
		if g == nil {
			return
		}
		for i := range g.list {
			if span := g.list[i].Span(); !span.From.After(within.To) && !span.To.Before(within.From) {
				out = append(out, g.list[i])
			}
		}
	}
	if group != nil {
		own, ofLine := c.capture.gapsOf(*group, c.groups[*group])
		collect(own)
		collect(ofLine)
	} else {
		for _, g := range c.capture.groupGaps {
			collect(g)
		}
		for _, g := range c.capture.lineGaps {
			collect(g)
		}
	}
	slices.SortFunc(out, func(a, b Gap) int { return cmp.Compare(a.Seq, b.Seq) })
	return out
}
