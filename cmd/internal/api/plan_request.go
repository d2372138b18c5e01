package api

import (
	"context"
	"slices"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/replay"
)

// PlanRequest is the body of POST /api/v1/plans: what a plan is to achieve.
type PlanRequest struct {
	Command  string `json:"command"` // restore or reset
	Cluster  Text   `json:"cluster"`
	Incident string `json:"incident,omitempty"` // of restore: what it moved is put back
	Groups   []Text `json:"groups,omitempty"`
	// To is of restore a point of the history, of reset a target: see replay.ParseTarget. For
	// rows of a file it is "file".
	To        string     `json:"to,omitempty"`
	Rows      []FileRow  `json:"rows,omitempty"`
	Topics    []TopicSet `json:"topics,omitempty"`
	AllTopics bool       `json:"all_topics,omitempty"`

	Direction     string `json:"direction,omitempty"`
	Clamp         bool   `json:"clamp,omitempty"`
	AcceptExpiry  bool   `json:"accept_expiry,omitempty"`
	AllowNewGroup bool   `json:"allow_new_group,omitempty"`
	AllowNewTopic bool   `json:"allow_new_topic,omitempty"`
	DeleteAbsent  bool   `json:"delete_absent,omitempty"`
	AnyCluster    bool   `json:"any_cluster,omitempty"`
	ForceStreams  bool   `json:"force_streams,omitempty"`

	Actor  Text `json:"actor,omitempty"` // as it is claimed
	Reason Text `json:"reason,omitempty"`
	// Facts are what Kafka says now, by whoever asks. Without them whoever answers asks its own
	// Kafka, and the ledger if it has none.
	Facts *replay.Facts `json:"facts,omitempty"`
}

// TopicSet names partitions of a topic, or all of them.
type TopicSet struct {
	Topic      Text    `json:"topic"`
	Partitions []int32 `json:"partitions,omitempty"`
	All        bool    `json:"all,omitempty"`
}

// FileRow is a line of a file that the stock tool reads. All but the group have to be there: a
// number that was forgotten is not 0.
type FileRow struct {
	Group     *Text  `json:"group,omitempty"`
	Topic     Text   `json:"topic"`
	Partition *int32 `json:"partition" needed:"true"`
	Offset    *int64 `json:"offset" needed:"true"`
}

// FileRows are the rows of a file for a request.
func FileRows(rows []replay.FileRow) []FileRow {
	out := make([]FileRow, len(rows))
	for i, r := range rows {
		out[i] = FileRow{Topic: Text(r.Topic), Partition: &r.Partition, Offset: &r.Offset}
		if r.HasGroup {
			group := Text(r.Group)
			out[i].Group = &group
		}
	}
	return out
}

// Plan asks for a plan, which is stored.
func (c *Client) Plan(ctx context.Context, req PlanRequest) (*replay.Plan, error) {
	return post[*replay.Plan](ctx, c, routePlans, req)
}

// PlanInquiry asks what a plan would have to know of Kafka.
func (c *Client) PlanInquiry(ctx context.Context, req PlanRequest) (replay.Inquiry, error) {
	return post[replay.Inquiry](ctx, c, routePlanInquiry, req)
}

// wish is what a request asks for, without its point, which has to be looked up.
func (r *PlanRequest) wish(cluster string, now ledger.Time) (replay.Wish, *Problem) {
	w := replay.Wish{
		Command: r.Command, Cluster: cluster, AllTopics: r.AllTopics, Now: now,
		Rules: replay.Rules{
			Clamp: r.Clamp, AcceptExpiry: r.AcceptExpiry, AllowNewGroup: r.AllowNewGroup, AllowNewTopic: r.AllowNewTopic,
			DeleteAbsent: r.DeleteAbsent, AnyCluster: r.AnyCluster, ForceStreams: r.ForceStreams,
		},
	}
	if w.Command != replay.CommandRestore && w.Command != replay.CommandReset {
		return w, problem(CodeBadParameter, "command: %q is neither restore nor reset", r.Command)
	}
	var ok bool
	if w.Rules.Direction, ok = replay.ParseDirection(r.Direction); !ok {
		return w, problem(CodeBadParameter, "direction: %q is none; it is forward, back or both", r.Direction)
	}
	for _, g := range r.Groups {
		w.Groups = append(w.Groups, string(g))
	}
	for _, t := range r.Topics {
		parts := slices.Clone(t.Partitions)
		slices.Sort(parts)
		w.Picks = append(w.Picks, replay.Pick{Topic: string(t.Topic), Partitions: slices.Compact(parts), All: t.All})
	}
	for i, row := range r.Rows {
		switch missing := func(what string) *Problem { return problem(CodeBadParameter, "rows[%d].%s: it is missing", i, what) }; {
		case row.Topic == "":
			return w, missing("topic")
		case row.Partition == nil:
			return w, missing("partition")
		case row.Offset == nil:
			return w, missing("offset")
		}
		fr := replay.FileRow{Topic: string(row.Topic), Partition: *row.Partition, Offset: *row.Offset}
		if row.Group != nil {
			fr.Group, fr.HasGroup = string(*row.Group), true
			if len(r.Groups) == 0 {
				w.Groups = append(w.Groups, fr.Group)
			}
		}
		w.Target.Rows = append(w.Target.Rows, fr)
	}
	return w, r.contradiction()
}

// contradiction is what a request says twice, or not at all.
func (r *PlanRequest) contradiction() *Problem {
	switch {
	case r.Incident != "" && r.Command != replay.CommandRestore:
		return problem(CodeBadParameter, "an incident is restored, not reset")
	case r.Incident != "" && (r.To != "" || len(r.Groups) > 0):
		return problem(CodeBadParameter, "an incident names its group and where to: give it alone, or a group and a point")
	case r.Incident != "" && r.Direction != "":
		return problem(CodeBadParameter, "an incident is repaired in the one direction that repairs it: leave the direction out")
	case r.Incident == "" && r.To == "":
		return problem(CodeBadParameter, "it is not said where to")
	case r.Incident == "" && len(r.Groups) == 0 && !slices.ContainsFunc(r.Rows, func(row FileRow) bool { return row.Group != nil }):
		return problem(CodeBadParameter, "no group is named")
	case (r.To == "file") != (len(r.Rows) > 0):
		return problem(CodeBadParameter, "rows of a file go with the target file")
	case r.AllTopics && len(r.Topics) > 0:
		return problem(CodeBadParameter, "all topics are asked for, and some of them")
	}
	return nil
}

// target reads where to.
func (s *server) target(ctx context.Context, f *frame, r *PlanRequest, w *replay.Wish) error {
	now := s.Now()
	switch {
	case r.Incident != "":
		return nil
	case r.To == "file":
		w.Target.Kind, w.Target.Text = replay.TargetRows, "file"
		return nil
	case r.Command == replay.CommandRestore:
		p, err := replay.ParsePlanPoint(r.To, now, nil)
		if err != nil {
			return problem(CodeBadParameter, "to: %v", err)
		}
		if p.IsNow() {
			return problem(CodeBadParameter, "to: now is where the groups are; write a point of the past")
		}
		w.Target = replay.Target{Kind: replay.TargetPoint, Point: p, Text: p.String()}
	default:
		t, err := replay.ParseTarget(r.To, now, nil)
		if err != nil {
			return problem(CodeBadParameter, "to: %v", err)
		}
		w.Target = t
	}
	return s.resolveTarget(ctx, f, w)
}

// resolveTarget finds the place of the log that a target names.
func (s *server) resolveTarget(ctx context.Context, f *frame, w *replay.Wish) error {
	p := w.Target.Point
	if p.Seq > f.seq {
		return problem(CodeUnknownSequence, "to: the ledger ends at seq:%d", f.seq)
	}
	var group *string
	if len(w.Groups) == 1 {
		group = &w.Groups[0]
	}
	if w.Target.Kind == replay.TargetGroup {
		group = &w.Target.Group
	}
	found, err := replay.Resolve(ctx, s.Log, p, scope(f.cluster, group))
	if err != nil && ctx.Err() == nil {
		return problem(CodeUnknownSequence, "to: %v", err)
	}
	w.Target.Point = found
	return err
}
