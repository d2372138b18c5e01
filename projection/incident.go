package projection

import (
	"strconv"
	"strings"
	"time"

	"github.com/offsetledger/offsetledger/ledger"
)

// Incident is one act that somebody may have to look at: the Changes of one group and one
// kind whose effective times lie within a second of the first. It is derived, never stored:
// the same records give the same incidents.
type Incident struct {
	Seq        uint64 // of its first record
	LastSeq    uint64 // of its last one
	Cluster    string
	Group      string
	Kind       Movement
	Time       ledger.Time // of its first Change
	Until      ledger.Time // of its last one
	Partitions int
	// Replayed and Skipped count the offsets that were moved back over and forward over.
	// Uncounted is the number of partitions of which neither is known, such as deleted ones.
	Replayed, Skipped int64
	Uncounted         int
	Who               *Who // of its first Change; never nil
	Evidence          string
	Reason            string
	Actor             string
	ActorVerified     bool
	Plan              string
	Cause             ledger.Cause
	CauseInferred     bool

	EmptySince   ledger.Time // the group had no members when it happened, since then
	ReadingSince ledger.Time // the group read again from then on; unknown if it has not
	ReadAgain    int64       // how much of Replayed was committed past a second time

	more []uint64 // sequences between Seq and LastSeq
	open []move   // what is watched for ReadAgain
}

// move is how one partition was set back, while it may still be read again.
type move struct {
	topic     string
	partition int32
	from, to  int64
	reached   int64
}

// ID names the incident: "i" and the sequence of its first record.
func (in *Incident) ID() string { return "i" + strconv.FormatUint(in.Seq, 10) }

// ParseIncidentID is the inverse of [Incident.ID]. It is false for what is none.
func ParseIncidentID(s string) (uint64, bool) {
	digits, ok := strings.CutPrefix(s, "i")
	seq, err := strconv.ParseUint(digits, 10, 64)
	return seq, ok && err == nil && seq > 0
}

// Holds reports whether the record with sequence seq is part of the incident.
func (in *Incident) Holds(seq uint64) bool {
	if seq == in.Seq || seq == in.LastSeq {
		return true
	}
	for _, s := range in.more {
		if s == seq {
			return true
		}
	}
	return false
}

// sameAct is how far from the first Change of an act the others can be.
const sameAct = time.Second

// IncidentFollowed is how long after an incident it is followed what the group reads again.
const IncidentFollowed = 24 * time.Hour

// begin makes the incident of a Change.
func begin(s *State, ch *Change) *Incident {
	in := &Incident{
		Seq: ch.Seq, LastSeq: ch.Seq, Cluster: ch.Cluster, Group: ch.Group, Kind: ch.Movement, Time: ch.Time, Until: ch.Time,
		Who: ch.Who, Evidence: ch.Evidence, Reason: ch.Reason, Actor: ch.Actor, ActorVerified: ch.ActorVerified, Plan: ch.Plan,
		Cause: ch.Cause, CauseInferred: ch.CauseInferred,
	}
	if _, g := s.find(ch.Cluster, ch.Group); g != nil && g.members.recorded && g.state == GroupStateEmpty {
		in.EmptySince = g.since
	}
	return in
}

// near reports whether a Change at t belongs to the same act.
func (in *Incident) near(t ledger.Time) bool {
	d, ok := t.Sub(in.Time)
	return ok && d <= sameAct && d >= -sameAct
}

// add counts a Change in that folding has just made in s.
func (in *Incident) add(s *State, ch *Change) {
	if ch.Seq != in.LastSeq {
		if in.LastSeq != in.Seq {
			in.more = append(in.more, in.LastSeq)
		}
		in.LastSeq = ch.Seq
	}
	in.Until = ledger.MaxTime(in.Until, ch.Time)
	in.Partitions++
	if ch.Movement == MovementAfterLoss {
		in.addAfterLoss(s, ch)
		return
	}
	from := ch.From
	switch {
	case !from.Exists || !ch.To.Exists || from.At < 0 || ch.To.At < 0 || ch.Movement == MovementRecreated:
		in.Uncounted++
	case ch.To.At < from.At:
		in.Replayed = addCapped(in.Replayed, from.At-ch.To.At)
		in.open = append(in.open, move{ch.Topic, ch.Partition, from.At, ch.To.At, ch.To.At})
	default:
		in.Skipped = addCapped(in.Skipped, ch.To.At-from.At)
	}
}

// addAfterLoss counts the first commit after a loss. One that no member made sets the offset,
// and what lies between it and the lost one will be read again, or not at all. One that a
// member made comes of reading: if it lies below what was lost, that began at the log start, as
// far as it is known, and has come to the commit. If not, nobody can tell whether the group
// began anew and has passed what was lost, or skipped some.
func (in *Incident) addAfterLoss(s *State, ch *Change) {
	lost, to := ch.Lost.At, ch.To.At
	reads := ch.Who.Kind == WhoMember || ch.Who.Kind == WhoMembersPresent
	switch {
	case lost < 0 || to < 0 || reads && to >= lost:
		in.Uncounted++
	case to >= lost:
		in.Skipped = addCapped(in.Skipped, to-lost)
	default:
		began := to
		if w, ok := s.Watermark(ch.Cluster, ch.Topic, ch.Partition); ok && reads {
			began = min(max(w.LogStart, 0), to)
		}
		in.Replayed = addCapped(in.Replayed, lost-began)
		in.ReadAgain = addCapped(in.ReadAgain, to-began)
		if to > began && !in.ReadingSince.Known() {
			in.ReadingSince = ch.Time
		}
		in.open = append(in.open, move{ch.Topic, ch.Partition, lost, began, to})
	}
}

// progress looks how far a group came since, and lets go of what it passed.
func (in *Incident) progress(g *group, at ledger.Time) {
	rest := in.open[:0]
	for _, m := range in.open {
		if t := g.topic(m.topic); t != nil {
			if i, ok := t.find(m.partition); ok && t.cells[i].has(flagExists) {
				reached := min(t.cells[i].at, m.from)
				if reached > m.reached {
					in.ReadAgain += reached - m.reached
					m.reached = reached
					if !in.ReadingSince.Known() {
						in.ReadingSince = at
					}
				}
			}
		}
		if m.reached < m.from {
			rest = append(rest, m)
		}
	}
	in.open = rest
	if age, ok := at.Sub(in.Time); len(rest) == 0 || ok && age > IncidentFollowed {
		in.open = nil
	}
}

// release stops watching a partition that something else than reading has moved.
func (in *Incident) release(topic string, partition int32) {
	for i, m := range in.open {
		if m.partition == partition && m.topic == topic {
			in.open = append(in.open[:i], in.open[i+1:]...)
			return
		}
	}
}
