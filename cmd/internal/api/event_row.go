package api

import (
	"encoding/json"
	"strconv"

	"github.com/offsetledger/offsetledger/ledger"
)

// Events answers GET /api/v1/events: the raw events, oldest first.
type Events struct {
	Envelope
	Rows  []EventRow `json:"rows"`
	Total int        `json:"total"`
	Next  *string    `json:"next"` // the page before this one, null at the beginning
}

// EventRow is one event as it is stored.
type EventRow struct {
	Seq           uint64    `json:"seq"`
	Appended      Time      `json:"appended"`
	ID            string    `json:"id"`
	Kind          string    `json:"kind"`
	Cluster       string    `json:"cluster"`
	Group         *Text     `json:"group"` // null: the event is not about a group
	Topic         *Text     `json:"topic"` // null: the event is not about one topic
	Time          Time      `json:"time"`
	NotBefore     Time      `json:"not_before"`
	Part          int32     `json:"part"` // of Parts; 0 of 0 is a whole event
	Parts         int32     `json:"parts"`
	Source        SourceRow `json:"source"`
	Actor         *Text     `json:"actor"`
	ActorVerified bool      `json:"actor_verified"`
	Reason        *Text     `json:"reason"`
	Plan          *string   `json:"plan"`
	Cause         *string   `json:"cause"`
	CauseInferred bool      `json:"cause_inferred"`
	// Offsets, Updates and Before are the rows of group events.
	Offsets []EventOffset `json:"offsets"`
	Updates []EventOffset `json:"updates,omitempty"`
	Before  []EventOffset `json:"before,omitempty"`
	// Body is the rest, by kind: membership, topic, watermarks, cursor, gap and so on.
	Body json.RawMessage `json:"body"`
}

// SourceRow says who reported an event and where it stood there.
type SourceRow struct {
	Kind        string `json:"kind"`
	Partition   *int32 `json:"partition"`
	LeaderEpoch *int32 `json:"leader_epoch"`
	Offset      *int64 `json:"offset"`
	ProducerID  *int64 `json:"producer_id"` // null: not transactional
	Instance    Text   `json:"instance"`
}

// EventOffset is one row of an event.
type EventOffset struct {
	Topic        Text    `json:"topic"`
	TopicID      *string `json:"topic_id"`
	Partition    int32   `json:"partition"`
	Offset       int64   `json:"offset"`
	LeaderEpoch  *int32  `json:"leader_epoch"`
	Metadata     Text    `json:"metadata"`
	CommitTime   Time    `json:"commit_time"`
	ExpireTime   Time    `json:"expire_time"`
	Time         Time    `json:"time"`
	SourceOffset int64   `json:"source_offset"`
	ErrorCode    int16   `json:"error_code"`
	// Flags are oddities of the row that change nothing: trailing-bytes, no-metadata, or
	// flag-N for bit N of a version that is newer than this one.
	Flags []string `json:"flags,omitempty"`
}

func eventRow(rec *ledger.Record) (EventRow, error) {
	ev := &rec.Event
	row := EventRow{
		Seq: rec.Seq, Appended: Time{ledger.AtTime(rec.Appended)}, ID: ev.ID.String(), Kind: ev.Kind.String(), Cluster: ev.Cluster,
		Time: Time{ev.Time}, NotBefore: Time{ev.NotBefore}, Part: ev.Part, Parts: ev.Parts, Source: sourceRow(&ev.Source),
		Actor: said(ev.Actor), ActorVerified: ev.ActorVerified, Reason: said(ev.Reason), CauseInferred: ev.CauseInferred,
		Offsets: eventOffsets(ev, ev.Offsets), Updates: eventOffsets(ev, ev.Updates), Before: eventOffsets(ev, ev.Before),
	}
	switch {
	case ev.OfGroup():
		group := Text(ev.Group)
		row.Group = &group
	case ev.Kind == ledger.KindTopic:
		topic := Text(ev.Topic)
		row.Topic = &topic
	}
	if ev.Plan != "" {
		row.Plan = &ev.Plan
	}
	if ev.Cause != ledger.CauseUnknown {
		cause := ev.Cause.String()
		row.Cause = &cause
	}
	var err error
	row.Body, err = body(ev)
	return row, err
}

func sourceRow(s *ledger.Source) SourceRow {
	row := SourceRow{Kind: s.Kind.String(), Instance: Text(s.Instance)}
	switch s.Kind {
	case ledger.SourceTail:
		row.Partition, row.Offset, row.LeaderEpoch = &s.Partition, &s.Offset, epoch(s.LeaderEpoch)
	case ledger.SourceManager:
		row.Offset = &s.Offset
	}
	if s.Transactional {
		row.ProducerID = &s.ProducerID
	}
	return row
}

func epoch(e ledger.Epoch) *int32 {
	n, ok := e.Get()
	if !ok {
		return nil
	}
	return &n
}

func eventOffsets(ev *ledger.Event, offsets []ledger.Offset) []EventOffset {
	rows := make([]EventOffset, len(offsets))
	for i := range offsets {
		o := &offsets[i]
		rows[i] = EventOffset{
			Topic: Text(o.Topic), TopicID: topicID(o.TopicID), Partition: o.Partition, Offset: o.At, LeaderEpoch: epoch(o.LeaderEpoch),
			Metadata: Text(o.Metadata), CommitTime: Time{o.CommitTime}, ExpireTime: Time{o.ExpireTime},
			Time: Time{o.Effective}, SourceOffset: o.SourceOffset, ErrorCode: o.ErrorCode, Flags: flags(o.Flags),
		}
		if !o.Effective.Known() {
			rows[i].Time = Time{ev.Time}
		}
	}
	return rows
}

// flags names the flags of a row, nil if it has none.
func flags(f ledger.Flags) []string {
	var names []string
	for bit := 0; f != 0; bit, f = bit+1, f>>1 {
		if f&1 == 0 {
			continue
		}
		switch ledger.Flags(1) << bit {
		case ledger.FlagTrailingBytes:
			names = append(names, "trailing-bytes")
		case ledger.FlagNoMetadata:
			names = append(names, "no-metadata")
		default:
			names = append(names, "flag-"+strconv.Itoa(bit))
		}
	}
	return names
}
