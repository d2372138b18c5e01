package api

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// group answers with one group and its offsets.
func (s *server) group(w http.ResponseWriter, r *http.Request, q Query) error {
	if q.Group == nil {
		return problem(CodeBadParameter, "group: say which group, as in group=billing; the empty group id is group=")
	}
	f, err := s.frame(r.Context(), q)
	if err != nil {
		return err
	}
	now, err := s.present(f, *q.Group)
	if err != nil {
		return err
	}
	if err := s.knownTopics(f, q.Topics); err != nil {
		return err
	}
	answer := Group{Rows: []OffsetRow{}, MemberRows: []MemberRow{}}
	err = s.read(r.Context(), f, q, func(st *projection.State) { f.describe(&answer, st, q) })
	if err != nil {
		return err
	}
	f.beforeHistory(&answer, now, q)
	answer.Envelope = f.envelope("group", f.asOf, f.asOf)
	answer.LastIncident = s.lastIncident(f, *q.Group)
	return writeJSON(w, r, f.tag(), answer)
}

// present returns the partitions that a group has now; a group that was never seen is a
// problem.
func (s *server) present(f *frame, group string) ([]projection.Partition, error) {
	var seen bool
	var known []string
	var now []projection.Partition
	s.View.Read(func(st *projection.State) {
		now = st.Partitions(f.cluster, group)
		if _, seen = st.Group(f.cluster, group); seen || len(now) > 0 {
			seen = true
			return
		}
		for _, g := range st.Groups(f.cluster) {
			known = append(known, g.Name)
		}
	})
	if !seen {
		return nil, f.unknownGroup(group, known)
	}
	return now, nil
}

// describe fills in what the state says of the group.
func (f *frame) describe(answer *Group, st *projection.State, q Query) {
	name := *q.Group
	if g, ok := st.Group(f.cluster, name); ok {
		answer.GroupRow, answer.Statistics = groupRow(st, &g), statistics(&g.Statistics)
		for _, m := range g.Members {
			answer.MemberRows = append(answer.MemberRows, MemberRow{Text(m.ID), Text(m.InstanceID), Text(m.ClientID), Text(m.Host)})
		}
	} else {
		answer.GroupRow = GroupRow{Group: Text(name), State: projection.GroupStateUnknown.String(), Type: ledger.GroupTypeUnknown.String()}
	}
	var total projection.TotalLag
	for _, p := range withUncommitted(st, f.cluster, st.Partitions(f.cluster, name)) {
		if !q.wantsPartition(p.Topic, p.Partition) {
			continue
		}
		if p.Committed.Exists {
			total.Add(st.Lag(f.cluster, &p))
		}
		answer.Rows = append(answer.Rows, f.offsetRow(st, name, &p))
	}
	answer.setLag(total)
}

func statistics(s *projection.Statistics) Statistics {
	out := Statistics{
		Commits: s.Commits, Successes: s.Successes, Failures: s.Failures, OffsetsCommitted: s.OffsetsCommitted,
		Rewinds: s.Rewinds, Jumps: s.Jumps, LastCommit: Time{s.LastCommit},
	}
	if d, ok := s.AverageDuration(); ok {
		seconds := d.Seconds()
		out.AverageCommitSeconds = &seconds
	}
	return out
}

// wantsPartition reports whether a query is about a partition.
func (q *Query) wantsPartition(topic string, partition int32) bool {
	return (len(q.Topics) == 0 || slices.Contains(q.Topics, topic)) &&
		(len(q.Partitions) == 0 || slices.Contains(q.Partitions, partition))
}

// withUncommitted adds the partitions that the group's topics have and the group has nothing
// for, so that they are seen to have nothing.
func withUncommitted(st *projection.State, cluster string, has []projection.Partition) []projection.Partition {
	var out []projection.Partition
	for i := 0; i < len(has); {
		topic := has[i].Topic
		live := false
		n := i
		for ; n < len(has) && has[n].Topic == topic; n++ {
			live = live || has[n].Committed.Exists && !has[n].OtherTopic
		}
		group := has[i:n]
		i = n
		t, ok := st.Topic(cluster, topic)
		if !ok || !t.Counted || !live {
			out = append(out, group...)
			continue
		}
		for p := int32(0); p < t.Partitions; p++ {
			if len(group) > 0 && group[0].Partition == p {
				out, group = append(out, group[0]), group[1:]
			} else if len(group) == 0 || group[0].Partition > p {
				out = append(out, projection.Partition{Topic: topic, TopicID: t.ID, Partition: p})
			}
		}
		out = append(out, group...)
	}
	return out
}

// beforeHistory adds the partitions that the group has a row of, but only from a later
// moment on: before capture began, what they had then is not known.
func (f *frame) beforeHistory(answer *Group, now []projection.Partition, q Query) {
	if !f.point.Time.Known() || !f.point.Time.Before(f.cover.Began) {
		return
	}
	for _, p := range now {
		listed := slices.ContainsFunc(answer.Rows, func(r OffsetRow) bool { return string(r.Topic) == p.Topic && r.Partition == p.Partition })
		if listed || !q.wantsPartition(p.Topic, p.Partition) {
			continue
		}
		row := OffsetRow{Topic: Text(p.Topic), TopicID: topicID(p.TopicID), Partition: p.Partition}
		row.setKnown(projection.Known{Why: projection.WhyBeforeHistory})
		answer.Rows = append(answer.Rows, row)
		answer.Unknown++ // its lag
	}
	slices.SortFunc(answer.Rows, func(a, b OffsetRow) int {
		if n := cmp.Compare(a.Topic, b.Topic); n != 0 {
			return n
		}
		return cmp.Compare(a.Partition, b.Partition)
	})
}
