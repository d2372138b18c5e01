package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/cmd/internal/table"
	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/replay"
)

// printPlan writes a plan: its sums first, then every step.
func (a *app) printPlan(p *replay.Plan) error {
	switch a.output {
	case outJSON:
		return a.printJSON(p)
	case outKafkaCSV:
		a.noteLeftOut(p)
		return p.WriteKafkaCSV(a.stdout)
	}
	t := a.stepTable(p)
	if !a.text() {
		return printRows(a, stepRows(p), t)
	}
	a.planHeader(p)
	if err := t.Write(a.stdout); err != nil {
		return err
	}
	for i := range p.Groups {
		a.planGroupNotes(p, &p.Groups[i])
	}
	for _, why := range p.Refused {
		fmt.Fprintf(a.stdout, "refused: %s\n", flagged(why))
	}
	if p.FromLedger {
		fmt.Fprintln(a.stdout, fromLedger(p))
	}
	return nil
}

// noteLeftOut says what of a plan is not in the file for the stock tool, which leaves that as it is.
func (a *app) noteLeftOut(p *replay.Plan) {
	t := p.Sums()
	switch {
	case p.Impossible():
		a.note("the file is empty, since nothing of plan %s can be carried out", p.ID)
	case t.Deleted > 0:
		a.note("not in the file, which cannot say it: %s to delete", count(t.Deleted, "offset"))
	case t.Set == 0 && p.Point != "current":
		a.note("the file is empty, since plan %s moves nothing", p.ID)
	}
}

// fromLedger says of a plan that no Kafka has answered for how old what it rests on is, and why.
func fromLedger(p *replay.Plan) string {
	asked, mend := "Kafka was not asked", "; name it with -B"
	if p.FactsProblem != "" {
		asked, mend = "Kafka did not answer ("+p.FactsProblem+")", ""
	}
	as := "of unknown age"
	if p.FactsAt.Known() {
		as = "as of " + api.Time{Time: p.FactsAt}.String()
	}
	return asked + ": offsets and bounds are " + as + ", leader epochs are left out" + mend
}

// mostNamed is how many groups the heading of a plan names.
const mostNamed = 3

func (a *app) planHeader(p *replay.Plan) {
	groups := make([]string, len(p.Groups))
	for i := range p.Groups {
		groups[i] = api.Shown(p.Groups[i].Group)
	}
	word := "back to"
	if p.Command == replay.CommandReset {
		word = "to"
	}
	point := p.Point
	switch {
	case p.Incident != "":
		point = fmt.Sprintf("before %s (%s, by %s)", p.Incident, strings.Replace(p.Point, "seq:", "seq ", 1), p.Clock)
	case p.Clock != replay.ClockNone:
		point += " (by " + p.Clock.String() + ")"
	}
	blocked := ""
	switch why := blockedWords(p); {
	case p.Impossible():
		blocked = "   REFUSED"
	case why != "":
		blocked = "   BLOCKED: " + why
	}
	if len(groups) > mostNamed+1 {
		groups = append(groups[:mostNamed], count(len(groups)-mostNamed, "other group"))
	}
	fmt.Fprintf(a.stdout, "PLAN %s  %s/%s  %s %s%s\n", p.ID, clusterName(p.Cluster), strings.Join(groups, ","), word, point, blocked)
	t := p.Sums()
	deleted := ""
	if t.Deleted > 0 {
		deleted = fmt.Sprintf(", %d deleted", t.Deleted)
	}
	done := ""
	if t.Skips > 0 && p.IncidentTime.Known() {
		done = " (done before " + a.clock(api.Time{Time: p.IncidentTime}, seconds) + ")"
	}
	uncounted := ""
	if t.Uncounted > 0 {
		uncounted = fmt.Sprintf("    (%d not known)", t.Uncounted)
	}
	fmt.Fprintf(a.stdout, "%d set, %d kept, %d refused%s    will SKIP %d%s    will REPLAY %d%s\n", t.Set, t.Kept, t.Refused, deleted, t.Skips, done, t.Replays, uncounted)
}

// blockedWords says in a few words what is in the way of a plan: of active groups how many
// members, who are listed below.
func blockedWords(p *replay.Plan) string {
	var words []string
	members := 0
	for i := range p.Groups {
		g := &p.Groups[i]
		for _, why := range g.Blocked {
			if why == replay.BlockedActive && len(g.Members) > 0 {
				members += len(g.Members)
				continue
			}
			words = append(words, why)
		}
	}
	if members > 0 {
		words = append([]string{count(members, "member")}, words...)
	}
	return strings.Join(words, ", ")
}

func (a *app) stepTable(p *replay.Plan) *table.Table {
	several, wide := len(p.Groups) > 1 || !a.text(), a.output == outWide
	t := &table.Table{}
	if several {
		t.Columns = append(t.Columns, table.Column{Name: "GROUP"})
	}
	t.Columns = append(t.Columns, table.Column{Name: "TOPIC"})
	for _, name := range []string{"PARTITION", "CURRENT-OFFSET", "NEW-OFFSET", "LOG-START", "LOG-END"} {
		t.Columns = append(t.Columns, table.Column{Name: name, Right: name != "PARTITION"})
	}
	t.Columns = append(t.Columns, table.Column{Name: "ACTION"}, table.Column{Name: "SKIPS", Right: true}, table.Column{Name: "REPLAYS", Right: true})
	if wide {
		t.Columns = append(t.Columns, table.Column{Name: "EPOCH", Right: true}, table.Column{Name: "METADATA"}, table.Column{Name: "EXPIRES"})
	}
	t.Columns = append(t.Columns, table.Column{Name: "NOTE"})
	for i := range p.Groups {
		for j := range p.Groups[i].Steps {
			s := &p.Groups[i].Steps[j]
			var cells []string
			if several {
				cells = append(cells, api.Shown(p.Groups[i].Group))
			}
			t.Row(append(cells, a.stepCells(s, wide)...)...)
		}
	}
	return t
}

func (a *app) stepCells(s *replay.Step, wide bool) []string {
	start, end := "", ""
	if s.Log != nil {
		start, end = strconv.FormatInt(s.Log.Start, 10), strconv.FormatInt(s.Log.End, 10)
	}
	skips, replays := "", ""
	if n, m, ok := s.Moves(); ok {
		skips, replays = strconv.FormatInt(n, 10), strconv.FormatInt(m, 10)
	}
	cells := []string{api.Shown(s.Topic), strconv.Itoa(int(s.Partition)), offsetCell(s.Current), offsetCell(s.Target), start, end,
		s.Action.String(), skips, replays}
	if wide {
		epoch := ""
		if n, ok := s.LeaderEpoch.Get(); ok {
			epoch = strconv.Itoa(int(n))
		}
		cells = append(cells, epoch, api.Spell(s.Metadata), a.clock(api.Time{Time: s.ExpiresAt}, seconds))
	}
	return append(cells, flagged(s.Reason))
}

func offsetCell(v projection.Value) string {
	if !v.Exists {
		return ""
	}
	return strconv.FormatInt(v.At, 10)
}

// planGroupNotes says of a group what is not in the steps.
func (a *app) planGroupNotes(p *replay.Plan, g *replay.PlanGroup) {
	of := ""
	if len(p.Groups) > 1 {
		of = api.Shown(g.Group) + ": "
	}
	for _, why := range g.Refused {
		fmt.Fprintf(a.stdout, "%srefused: %s\n", of, flagged(why))
	}
	if len(g.Untouched) > 0 {
		why := ""
		if p.Incident != "" {
			why = " (not touched by " + p.Incident + ")"
		}
		fmt.Fprintf(a.stdout, "%snot in this plan: %s%s\n", of, replay.PartitionsText(g.Untouched), why)
	}
	if len(g.LeftOut) > 0 {
		fmt.Fprintf(a.stdout, "%snot in this plan: %s (moved by %s, and left out by --topics)\n", of, replay.PartitionsText(g.LeftOut), p.Incident)
	}
	if n := g.Commits(); n > 1 {
		fmt.Fprintf(a.stdout, "%snot atomic: it takes %d commits, so the group is moved in that many steps\n", of, n)
	}
	if g.New && len(g.Refused) == 0 {
		fmt.Fprintf(a.stdout, "%sthe group does not exist: it is made\n", of)
	}
	if len(g.Members) == 0 {
		return
	}
	members := make([]string, len(g.Members))
	for i := range g.Members {
		members[i] = a.memberWords(&g.Members[i])
	}
	fmt.Fprintf(a.stdout, "%smembers: %s\n", of, strings.Join(members, ", "))
}

func (a *app) memberWords(m *replay.PlanMember) string {
	name := m.ClientID
	if m.InstanceID != "" {
		name = m.InstanceID
	}
	text := api.Shown(name) + " " + strings.TrimPrefix(m.Host, "/")
	switch {
	case m.InstanceID == "":
	case m.HeldUntil.Known():
		text += " (static, held until " + a.clock(api.Time{Time: m.HeldUntil}, seconds) + " if stopped now)"
	default:
		text += " (static, held until its session ends)"
	}
	return text
}
