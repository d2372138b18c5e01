package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/replay"
)

// groups answers with all groups of a cluster, deleted ones too.
func (s *server) groups(w http.ResponseWriter, r *http.Request, q Query) error {
	f, err := s.frame(r.Context(), q)
	if err != nil {
		return err
	}
	var rows []GroupRow
	err = s.read(r.Context(), f, q, func(st *projection.State) {
		for _, g := range st.Groups(f.cluster) {
			rows = append(rows, groupRow(st, &g))
		}
	})
	if err != nil {
		return err
	}
	rows = slices.DeleteFunc(rows, func(g GroupRow) bool { return !wanted(&g, q) })
	sortGroups(rows, q.Sort)
	answer := Groups{Envelope: f.envelope("groups", ledger.Time{}, ledger.Time{}), Total: len(rows)}
	from, to, next, fault := page(q, len(rows))
	if fault != nil {
		return fault
	}
	answer.Rows, answer.Next = append([]GroupRow{}, rows[from:to]...), next
	return writeJSON(w, r, f.tag(), answer)
}

// page cuts the rows that a query asks for. The cursor of such a list is a position.
func page(q Query, n int) (from, to int, next *string, fault *Problem) {
	if q.Next != "" {
		at, err := strconv.Atoi(q.Next)
		if err != nil || at < 0 {
			return 0, 0, nil, problem(CodeBadParameter, "next: %q does not come from an answer of this route", q.Next)
		}
		from = min(at, n)
	}
	to = n
	if q.Limit != nil && *q.Limit < n-from {
		to = from + *q.Limit
		cursor := strconv.Itoa(to)
		next = &cursor
	}
	return from, to, next, nil
}

func groupRow(st *projection.State, g *projection.Group) GroupRow {
	row := GroupRow{
		Group: Text(g.Name), State: g.State.String(), StateSince: Time{g.Since}, Type: g.Type.String(),
		Members: len(g.Members), Topics: len(g.Topics), Partitions: g.Offsets, DeletedAt: Time{g.DeletedAt},
	}
	total := st.TotalLag(g.Cluster, g.Name)
	row.setLag(total)
	for _, p := range st.Partitions(g.Cluster, g.Name) {
		row.LastMoved.Time = ledger.MaxTime(row.LastMoved.Time, p.Moved)
	}
	return row
}

func (g *GroupRow) setLag(total projection.TotalLag) {
	g.Unknown = total.Unknown
	g.TotalLag = nil
	if lag, ok := total.Get(); ok {
		g.TotalLag = &lag
	}
}

func wanted(g *GroupRow, q Query) bool {
	if q.State != "" && !strings.EqualFold(g.State, q.State) {
		return false
	}
	return q.LagAbove == nil || g.TotalLag != nil && *g.TotalLag > *q.LagAbove
}

// sortGroups sorts by name, or puts the largest lag or the latest move first.
func sortGroups(rows []GroupRow, by string) {
	lag := func(g GroupRow) int64 {
		if g.TotalLag == nil {
			return -1
		}
		return *g.TotalLag
	}
	switch by {
	case "lag":
		slices.SortStableFunc(rows, func(a, b GroupRow) int { return cmp.Compare(lag(b), lag(a)) })
	case "moved":
		slices.SortStableFunc(rows, func(a, b GroupRow) int {
			switch {
			case a.LastMoved.After(b.LastMoved.Time):
				return -1
			case a.LastMoved.Before(b.LastMoved.Time):
				return 1
			}
			return 0
		})
	}
}

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
		answer.GroupRow = groupRow(st, &g)
		for _, m := range g.Members {
			answer.MemberRows = append(answer.MemberRows, MemberRow{Text(m.ID), Text(m.InstanceID), Text(m.ClientID), Text(m.Host)})
		}
	} else {
		answer.GroupRow = GroupRow{Group: Text(name), State: projection.GroupStateUnknown.String(), Type: ledger.GroupTypeUnknown.String()}
	}
	var total projection.TotalLag
	if f.point.Time.Known() {
		f.seq = 0 // reading went on past the moment; what counts is the last row that was in time
	}
	for _, p := range withUncommitted(st, f.cluster, st.Partitions(f.cluster, name)) {
		if !q.wantsPartition(p.Topic, p.Partition) {
			continue
		}
		f.seq = max(f.seq, p.Seq)
		if p.Committed.Exists {
			total.Add(st.Lag(f.cluster, &p))
		}
		answer.Rows = append(answer.Rows, f.offsetRow(st, name, &p))
	}
	answer.setLag(total)
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
	if f.point.IsNow() || !f.cover.Began.After(f.asOf) {
		return
	}
	for _, p := range now {
		known := slices.IndexFunc(answer.Rows, func(r OffsetRow) bool { return string(r.Topic) == p.Topic && r.Partition == p.Partition })
		if !q.wantsPartition(p.Topic, p.Partition) || known >= 0 && answer.Rows[known].CommittedOffset != nil {
			continue
		}
		row := OffsetRow{Topic: Text(p.Topic), TopicID: topicID(p.TopicID), Partition: p.Partition}
		row.unknown(whyBeforeHistory)
		if known >= 0 {
			answer.Rows[known] = row
		} else {
			answer.Rows = append(answer.Rows, row)
		}
	}
	slices.SortFunc(answer.Rows, func(a, b OffsetRow) int {
		if n := cmp.Compare(a.Topic, b.Topic); n != 0 {
			return n
		}
		return cmp.Compare(a.Partition, b.Partition)
	})
}

// read calls read with the state of the moment that q asks for, and settles what f says of
// that moment.
func (s *server) read(ctx context.Context, f *frame, q Query, read func(*projection.State)) error {
	if err := s.at(ctx, f, q); err != nil {
		return err
	}
	if f.point.IsNow() {
		s.View.Read(func(st *projection.State) {
			f.seq = st.Seq()
			read(st)
		})
		return nil
	}
	st, err := replay.StateAt(ctx, s.Log, f.point, f.scope(q.Group))
	if err != nil {
		return err
	}
	read(st)
	return nil
}
