package api

import (
	"github.com/google/uuid"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// offsetRow tells what a group has for one partition.
func (f *frame) offsetRow(st *projection.State, group string, p *projection.Partition) OffsetRow {
	row := OffsetRow{
		Topic: Text(p.Topic), TopicID: topicID(p.TopicID), Partition: p.Partition,
		CommittedOffset: offset(p.Committed), Metadata: Text(p.Metadata), CommitTime: Time{p.CommitTime},
		ExpiresAt: Time{p.ExpireTime}, Before: offset(p.Before),
	}
	if epoch, ok := p.LeaderEpoch.Get(); ok {
		row.LeaderEpoch = &epoch
	}
	if p.Assigned {
		client, host := Text(p.Owner.ClientID), Text(p.Owner.Host)
		row.ClientID, row.Host = &client, &host
	}
	if p.Pending != nil {
		row.Pending = &Pending{Offset: p.Pending.At, Since: Time{p.Pending.Since}}
	}
	if w, ok := st.Watermark(f.cluster, p.Topic, p.Partition); ok {
		row.LogStartOffset, row.LastStableOffset, row.LogEndOffset = &w.LogStart, &w.LastStable, &w.LogEnd
	}
	lag := st.Lag(f.cluster, p)
	if lag.Known {
		row.Lag = &lag.Records
	}
	row.setKnown(st.Known(f.cluster, group, ledger.TopicPartition{Topic: p.Topic, Partition: p.Partition}, p, f.asked()))
	row.Note = note(st, f.cluster, p, lag)
	return row
}

// note says what is odd about a row.
func note(st *projection.State, cluster string, p *projection.Partition, lag projection.Lag) string {
	t, known := st.Topic(cluster, p.Topic)
	switch {
	case known && t.DeletedAt.Known():
		return "topic gone since " + t.DeletedAt.String()
	case p.Invalid():
		return "invalid: a negative offset was committed"
	case !p.Committed.Exists && p.DeletedAt.Known():
		return deletion(p)
	case !p.Committed.Exists:
		return ""
	}
	return lag.Note()
}

// causes say why offsets went away, for people.
var causes = map[string]string{
	ledger.CauseDeleted.String(): "a request deleted it", ledger.CauseGroupDeleted.String(): "the group was deleted",
	ledger.CauseTopicDeleted.String(): "its topic was deleted", ledger.CauseCleared.String(): "an offset manager cleared it",
	ledger.CauseTruncated.String(): "the broker lost it", ledger.CauseUnknown.String(): "nobody knows why",
}

// CauseWords says for people what a cause means, as answers name it.
func CauseWords(cause string) string {
	if words := causes[cause]; words != "" {
		return words
	}
	return cause
}

func deletion(p *projection.Partition) string {
	note := "deleted " + p.DeletedAt.String() + ": " + CauseWords(p.Cause.String())
	if p.CauseInferred {
		note += " (inferred)"
	}
	return note
}

func topicID(id uuid.UUID) *string {
	if id == uuid.Nil {
		return nil
	}
	s := id.String()
	return &s
}

func offset(v projection.Value) *int64 {
	if !v.Exists {
		return nil
	}
	return &v.At
}
