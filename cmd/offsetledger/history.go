package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/cmd/internal/table"
	"github.com/offsetledger/offsetledger/projection"
)

// lastEvents is how many events a table shows if nobody says more.
const lastEvents = 50

// historyFlags are the flags of the history command.
type historyFlags struct {
	span           spanFlags
	topics         []string
	partitions     []int32
	movements, not []string
	limit          int
	around         string
	all, perRow    bool
	follow         bool
	lag            bool
	points         int64
}

func (a *app) historyCommand() *cobra.Command {
	var h historyFlags
	cmd := &cobra.Command{
		Use:   "history [GROUP]",
		Short: "What happened to the offsets of a group, or of all",
		Long: `Tell what happened, oldest first: one line for every event in a table (the last 50 unless
--limit or --all says otherwise), one row for every partition in the other formats (all of them
unless --limit is given).

With --lag tell how the lag of the group went instead, for plotting: one row for every partition
and moment at which it changed, until the next row. Of each of --points spans of time only the
least, the greatest and the last lag are told, and the first that is not known.`,
		Example: `  offsetledger history billing --since 02:44Z
  offsetledger history billing --movement rewind,jump,reset --since 7d
  offsetledger history billing --topic orders --partition 0 --all --partitions
  offsetledger history billing --around 184231 --limit 20
  offsetledger history billing --lag --since -1d -o csv
  offsetledger history -f --not advance,recommit -o jsonl`,
		Args: mostArgs(1, "a group"),
		RunE: func(cmd *cobra.Command, args []string) error {
			group, err := groupOf(cmd, args)
			if err != nil {
				return err
			}
			if h.lag {
				q, err := h.lagQuery(cmd, group)
				if err != nil {
					return err
				}
				return a.lagHistory(cmd, q, h)
			}
			if cmd.Flags().Changed("points") {
				return usagef("--points goes with --lag only")
			}
			q, err := h.query(cmd, group)
			if err != nil {
				return err
			}
			return a.history(cmd, q, h)
		},
	}
	f := cmd.Flags()
	h.span.add(cmd)
	f.StringArrayVar(&h.topics, "topic", nil, "only this topic; can be given several times")
	f.Int32SliceVar(&h.partitions, "partition", nil, "only these partitions")
	f.StringSliceVar(&h.movements, "movement", nil, "only these movements, as in rewind,jump")
	f.StringSliceVar(&h.not, "not", nil, "without these movements, as in advance,recommit")
	f.IntVar(&h.limit, "limit", lastEvents, "only the last so many events; other formats than tables have all by default")
	f.StringVar(&h.around, "around", "", "the events next to this sequence, half of --limit before it and half from it on")
	f.BoolVar(&h.all, "all", false, "all events, also in a table")
	f.BoolVar(&h.perRow, "partitions", false, "one line for every partition, also in a table")
	f.BoolVar(&h.lag, "lag", false, "how the lag of the group went")
	f.Int64Var(&h.points, "points", 200, "with --lag, how many spans of time to tell apart")
	f.BoolVarP(&h.follow, "follow", "f", false, "go on with what happens, until Ctrl-C")
	a.groupFlag(cmd)
	a.sourceFlags(cmd)
	a.outputFlag(cmd)
	return cmd
}

func (h *historyFlags) query(cmd *cobra.Command, group *string) (api.Query, error) {
	q := api.Query{Group: group, Topics: h.topics, Partitions: h.partitions, Follow: h.follow}
	var err error
	if q.Movements, err = movementsOf("movement", h.movements); err != nil {
		return q, err
	}
	if q.Not, err = movementsOf("not", h.not); err != nil {
		return q, err
	}
	if q.Around, err = aroundOf(h.around); err != nil {
		return q, err
	}
	q.Limit, err = limitOf(cmd, h.limit, h.all)
	return q, err
}

// aroundOf is the sequence of --around, which is written as 412 or, as elsewhere, seq:412.
func aroundOf(text string) (uint64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(text, "seq:"), 10, 63)
	if err != nil || n == 0 {
		return 0, usagef("--around %s: write the sequence of an event, as in 412", text)
	}
	return n, nil
}

func movementsOf(flag string, words []string) ([]projection.Movement, error) {
	var out []projection.Movement
	for _, w := range words {
		m, ok := projection.ParseMovement(w)
		if !ok {
			return nil, usagef("--%s: %q is no movement; they are %s", flag, w, strings.Join(api.MovementNames(), ", "))
		}
		out = append(out, m)
	}
	return out, nil
}

// limitOf is how many events are asked for: nil is all.
func limitOf(cmd *cobra.Command, limit int, all bool) (*int, error) {
	output := cmd.Flags().Lookup("output").Value.String()
	given := cmd.Flags().Changed("limit")
	switch {
	case given && all:
		return nil, usagef("--limit and --all contradict each other")
	case limit < 1:
		return nil, usagef("--limit %d would show nothing of what there is; --all shows all", limit)
	case all, !given && output != outTable && output != outWide:
		return nil, nil
	}
	return &limit, nil
}

func (a *app) history(cmd *cobra.Command, q api.Query, h historyFlags) error {
	if err := a.ask(&q, "", h.span); err != nil {
		return err
	}
	src, err := a.open(cmd.Context())
	if err != nil {
		return err
	}
	defer src.close() //nolint:errcheck // nothing was written
	if q.Follow || a.output == outJSONL || a.output == outCSV || a.output == outAWK {
		return a.streamHistory(cmd.Context(), src, q, h.perRow)
	}
	if a.output == outJSON {
		about, err := src.CopyHistory(cmd.Context(), q, a.stdout)
		if err == nil {
			a.coverageNote(&about)
		}
		return err
	}
	answer, err := src.History(cmd.Context(), q)
	if err != nil {
		return err
	}
	a.coverageNote(&answer.Envelope)
	if len(answer.Rows) == 0 {
		a.nothing(&answer, q)
		return nil
	}
	t := &table.Table{Columns: historyColumns(q.Group == nil, h.perRow)}
	for _, lines := range byEvent(answer.Rows, h.perRow) {
		t.Row(a.historyLine(lines, q.Group == nil, h.perRow)...)
	}
	if err := t.Write(a.stdout); err != nil {
		return err
	}
	a.historyFooter(&answer, q)
	return nil
}

// historyFooter says how much of what there is was shown, and how to look further.
func (a *app) historyFooter(answer *api.History, q api.Query) {
	since := ""
	if q.Since != "" {
		since = " since " + a.clock(answer.Coverage.From, seconds)
	}
	hint := ""
	if answer.Events < answer.TotalEvents {
		hint = "; --all, --partitions, --movement rewind,jump,reset"
	}
	a.note("%s  %d of %s%s, %s%s", clusterName(answer.Cluster), answer.Events, count(answer.TotalEvents, "event"), since,
		a.completeness(&answer.Coverage), hint)
	for i := len(answer.Rows) - 1; i >= 0; i-- {
		if r := &answer.Rows[i]; notable(r.Movement) && r.Seq > 1 {
			a.note("before %d: %s", r.Seq, a.typedDescribe(r.Group, r.Seq))
			return
		}
	}
}

// notable reports whether a movement is one that people look for.
func notable(movement string) bool {
	m, known := projection.ParseMovement(movement)
	return !known || m.Notable()
}

// nothing says that an empty answer is one, and how sure that is.
func (a *app) nothing(answer *api.History, q api.Query) {
	what := "nothing happened"
	if len(q.Movements) > 0 {
		words := make([]string, len(q.Movements))
		for i, m := range q.Movements {
			words[i] = m.String()
		}
		what = "no " + strings.Join(words, " or ")
	}
	a.note("%s", a.emptyWords(what, answer, q))
}

// emptyWords says what did not happen, where, since when, and how sure that is.
func (a *app) emptyWords(what string, answer *api.History, q api.Query) string {
	where := clusterName(answer.Cluster)
	if q.Group != nil {
		where += "/" + cell(api.Text(*q.Group))
	}
	text := fmt.Sprintf("%s in %s since %s (%s, %s)", what, where, instant(answer.Coverage.From),
		a.completeness(&answer.Coverage), count(answer.Commits, "commit"))
	if q.Group == nil {
		return text
	}
	text += ". If records come twice, look at the producers, a seek(), or a second group on these topics"
	if len(answer.SameTopics) > 0 {
		names := make([]string, len(answer.SameTopics))
		for i, n := range answer.SameTopics {
			names[i] = cell(n)
		}
		text += ": " + strings.Join(names, ", ")
	}
	return text
}
