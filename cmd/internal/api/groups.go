package api

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
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
	return s.writeJSON(w, r, answer)
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
	if q.Limit != nil && *q.Limit == 0 {
		return 0, 0, nil, nil // only the counts are asked for
	}
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
