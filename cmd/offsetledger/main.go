// Command offsetledger is the flight recorder for Kafka consumer offsets. It captures every
// commit of every group into an immutable ledger and answers where a group is, where it was
// at any moment, and what moved it.
//
// The package wires the others together: one file for each subcommand, flags in, text or JSON
// out. It refuses to decide anything that another program than a terminal would want to know:
// answers come from package api, also where no daemon is asked.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A reader that has seen enough ends the output, and nothing else: see run.
	signal.Ignore(syscall.SIGPIPE)
	spare := spareMemory(os.Getenv, containerLimit)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv)
	runtime.KeepAlive(spare)
	stop()
	os.Exit(code)
}

// run is the whole program: it does what args say and returns the exit code. It keeps nothing
// between calls.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, getenv func(string) string) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, getenv: getenv, program: typedProgram(os.Args[0]), now: time.Now}
	return a.execute(ctx, args)
}

func (a *app) execute(ctx context.Context, args []string) int {
	root := a.rootCommand()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil, errors.Is(err, syscall.EPIPE):
		return exitDone
	case ctx.Err() != nil:
		return exitInterrupted
	}
	a.complain(err)
	return a.exitCode(err)
}
