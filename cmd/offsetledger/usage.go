package main

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/offsetledger/offsetledger/cmd/internal/near"
)

// noArgs is for commands that take no arguments. What was given to one that has commands of
// its own is taken for one of them, mistyped.
func noArgs(cmd *cobra.Command, args []string) error { return mostArgs(0, "")(cmd, args) }

// mostArgs is for commands that take at most n arguments, which are what.
func mostArgs(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) <= n:
			return nil
		case cmd.HasAvailableSubCommands() && (n == 0 || len(near.Names(args[0], commandNames(cmd))) > 0):
			return usagef("%q is no command of %s%s; see %s --help",
				args[0], cmd.CommandPath(), didYouMean(near.Names(args[0], commandNames(cmd))), cmd.CommandPath())
		case n == 0:
			return usagef("%q is too much: %s takes no argument", args[0], cmd.CommandPath())
		}
		return usagef("%q is too much: %s takes one argument, %s", args[n], cmd.CommandPath(), what)
	}
}

// oneArg is for commands that take exactly one argument, which is what.
func oneArg(what, example string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usagef("say which: %s takes %s, as in %s", cmd.CommandPath(), what, example)
		}
		return mostArgs(1, what)(cmd, args)
	}
}

// groupOnly is for commands that only hold others.
func groupOnly(cmd *cobra.Command, _ []string) error {
	return usagef("say what to do: %s", subcommands(cmd))
}

// subcommands names what can follow a command.
func subcommands(cmd *cobra.Command) string {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, cmd.CommandPath()+" "+c.Name())
		}
	}
	return strings.Join(names, ", ")
}

// strict has the commands that the library adds refuse what it would pass over.
func strict(root *cobra.Command) {
	root.SetHelpCommand(&cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about any command",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err == nil && len(rest) > 0 {
				err = noArgs(about, rest)
			}
			if err != nil {
				return err
			}
			return about.Help()
		},
	})
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Args, c.RunE = noArgs, groupOnly
		}
	}
}

func commandNames(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			names = append(names, c.Name())
		}
	}
	return names
}

func didYouMean(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(names, ", ") + "?"
}

// mayBeEmpty are the flags of names that can be empty in Kafka.
var mayBeEmpty = []string{"group", "topic"}

// noEmptyFlag refuses a flag that was given nothing, as by a variable of a script that is not
// set: leaving it out would answer another question than was meant.
func noEmptyFlag(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		list, isList := f.Value.(pflag.SliceValue)
		empty := f.Value.String() == "" || isList && len(list.GetSlice()) == 0
		if empty && err == nil && !slices.Contains(mayBeEmpty, f.Name) {
			err = usagef("--%s is empty: leave it out, or give it a value", f.Name)
		}
	})
	return err
}

// flagError says which flag is wrong, what was given, and what would be right.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var value *pflag.InvalidValueError
	var missing *pflag.ValueRequiredError
	switch {
	case errors.As(err, &unknown):
		if before := cmd.Flags().Args(); cmd.HasAvailableSubCommands() && len(before) > 0 && cmd.Args(cmd, before) != nil {
			return cmd.Args(cmd, before) // the flag is that of the command which was mistyped
		}
		name, typed := unknown.GetSpecifiedName(), "--"+unknown.GetSpecifiedName()
		if letters := unknown.GetSpecifiedShortnames(); letters != "" {
			// A long flag with one dash is read as a row of short ones.
			name, typed = letters, "-"+letters
		}
		return usagef("%s is no flag of %s%s; see %s --help", typed, cmd.CommandPath(), didYouMean(nearFlags(cmd, name)), cmd.CommandPath())
	case errors.As(err, &value):
		return usagef("--%s %q: %s", value.GetFlag().Name, value.GetValue(), wanted(value.GetFlag(), value.Unwrap()))
	case errors.As(err, &missing):
		return usagef("--%s needs a value: %s", missing.GetFlag().Name, missing.GetFlag().Usage)
	}
	return usagef("%w; see %s --help", err, cmd.CommandPath())
}

func nearFlags(cmd *cobra.Command, name string) []string {
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, f.Name)
		}
	})
	names := near.Names(name, known)
	for i := range names {
		names[i] = "--" + names[i]
	}
	return names
}

// wanted says what a flag takes, of one whose value it did not.
func wanted(f *pflag.Flag, fault error) string {
	tooLarge := errors.Is(fault, strconv.ErrRange)
	switch kind := f.Value.Type(); {
	case kind == "int32Slice" && tooLarge:
		return "a partition goes from 0 to " + strconv.Itoa(math.MaxInt32)
	case kind == "int32Slice":
		return "write whole numbers with commas between them, as in 0,1"
	case strings.HasPrefix(kind, "int") && tooLarge:
		return "the number is too large"
	case strings.HasPrefix(kind, "int"):
		return "write a whole number, as in 50"
	case kind == "duration":
		return "write a length of time with its unit, as in 30s, 10m, 2h"
	case kind == "bool":
		return "write true or false, or the flag alone"
	}
	return fault.Error()
}
