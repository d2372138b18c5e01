package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/replay"
)

// groupFlag adds --group, for a command that also takes the group as an argument.
func (a *app) groupFlag(cmd *cobra.Command) {
	cmd.ValidArgsFunction = a.completeGroups
	cmd.Flags().String("group", "", `the group, as the argument; "" is the group with the empty id`)
}

// groupOf is the group that a command line names, nil if it names none.
func groupOf(cmd *cobra.Command, args []string) (*string, error) {
	flag := cmd.Flags().Lookup("group")
	switch {
	case flag.Changed && len(args) > 0:
		return nil, usagef("the group is given twice, as an argument and as --group")
	case flag.Changed:
		return nameOf(flag.Value.String())
	case len(args) > 0:
		return nameOf(args[0])
	}
	return nil, nil
}

func nameOf(text string) (*string, error) {
	name, err := api.ParseText(text)
	if err != nil {
		return nil, usagef("group %w", err)
	}
	return &name, nil
}

// spanFlags are the flags of commands that tell what happened in a span of time.
type spanFlags struct{ since, until string }

func (s *spanFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.since, "since", "", "from this point on, as in 2h, 02:44Z, seq:411")
	cmd.Flags().StringVar(&s.until, "until", "", "up to this point")
}

// pointFlag is a point of a command line: its flag, the word that it is echoed with, what was
// given, and where it goes.
type pointFlag struct {
	flag, word, text string
	to               *string
}

// ask puts the points of a command line into a query, as they are understood here: by this
// machine's clock, whatever that of the daemon shows. They are echoed so.
func (a *app) ask(q *api.Query, at string, span spanFlags) error {
	q.Cluster = a.cluster
	return a.points(pointFlag{"at", "as of", at, &q.At}, pointFlag{"since", "since", span.since, &q.Since}, pointFlag{"until", "until", span.until, &q.Until})
}

// points understands those flags that were given.
func (a *app) points(flags ...pointFlag) error {
	var echo []string
	for _, p := range flags {
		if p.text == "" {
			continue
		}
		point, err := replay.ParsePoint(p.text, a.now())
		if err != nil {
			return usagef("--%s %w", p.flag, err)
		}
		*p.to = point.String()
		echo = append(echo, p.word+" "+*p.to)
	}
	if len(echo) > 0 {
		a.note("%s", strings.Join(echo, ", "))
	}
	return nil
}
