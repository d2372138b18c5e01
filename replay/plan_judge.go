package replay

import (
	"fmt"
	"slices"
	"strings"

	"github.com/offsetledger/offsetledger/ledger"
)

// direct refuses a plan that would move some partitions forward and others back, if nobody has
// said that both are meant.
func (d *Draft) direct(p *Plan) {
	if d.wish.Repair != nil || d.wish.Rules.Direction != DirectionAny || d.wish.named() || d.wish.Target.Kind == TargetRows {
		return
	}
	ways := map[Direction][]string{}
	for i := range p.Groups {
		g := &p.Groups[i]
		for _, way := range []Direction{DirectionForward, DirectionBack} {
			var moved []ledger.TopicPartition
			for j := range g.Steps {
				if g.Steps[j].Action == ActionSet && g.Steps[j].Way() == way {
					moved = append(moved, g.Steps[j].Key())
				}
			}
			if len(moved) == 0 {
				continue
			}
			text := PartitionsText(moved)
			if len(p.Groups) > 1 {
				text = ledger.Spell(g.Group) + " " + text
			}
			ways[way] = append(ways[way], text)
		}
	}
	if len(ways) < 2 {
		return
	}
	p.Refused = append(p.Refused, fmt.Sprintf("it would move forward %s, and back %s: say which is meant with rule direction (forward, back or both), "+
		"or name the partitions", strings.Join(ways[DirectionForward], ", "), strings.Join(ways[DirectionBack], ", ")))
}

// judge says what keeps a group from being written to.
func (d *decider) judge(out *PlanGroup) {
	g := d.group
	for _, m := range g.Members {
		member := PlanMember{ID: m.ID, InstanceID: m.InstanceID, ClientID: m.ClientID, Host: m.Host}
		if m.InstanceID != "" && m.SessionTimeoutMillis > 0 {
			member.HeldUntil = d.facts.At.Add(millis(m.SessionTimeoutMillis))
		}
		out.Members = append(out.Members, member)
	}
	switch g.Type {
	case ledger.GroupTypeShare:
		out.Refused = append(out.Refused, "it is a share group: Kafka takes no offsets for it from outside")
	case ledger.GroupTypeStreams:
		if !d.rules.ForceStreams {
			out.Refused = append(out.Refused, "it is a streams group, whose state stores follow its offsets; rule force_streams if they are reset too")
		}
	}
	t := out.Sums()
	if t.Set+t.Deleted == 0 {
		return
	}
	switch {
	case g.Problem != "":
		out.Blocked = append(out.Blocked, "the group could not be asked: "+g.Problem)
	case len(g.Members) > 0 || g.Exists && g.State != "Empty" && g.State != "Dead":
		out.Blocked = append(out.Blocked, BlockedActive)
	}
	if open := d.pending(out); len(open) > 0 {
		out.Blocked = append(out.Blocked, "an open transaction may still commit "+PartitionsText(open))
	}
}

// pending are the partitions that a plan touches and an open transaction may commit.
func (d *decider) pending(out *PlanGroup) (open []ledger.TopicPartition) {
	for i := range out.Steps {
		s := &out.Steps[i]
		if s.Action != ActionSet && s.Action != ActionDelete {
			continue
		}
		if _, ok := slices.BinarySearchFunc(d.group.Pending, s.Key(), comparePartitions); ok {
			open = append(open, s.Key())
		}
	}
	return open
}
