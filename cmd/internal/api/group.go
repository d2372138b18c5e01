package api

import (
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
	var lags *timeLags
	err = s.read(r.Context(), f, q, func(st *projection.State) {
		if q.TimeLag {
			lags = f.timeLags()
		}
		f.describe(&answer, st, now, q, lags)
	})
	if err == nil && lags != nil {
		err = lags.fill(r.Context(), s, answer.Rows)
	}
	if err != nil {
		return err
	}
	answer.Envelope = f.envelope("group", f.asOf, f.asOf)
	if answer.LastIncident, err = s.lastIncident(r.Context(), f, *q.Group); err != nil {
		return err
	}
	return s.writeJSON(w, r, answer)
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

// describe fills in what the state says of the group; now is what it has at present. Before
// history that is what can be said to be unknown. lags is nil if they are not asked for.
func (f *frame) describe(answer *Group, st *projection.State, now []projection.Partition, q Query, lags *timeLags) {
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
	parts := st.AllPartitions(f.cluster, name)
	if f.point.Time.Known() && f.point.Time.Before(f.cover.Began) {
		parts = projection.WithLater(parts, now)
	}
	for _, p := range parts {
		if !q.wantsPartition(p.Topic, p.Partition) {
			continue
		}
		row := f.offsetRow(st, name, &p)
		if p.Committed.Exists || row.Why == projection.WhyBeforeHistory {
			total.Add(st.Lag(f.cluster, &p))
		}
		if lags != nil {
			lags.ask(st, &p, &row)
		}
		answer.Rows = append(answer.Rows, row)
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
