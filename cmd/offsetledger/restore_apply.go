package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/cmd/internal/brokers"
	"github.com/offsetledger/offsetledger/cmd/internal/config"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/replay"
)

// applyFlags say how a plan is carried out.
type applyFlags struct {
	kafka         config.Flags
	actor, reason string
	yes, strict   bool
	waitEmpty     time.Duration
	watch         time.Duration
}

func (a *app) addApplyFlags(cmd *cobra.Command, fl *applyFlags) {
	f := cmd.Flags()
	f.BoolVar(&fl.yes, "yes", false, "do not ask; needed where no terminal is")
	f.BoolVar(&fl.strict, "strict", false, "only if what is committed is exactly what it was when the plan was made")
	f.DurationVar(&fl.waitEmpty, "wait-empty", 0, "wait so long for groups that are active, and write as soon as they are empty")
	f.DurationVar(&fl.watch, "watch", 0, "look so long whether it stays, and end with 3 if somebody overwrites it")
	f.StringVar(&fl.reason, "reason", "", "why; it is recorded with every offset")
	a.actorFlag(cmd, &fl.actor)
	a.kafkaFlags(cmd, &fl.kafka)
	a.sourceFlags(cmd)
	f.StringVarP(&a.output, "output", "o", outTable, "table or json")
}

func (fl *applyFlags) check(a *app) error {
	switch {
	case fl.waitEmpty < 0:
		return usagef("--wait-empty %s: it cannot be negative", fl.waitEmpty)
	case fl.watch < 0:
		return usagef("--watch %s: it cannot be negative", fl.watch)
	case strings.TrimSpace(fl.reason) == "":
		return usagef(`say why with --reason "…": it is recorded with every offset that is moved`)
	}
	return oneOf("output", a.output, outTable, outJSON)
}

func (a *app) restoreApplyCommand() *cobra.Command {
	fl := &applyFlags{}
	cmd := &cobra.Command{
		Use:   "apply [PLAN]",
		Short: "Carry a plan out",
		Long: `Carry a plan out: one that is stored, by its id, or a file of restore plan -o json. Without one
it is the plan that you made last and that can still be carried out; if nobody is asked, an id is
needed.

Everything is looked at anew first, and nothing is written unless every action and direction is
as the plan says. What is intended is recorded with what was there before, the offsets are
committed through the group's coordinator and read back, and what was done is recorded. A run
that was interrupted is finished by typing the same again; nothing is repeated.

It is written from here if -B or the environment names Kafka, else by the daemon if that was
started with --allow-writes. The program ends with 4 if nothing was done because something is in
the way, 5 if groups did not become empty in time, 6 if some partitions are not as they were to
be, 3 if --watch saw it overwritten.`,
		Example: `  offsetledger restore apply p7f3a1 --reason "the deploy of 02:46" -B broker:9092
  offsetledger restore apply p7f3a1 --wait-empty 10m --watch 2m --yes --reason CHG-41`,
		Args: mostArgs(1, "the id of a plan"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := fl.check(a); err != nil {
				return err
			}
			src, err := a.open(cmd.Context())
			if err != nil {
				return err
			}
			defer src.close() //nolint:errcheck // what was stored is acknowledged
			plan, err := a.planOf(cmd.Context(), src, args, fl)
			if err != nil {
				return err
			}
			return a.applyPlan(cmd.Context(), src, plan, fl)
		},
	}
	a.addApplyFlags(cmd, fl)
	return cmd
}

// applyPlan shows a plan, asks, and carries it out.
func (a *app) applyPlan(ctx context.Context, src *source, plan *replay.Plan, fl *applyFlags) error {
	if a.output == outJSON && !fl.yes {
		return usagef("-o json is for programs, which cannot be asked: give --yes")
	}
	if fl.watch > 0 {
		if err := canWatch(ctx, src, plan.Cluster); err != nil {
			return err
		}
	}
	if a.output != outJSON {
		if err := a.printPlan(plan); err != nil {
			return err
		}
	}
	if err := a.confirm(plan, fl.yes); err != nil {
		return err
	}
	done, err := a.carryOut(ctx, src, plan, fl)
	if err != nil {
		return applyExit(err)
	}
	if err := a.printRestored(&done, fl.kafka); err != nil {
		return err
	}
	if !done.Whole {
		return &exitError{exitPartly, fmt.Errorf("plan %s is only partly done: type the same again to try the rest", plan.ID)}
	}
	if fl.watch == 0 || done.ID == "" {
		return nil
	}
	shown, _, err := a.findRestore(ctx, src, done.ID)
	if err != nil {
		return err
	}
	return a.watchRestored(ctx, src, plan, shown.Restore.Seq, fl.watch)
}

// errNoTerminal is why nobody is asked.
var errNoTerminal = usagef("there is no terminal to ask on, and nothing was done: look at the plan, and give --yes to carry it out unasked")

// confirm asks for cluster/group on a terminal; elsewhere it has to be said that nobody is asked.
func (a *app) confirm(plan *replay.Plan, yes bool) error {
	if yes {
		return nil
	}
	want := api.Shown(plan.Cluster)
	if len(plan.Groups) == 1 {
		want += "/" + api.Shown(plan.Groups[0].Group)
	} else {
		want += fmt.Sprintf("/%d groups", len(plan.Groups))
	}
	if !onTerminal(a.stdin) {
		return errNoTerminal
	}
	fmt.Fprintf(a.stderr, "type %s to carry it out: ", want)
	line, err := bufio.NewReader(a.stdin).ReadString('\n')
	switch {
	case errors.Is(err, io.EOF) && line == "":
		fmt.Fprintln(a.stderr)
		return errNoTerminal
	case err != nil && !errors.Is(err, io.EOF):
		return err
	}
	if strings.TrimSpace(line) != want {
		return &exitError{exitRefused, errors.New("that is not it; nothing was done")}
	}
	return nil
}

// onTerminal reports whether somebody types what is read.
func onTerminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	if !ok {
		return false
	}
	st, err := f.Stat()
	if err != nil || st.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull) // a device as well, and nobody types there
	return err != nil || !os.SameFile(st, null)
}

// carryOut carries a plan out from here if Kafka is named, else it has the daemon do it.
func (a *app) carryOut(ctx context.Context, src *source, plan *replay.Plan, fl *applyFlags) (api.Restored, error) {
	if !a.namesKafka(fl.kafka) {
		return a.askDaemon(ctx, src, plan, fl)
	}
	k, err := a.loadKafka(fl.kafka)
	if err != nil {
		return api.Restored{}, err
	}
	client, err := kafkaClient(k)
	if err != nil {
		return api.Restored{}, err
	}
	defer client.Close()
	answered := sync.OnceFunc(a.sayWhenSlow("Kafka at " + k.String()))
	defer answered()
	done, err := replay.Apply(ctx, api.RestoreLog{Client: src.Client}, brokers.New(client, a.now), replay.Order{
		Plan: plan, By: replay.By{Actor: a.actorOf(fl.actor), Reason: fl.reason}, Strict: fl.strict, WaitEmpty: fl.waitEmpty, Clock: a.now,
		Learn: func(ctx context.Context, facts *replay.Facts) error {
			answered()
			return src.Learn(ctx, plan.Cluster, facts)
		},
		Waiting: func(groups []replay.PlanGroup) { a.note("waiting: %v", &replay.BlockedError{Groups: groups}) },
	})
	if done == nil || err != nil && !errors.Is(err, replay.ErrPartly) {
		return api.Restored{}, err
	}
	return api.RestoredOf(done), nil
}

// askEvery is the time between two tries to have a blocked plan carried out.
const askEvery = 500 * time.Millisecond

// heldUntil is until when a static member is held, which moves on with every look.
var heldUntil = regexp.MustCompile(`held until \S+`)

// askDaemon has the daemon carry a plan out, again and again while somebody is in the way and there
// is patience left.
func (a *app) askDaemon(ctx context.Context, src *source, plan *replay.Plan, fl *applyFlags) (api.Restored, error) {
	until := a.now().Add(fl.waitEmpty)
	req := api.ApplyRequest{
		Cluster: api.Text(plan.Cluster), ID: plan.ID, Strict: fl.strict, Actor: api.Text(a.actorOf(fl.actor)), Reason: api.Text(fl.reason),
	}
	told := ""
	for {
		answered := a.sayWhenSlow("the daemon, which asks Kafka,")
		done, err := src.Apply(ctx, req)
		answered()
		var p *api.Problem
		switch {
		case !errors.As(err, &p) || p.Code != api.CodeBlocked || fl.waitEmpty == 0:
			return done, err
		case !a.now().Before(until):
			return done, fmt.Errorf("%w after %s: %w", replay.ErrWaited, fl.waitEmpty, err)
		}
		if who := heldUntil.ReplaceAllLiteralString(p.Detail, ""); who != told {
			told = who
			a.note("waiting: %s", p.Detail)
		}
		if err := pause(ctx, askEvery); err != nil {
			return done, err
		}
	}
}

// applyExit gives an error of carrying out its exit code.
func applyExit(err error) error {
	var p *api.Problem
	switch {
	case errors.Is(err, replay.ErrWaited):
		return &exitError{exitTimeout, err}
	case errors.Is(err, replay.ErrPartly):
		return &exitError{exitPartly, err}
	case errors.Is(err, replay.ErrBlocked), errors.Is(err, replay.ErrStale), errors.Is(err, replay.ErrRefused), errors.Is(err, ledger.ErrConflict):
		return &exitError{exitRefused, err}
	case errors.As(err, &p):
		switch p.Code {
		case api.CodeBlocked, api.CodeStale, api.CodeRefused, api.CodeConflict, api.CodeReadOnly:
			return &exitError{exitRefused, err}
		}
	}
	return err
}

// printRestored says what has become of a plan, and how to take that back with Kafka as k says.
func (a *app) printRestored(r *api.Restored, k config.Flags) error {
	if a.output == outJSON {
		return a.printJSON(r)
	}
	if d := r.Drift; d.Moved+d.Appeared+d.Absent > 0 {
		a.note("since the plan was made, %s moved (forward %d, back %d); it is still true", count(d.Moved+d.Appeared+d.Absent, "offset"), d.Forward, d.Back)
	}
	if r.ID == "" {
		fmt.Fprintln(a.stdout, "nothing was to be done, and nothing is recorded")
		return nil
	}
	var written, earlier, deleted, refused int
	for i := range r.Rows {
		g := &r.Rows[i]
		written, earlier, deleted, refused = written+g.Written, earlier+g.Earlier, deleted+g.Deleted, refused+len(g.Refused)
		for _, x := range g.Refused {
			fmt.Fprintf(a.stdout, "refused  %s %s/%d: %s\n", cell(g.Group), cell(x.Topic), x.Partition, x.Error)
		}
	}
	line := fmt.Sprintf("written %d", written)
	if deleted > 0 {
		line += fmt.Sprintf("  deleted %d", deleted)
	}
	if r.Resumed {
		line += fmt.Sprintf("  done before %d", earlier)
	}
	fmt.Fprintf(a.stdout, "%s  read back %d  refused %d     %s     undo: %s\n", line, written+deleted, refused, r.ID, a.typedWrite(k, "restore", "undo", r.ID))
	return nil
}
