package replay

import "math"

// Sums are what a plan, or a group of it, comes to.
type Sums struct {
	Set, Kept, Deleted, Refused int
	Skips, Replays              int64 // offsets; they stop at the largest number there is
	Uncounted                   int   // steps of which neither is known
}

// Sums adds up the steps of a group.
func (g *PlanGroup) Sums() Sums {
	var t Sums
	for i := range g.Steps {
		t.add(&g.Steps[i])
	}
	return t
}

// Sums adds up the steps of all groups.
func (p *Plan) Sums() Sums {
	var t Sums
	for i := range p.Groups {
		for j := range p.Groups[i].Steps {
			t.add(&p.Groups[i].Steps[j])
		}
	}
	return t
}

// idle reports whether a plan moves nothing.
func (p *Plan) idle() bool {
	t := p.Sums()
	return t.Set+t.Deleted == 0
}

func (t *Sums) add(s *Step) {
	switch s.Action {
	case ActionSet:
		t.Set++
	case ActionDelete:
		t.Deleted++
	case ActionRefuse:
		t.Refused++
	default:
		t.Kept++
	}
	skips, replays, ok := s.Moves()
	if !ok {
		t.Uncounted++
	}
	t.Skips, t.Replays = plus(t.Skips, skips), plus(t.Replays, replays)
}

func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// A commit is one write of the group's coordinator, whole or not at all, as long as its rows fit
// into one batch: a larger one fails as a whole. rowBytes is about what a row takes beside its
// topic and metadata.
const (
	commitBytes = 512 << 10
	rowBytes    = 128
)

// Commits is how many commits it takes to set the offsets of a group. With more than one the
// group is not moved at once: others can see a part of it moved and a part not.
func (g *PlanGroup) Commits() int {
	n, left := 0, 0
	for i := range g.Steps {
		s := &g.Steps[i]
		if s.Action != ActionSet {
			continue
		}
		size := rowBytes + len(s.Topic) + len(s.Metadata)
		if left < size {
			n, left = n+1, max(commitBytes, size)
		}
		left -= size
	}
	return n
}
