package api

import (
	"fmt"
	"slices"
	"strings"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// changeRow tells what one row of an event of a kind did.
func changeRow(kind ledger.Kind, ch *projection.Change) ChangeRow {
	topic, partition := Text(ch.Topic), ch.Partition // the Change is overwritten by the next
	row := ChangeRow{
		Seq: ch.Seq, Row: ch.Row, Kind: kind.String(), Time: Time{ch.Time}, CommitTime: Time{ch.CommitTime},
		Group: Text(ch.Group), Topic: &topic, TopicID: topicID(ch.TopicID), Partition: &partition,
		From: offset(ch.From), To: offset(ch.To), Movement: ch.Movement.String(), Metadata: Text(ch.Metadata),
		Source: ch.Source.Kind.String(), Who: who(ch.Who), ActorVerified: ch.ActorVerified, Evidence: ch.Evidence,
	}
	if ch.NotBefore.Known() {
		row.NotBefore, row.NotAfter = Time{ch.NotBefore}, Time{ch.Time}
	}
	if ch.Also != 0 {
		row.Sources = []string{ch.Source.Kind.String(), ch.Also.String()}
	}
	row.Actor, row.Reason = said(ch.Actor), said(ch.Reason)
	if ch.Plan != "" {
		plan := ch.Plan
		row.Plan = &plan
	}
	if ch.Cause != ledger.CauseUnknown {
		cause := ch.Cause.String()
		row.Cause, row.CauseInferred = &cause, ch.CauseInferred
	}
	return row
}

// said is a text that somebody gave, nil if nobody did.
func said(s string) *Text {
	if s == "" {
		return nil
	}
	t := Text(s)
	return &t
}

func who(w *projection.Who) Who {
	if w == nil {
		w = &projection.Who{}
	}
	return Who{
		Kind: w.Kind.String(), ClientID: Text(w.ClientID), MemberID: Text(w.MemberID), Host: Text(w.Host),
		Inferred: w.Inferred, Bare: w.Bare, Evidence: append([]string{}, w.Evidence...),
	}
}

// noteRow tells of an event that moved no offset, but belongs to the story.
func noteRow(rec *ledger.Record, note string) ChangeRow {
	ev := &rec.Event
	row := ChangeRow{
		Seq: rec.Seq, Kind: ev.Kind.String(), Time: Time{ev.Time}, Group: Text(ev.Group), Movement: projection.MovementNone.String(),
		Source: ev.Source.Kind.String(), Who: who(nil), Actor: said(ev.Actor), ActorVerified: ev.ActorVerified, Reason: said(ev.Reason),
		Note: note,
	}
	if ev.Kind == ledger.KindTopic {
		topic := Text(ev.Topic)
		row.Topic = &topic
	}
	if ev.Cause != ledger.CauseUnknown {
		cause := ev.Cause.String()
		row.Cause, row.CauseInferred = &cause, ev.CauseInferred
	}
	return row
}

// intentNote says what somebody is about to do; a row at a negative offset is to go.
func intentNote(rows []ledger.Offset) string {
	gone := 0
	for i := range rows {
		if rows[i].At < 0 {
			gone++
		}
	}
	var parts []string
	if set := len(rows) - gone; set > 0 || gone == 0 {
		parts = append(parts, "set "+ledger.Count(set, "offset"))
	}
	if gone > 0 {
		parts = append(parts, "delete "+ledger.Count(gone, "offset"))
	}
	return "about to " + strings.Join(parts, " and ")
}

// membersNote says how an event of a group changed who is in it, "" if it did not.
func membersNote(before, after projection.Group) string {
	if after.State == projection.GroupStateDeleted {
		if before.State == after.State {
			return ""
		}
		return "group deleted"
	}
	joined, left := newcomers(before, after), newcomers(after, before)
	var parts []string
	if joined > 0 {
		parts = append(parts, ledger.Count(joined, "member")+" joined")
	}
	switch {
	case left > 0 && len(after.Members) == 0:
		parts = append(parts, "last member left")
	case left > 0:
		parts = append(parts, ledger.Count(left, "member")+" left")
	}
	if len(parts) == 0 && before.State == after.State {
		return ""
	}
	return strings.Join(append([]string{"group " + after.State.String()}, parts...), ", ")
}

// newcomers counts the members that after has and before has not.
func newcomers(before, after projection.Group) int {
	n := 0
	for _, m := range after.Members {
		if !slices.ContainsFunc(before.Members, func(o projection.Member) bool { return o.ID == m.ID }) {
			n++
		}
	}
	return n
}

// otherNote says what an event that is neither of offsets nor of members is about, "" if it
// does not belong to the story.
func otherNote(ev *ledger.Event) string {
	switch {
	case ev.Kind == ledger.KindFailed:
		return fmt.Sprintf("commit of %s did not count: %s", ledger.Count(len(ev.Offsets), "offset"), ev.Cause)
	case ev.Kind == ledger.KindGap && ev.Reason != "":
		return "history may be missing: " + ev.Reason
	case ev.Kind == ledger.KindGap:
		return "history may be missing: " + ev.Cause.String()
	case ev.Kind == ledger.KindIntent:
		return intentNote(ev.Offsets)
	case ev.Kind == ledger.KindClaim:
		return "an offset manager took over"
	case ev.Kind == ledger.KindCheckpoint && ev.Checkpoint != nil:
		return "checkpoint " + Spell(ev.Checkpoint.Name)
	case ev.Kind == ledger.KindTopic && ev.TopicInfo != nil && ev.TopicInfo.Deleted:
		return "topic deleted"
	case ev.Kind == ledger.KindTopic && ev.TopicInfo != nil && ev.TopicInfo.Recreated:
		return "topic made again"
	}
	return ""
}
