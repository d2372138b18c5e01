package main

import (
	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/replay"
)

// stepRow is a step in a list of rows.
type stepRow struct {
	Group       api.Text `json:"group"`
	Topic       api.Text `json:"topic"`
	Partition   int32    `json:"partition"`
	TopicID     *string  `json:"topic_id"`
	Current     *int64   `json:"current"`
	Target      *int64   `json:"target"`
	LeaderEpoch *int32   `json:"leader_epoch"`
	Metadata    api.Text `json:"metadata"`
	LogStart    *int64   `json:"log_start_offset"`
	LogEnd      *int64   `json:"log_end_offset"`
	Action      string   `json:"action"`
	Skips       *int64   `json:"skips"`
	Replays     *int64   `json:"replays"`
	ExpiresAt   api.Time `json:"expires_at"`
	Reason      string   `json:"reason"`
}

func stepRows(p *replay.Plan) []stepRow {
	var rows []stepRow
	for i := range p.Groups {
		for j := range p.Groups[i].Steps {
			s := &p.Groups[i].Steps[j]
			row := stepRow{
				Group: api.Text(p.Groups[i].Group), Topic: api.Text(s.Topic), Partition: s.Partition, Metadata: api.Text(s.Metadata),
				Action: s.Action.String(), ExpiresAt: api.Time{Time: s.ExpiresAt}, Reason: s.Reason,
				Current: offsetOf(s.Current), Target: offsetOf(s.Target),
			}
			if id := s.TopicID; id != [16]byte{} {
				text := id.String()
				row.TopicID = &text
			}
			if n, ok := s.LeaderEpoch.Get(); ok {
				row.LeaderEpoch = &n
			}
			if s.Log != nil {
				row.LogStart, row.LogEnd = &s.Log.Start, &s.Log.End
			}
			if skips, replays, ok := s.Moves(); ok {
				row.Skips, row.Replays = &skips, &replays
			}
			rows = append(rows, row)
		}
	}
	return rows
}

func offsetOf(v projection.Value) *int64 {
	if !v.Exists {
		return nil
	}
	return &v.At
}
