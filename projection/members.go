package projection

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/offsetledger/offsetledger/ledger"
)

// membership is who was in a group, as far as its records have told.
type membership struct {
	typ          ledger.GroupType
	recorded     bool // the group has a group record
	everMember   bool // since that record began, some member was in it
	generation   int32
	position     int64 // of the last group record in the source line
	protocolType string
	members      []*member // sorted by id
	owners       []*Who    // cell.owner is an index; 0 is nobody
	// outsider and bareOutsider are who commits if nothing names a member; the latter of rows
	// with neither leader epoch nor metadata.
	outsider, bareOutsider *Who
}

type member struct {
	Member
	described, assigned bool // by records of type 5 and 8
	byMetadata          *Who
	byAssignment        *Who
}

func (m *membership) list() []Member {
	var out []Member
	for _, mb := range m.members {
		out = append(out, mb.Member)
	}
	return out
}

func (m *membership) find(id string) (int, bool) {
	return slices.BinarySearchFunc(m.members, id, func(mb *member, id string) int { return strings.Compare(mb.ID, id) })
}

// foldMembership folds what a group record said.
func (g *group) foldMembership(c *cluster, ev *ledger.Event) {
	said := ev.Membership
	if said == nil {
		return
	}
	m := &g.members
	ofGroup := said.RecordType != ledger.RecordMember && said.RecordType != ledger.RecordAssignment
	if said.Deleted && ofGroup {
		g.dissolve(said.RecordType, ev.Time)
		return
	}
	g.ever, m.recorded, m.position = true, true, ev.Source.Offset
	if said.Type != ledger.GroupTypeUnknown {
		m.typ = said.Type
	}
	at := ev.Time
	switch said.RecordType {
	case ledger.RecordGroup:
		m.generation = said.Generation
	case ledger.RecordMember:
		m.describe(said)
	case ledger.RecordAssignment:
		m.assign(said)
	default:
		m.generation, m.protocolType = said.Generation, said.ProtocolType
		m.replace(said)
		if said.StateTime.Known() {
			at = said.StateTime
		}
	}
	m.everMember = m.everMember || len(m.members) > 0 || said.Generation > 0
	switch {
	case len(m.members) > 0:
		g.enter(GroupStateStable, at)
	case said.RecordType == ledger.RecordClassicGroup && said.Generation == 0 && said.Protocol == "" && g.state != GroupStateStable:
		g.enter(GroupStatePreparingRebalance, at) // made by a first join; nothing became empty
	default:
		g.enter(GroupStateEmpty, at)
	}
	g.recompute(c)
}

// dissolve folds the tombstone of a group record. A classic group that goes over to KIP-848
// leaves one too, which is no deletion: its other records stand.
func (g *group) dissolve(recordType int16, at ledger.Time) {
	m := &g.members
	if m.typ == ledger.GroupTypeConsumer && recordType == ledger.RecordClassicGroup {
		return
	}
	g.members = membership{typ: m.typ}
	g.cells(func(_ *groupTopic, cl *cell) { cl.owner = 0 })
	g.settle(at)
}

// replace takes over the members of a classic group's record, which holds all of them.
func (m *membership) replace(said *ledger.Membership) {
	m.members = make([]*member, 0, len(said.Members))
	for i := range said.Members {
		mb := newMember(said.Members[i])
		mb.Epoch, mb.described, mb.assigned = said.Generation, true, true
		m.members = append(m.members, mb)
	}
	slices.SortFunc(m.members, func(a, b *member) int { return strings.Compare(a.ID, b.ID) })
}

// describe takes over one KIP-848 member's client id, host and subscriptions, or that it left.
func (m *membership) describe(said *ledger.Membership) {
	for i := range said.Members {
		told := newMember(said.Members[i])
		at, known := m.find(told.ID)
		if said.Deleted {
			m.drop(at, known, func(mb *member) { mb.described = false })
			continue
		}
		told.described = true
		if known {
			before := m.members[at]
			told.Assigned, told.Epoch, told.assigned = before.Assigned, before.Epoch, before.assigned
			m.members[at] = told
			continue
		}
		m.members = slices.Insert(m.members, at, told)
	}
}

// assign takes over one KIP-848 member's epoch and partitions, or that it has none any more.
func (m *membership) assign(said *ledger.Membership) {
	for i := range said.Members {
		told := newMember(said.Members[i])
		at, known := m.find(told.ID)
		if said.Deleted {
			m.drop(at, known, func(mb *member) { mb.assigned, mb.Assigned = false, nil })
			continue
		}
		if known {
			before := *m.members[at]
			before.Assigned = told.Assigned
			told = &before
		} else {
			m.members = slices.Insert(m.members, at, told)
		}
		told.Epoch, told.assigned = said.Generation, true
		m.members[at] = told
	}
}

// drop takes one of the two records of a member away, and the member with the second.
func (m *membership) drop(at int, known bool, forget func(*member)) {
	if !known {
		return
	}
	mb := *m.members[at]
	forget(&mb)
	if mb.described || mb.assigned {
		m.members[at] = &mb
		return
	}
	m.members = slices.Delete(m.members, at, at+1)
}

// newMember copies what belongs to the record.
func newMember(told ledger.Member) *member {
	told.Subscriptions = slices.Clone(told.Subscriptions)
	told.Assigned = slices.Clone(told.Assigned)
	for i := range told.Assigned {
		told.Assigned[i].Partitions = slices.Clone(told.Assigned[i].Partitions)
	}
	return &member{Member: Member{Member: told}}
}

// recompute works out, once per group record, what every row needs: who commits where.
func (g *group) recompute(c *cluster) {
	g.nameMembers()
	for _, t := range g.topics {
		g.assignOwners(c, t)
	}
}

// nameMembers makes the Who of all that can commit. A Who is never written to after a Change may
// hold it, so each time they are made anew.
func (g *group) nameMembers() {
	m := &g.members
	m.owners = append(make([]*Who, 0, 1+len(m.members)), nil)
	for _, mb := range m.members {
		mb.byMetadata = mb.who("the metadata is its member id")
		mb.byAssignment = mb.who("the partition is assigned to it alone")
		m.owners = append(m.owners, mb.byAssignment)
	}
	if len(m.members) == 0 {
		ev := fmt.Sprintf("the group has no member at this position of the log (%s since %s)", g.state, g.since)
		m.outsider = &Who{Kind: WhoNoMember, Inferred: true, Evidence: []string{ev}}
		m.bareOutsider = &Who{Kind: WhoNoMember, Inferred: true, Bare: true, Evidence: []string{ev, bareEvidence}}
	} else {
		present := "the group has " + ledger.Count(len(m.members), "member") + " at this position of the log"
		m.outsider = &Who{Kind: WhoMembersPresent, Inferred: true, Evidence: []string{present}}
		m.bareOutsider = m.outsider
	}
}

// assignOwners works out which member has each partition of a topic.
func (g *group) assignOwners(c *cluster, t *groupTopic) {
	for i := range t.cells {
		t.cells[i].owner = 0
	}
	for i := range g.members.members {
		g.own(c, t, i)
	}
}

const bareEvidence = "leader epoch -1 and no metadata, as admin tools write"

func (mb *member) who(evidence string) *Who {
	return &Who{
		Kind: WhoMember, ClientID: mb.ClientID, MemberID: mb.ID, Host: mb.Host,
		Inferred: true, Evidence: []string{evidence},
	}
}

// sharedOwner marks, while owners are worked out, a partition that two members have.
const sharedOwner = 1<<16 - 1

// own enters member i as the owner of its partitions of a topic. A partition that two members
// have, as while it moves from one to the other, has no single owner.
func (g *group) own(c *cluster, t *groupTopic, i int) {
	if i+1 >= sharedOwner {
		return
	}
	for _, a := range g.members.members[i].Assigned {
		if !t.named(c, a) {
			continue
		}
		for _, p := range a.Partitions {
			if at, ok := t.find(p); ok {
				if t.cells[at].owner != 0 {
					t.cells[at].owner = sharedOwner
				} else {
					t.cells[at].owner = uint16(i + 1)
				}
			}
		}
	}
}

// named reports whether an assignment is about this topic. KIP-848 members name it by id.
func (t *groupTopic) named(c *cluster, a ledger.TopicPartitions) bool {
	if a.TopicID == uuid.Nil {
		return a.Topic == t.name
	}
	if slices.Contains(t.ids[1:], a.TopicID) {
		return true
	}
	known := c.topics[t.name]
	return known != nil && known.ID == a.TopicID
}

// ownerOf is what own would enter for one partition; for a partition that is new.
func (g *group) ownerOf(c *cluster, t *groupTopic, partition int32) uint16 {
	owner := uint16(0)
	for i, mb := range g.members.members {
		for _, a := range mb.Assigned {
			if t.named(c, a) && slices.Contains(a.Partitions, partition) {
				if owner != 0 || i+1 >= sharedOwner {
					return sharedOwner
				}
				owner = uint16(i + 1)
			}
		}
	}
	return owner
}

// ownerWho is the member that alone has a partition, or nil.
func (m *membership) ownerWho(owner uint16) *Who {
	if owner == 0 || int(owner) >= len(m.owners) {
		return nil
	}
	return m.owners[owner]
}
