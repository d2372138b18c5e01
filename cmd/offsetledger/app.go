package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
)

// Exit codes.
const (
	exitDone        = 0
	exitFailed      = 1   // an error, or it cannot be told
	exitUsage       = 2   // the command line is wrong
	exitCheck       = 3   // a check said no
	exitRefused     = 4   // a precondition is not met
	exitTimeout     = 5   // waited, and it did not come
	exitPartly      = 6   // partly done
	exitInterrupted = 130 // Ctrl-C
)

// app is one run of the program: where it reads and writes, and the flags that all commands
// share.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	program        string           // as it was called, to be typed again
	now            func() time.Time // the clock of this machine, with its zone

	apiURL  string // --api
	dataDir string // --data-dir
	cluster string // --cluster
	output  string // -o

	started bool // the command line was understood
}

// exitError is an error with an exit code of its own.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// usagef is an error of the command line.
func usagef(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// exitCode is the code that err ends the program with.
func (a *app) exitCode(err error) int {
	var own *exitError
	var p *api.Problem
	switch {
	case errors.As(err, &own):
		return own.code
	case errors.As(err, &p) && (p.Code == api.CodeBadParameter || p.Code == api.CodeClusterNeeded):
		return exitUsage
	case !a.started:
		return exitUsage
	}
	return exitFailed
}

// complain prints err for people, on one line also if it is several joined.
func (a *app) complain(err error) {
	text := err.Error()
	var p *api.Problem
	if errors.As(err, &p) && len(p.Near) > 0 && (p.Code == api.CodeUnknownGroup || p.Code == api.CodeUnknownTopic) {
		near := make([]string, len(p.Near))
		for i, n := range p.Near {
			near[i] = n.String()
		}
		text += "; did you mean " + strings.Join(near, ", ") + "?"
	}
	fmt.Fprintf(a.stderr, "error: %s\n", strings.ReplaceAll(flagged(a.retyped(text)), "\n", "; "))
}

// note prints a line beside the data.
func (a *app) note(format string, args ...any) { fmt.Fprintf(a.stderr, format+"\n", args...) }
