package main

import (
	"strings"

	"github.com/spf13/cobra"
)

const rootHelp = `offsetledger records every commit that Kafka consumer groups make, for ever, and tells
where a group is, where it was at any moment, and what moved it.

  offsetledger group describe billing --at 02:46Z     where was it?
  offsetledger incidents --since 2h                   what went wrong?
  offsetledger history billing --since 02:44Z         what happened?

Commands that read ask the daemon at --api, or open the ledger in --data-dir themselves
when no daemon has it open. Times are RFC 3339, 02:46Z (the latest such moment), a date,
-10m (ago), seq:N, before:N or @UNIX-TIME, all in UTC unless a zone is given.`

// rootCommand is the whole command tree.
func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "offsetledger",
		Short:         "The flight recorder for Kafka consumer offsets",
		Long:          rootHelp,
		Version:       versionText(),
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: a.program},
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			a.started = true
			return noEmptyFlag(cmd)
		},
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(flagError)
	root.SetVersionTemplate("offsetledger {{.Version}}\n")
	root.AddCommand(
		a.groupCommand(),
		a.historyCommand(),
		a.eventsCommand(),
		a.incidentsCommand(),
		a.diffCommand(),
		a.restoreCommand(),
		a.resetCommand(),
		a.snapshotCommand(),
		a.serveCommand(),
		a.demoCommand(),
		a.doctorCommand(),
		a.benchCommand(),
		a.versionCommand(),
	)
	a.typedExamples(root)
	strict(root)
	return root
}

// oneOf checks the value of a flag that takes one of a few words.
func oneOf(flag, value string, words ...string) error {
	for _, w := range words {
		if value == w {
			return nil
		}
	}
	return usagef("--%s %s: it is one of %s", flag, value, strings.Join(words, ", "))
}
