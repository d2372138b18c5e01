package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/ledger/embedded"
)

// defaultAPI is where the daemon listens unless it is told otherwise.
const defaultAPI = "http://127.0.0.1:8642"

// Environment variables.
const (
	envAPI     = "OFFSETLEDGER_API"
	envDataDir = "OFFSETLEDGER_DATA_DIR"
)

// source is where answers come from: a daemon, or the ledger itself. Both answer the same.
type source struct {
	*api.Client
	close func() error
	alone bool // this process has the ledger open, so no daemon has
}

// sourceFlags adds the flags that say where answers come from.
func (a *app) sourceFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&a.apiURL, "api", "", "URL of the daemon (default "+defaultAPI+", or $"+envAPI+")")
	f.StringVar(&a.dataDir, "data-dir", "", "directory of the ledger, to open it without a daemon (default "+a.defaultDataDir()+")")
	f.StringVar(&a.cluster, "cluster", "", "Kafka cluster, where the ledger holds several")
}

// defaultDataDir is where the ledger is unless it is told otherwise.
func (a *app) defaultDataDir() string {
	if dir := a.getenv(envDataDir); dir != "" {
		return dir
	}
	if dir := a.getenv("XDG_DATA_HOME"); dir != "" {
		return filepath.Join(dir, "offsetledger")
	}
	return filepath.Join(a.getenv("HOME"), ".local", "share", "offsetledger")
}

// answerer is who answers: the daemon at an address, or whoever has the ledger in a directory.
type answerer struct {
	url   string // of a daemon; empty: ask dir
	dir   string
	named bool // on the command line or in the environment, so that nothing else will do
}

// answerer finds who is to answer. What was named is asked and nothing else; what was not is
// looked for at the default address and in the default directory.
func (a *app) answerer(ctx context.Context) (answerer, error) {
	address := a.apiURL
	switch {
	case a.apiURL != "" && a.dataDir != "":
		return answerer{}, usagef("--api asks a daemon and --data-dir opens a ledger without one: give one of the two")
	case a.dataDir != "":
		return answerer{dir: a.dataDir, named: true}, nil
	case address == "":
		address = a.getenv(envAPI)
	}
	if address == "" {
		if listening(ctx, defaultAPI) {
			return answerer{url: defaultAPI}, nil
		}
		return answerer{dir: a.defaultDataDir()}, nil
	}
	if strings.Contains(address, "@") {
		return answerer{}, usagef("the URL of a daemon has no user and no password; write one as %s", defaultAPI)
	}
	if u, err := url.Parse(address); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return answerer{}, usagef("%q is not the URL of a daemon; write one as %s", address, defaultAPI)
	}
	return answerer{url: address, named: true}, nil
}

// missing reports whether nobody answers because there is no ledger in the usual place, and
// none was named.
func (w answerer) missing() bool {
	if w.named || w.url != "" {
		return false
	}
	_, err := os.Stat(w.dir)
	return errors.Is(err, fs.ErrNotExist)
}

// open finds who answers, and opens the ledger if no daemon does.
func (a *app) open(ctx context.Context) (*source, error) {
	w, err := a.answerer(ctx)
	switch {
	case err != nil:
		return nil, err
	case w.url != "":
		return daemon(w.url), nil
	case w.missing():
		return nil, fmt.Errorf("no daemon listens at %s and there is no ledger in %s: start one with offsetledger serve, "+
			"or say where it is with --api or --data-dir", defaultAPI, w.dir)
	}
	l, err := openLedger(ctx, w.dir, a.warnings())
	if holder, ok := holderOf(w.dir, err); ok {
		return holder, nil
	}
	if err != nil {
		return nil, err
	}
	h := api.NewHandler(api.Config{Log: l.log, View: l.view, Snapshots: l.snapshots, Append: appender(l.log), Writes: recordOnly(l.log), Ledger: ledgerReport(l.log), Now: a.now})
	return &source{Client: &api.Client{URL: "http://" + localName, Transport: api.Local(h)}, close: l.close, alone: true}, nil
}

// warnings are what is logged to who types a command, without the time.
func (a *app) warnings() *slog.Logger {
	timeless := func(groups []string, attr slog.Attr) slog.Attr {
		if len(groups) == 0 && attr.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return attr
	}
	return slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelWarn, ReplaceAttr: timeless}))
}

func daemon(url string) *source {
	return &source{Client: &api.Client{URL: url}, close: func() error { return nil }}
}

// listening reports whether anybody listens at the address of an URL.
func listening(ctx context.Context, address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	d := net.Dialer{Timeout: 300 * time.Millisecond}
	conn, err := d.DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// holderOf is the daemon that has the ledger in dir open, if that is why it could not be opened.
func holderOf(dir string, err error) (*source, bool) {
	if !errors.Is(err, embedded.ErrLocked) {
		return nil, false
	}
	at, ok := announced(dir)
	return daemon(at), ok
}

// localName stands for this process in the URLs of requests to itself.
const localName = "ledger"

// apiFile, in the data directory, holds the URL of the daemon that has it open. It can be
// left behind by a crash, so it counts only while the directory is locked.
const apiFile = "api"

// announce notes in dir where its daemon listens, for commands that are given the directory.
// The returned function takes the note back.
func announce(dir, url string) (func(), error) {
	path := filepath.Join(dir, apiFile)
	if err := os.WriteFile(path, []byte(url+"\n"), 0o600); err != nil {
		return nil, err
	}
	return func() { os.Remove(path) }, nil
}

// announced is where the daemon that has dir open listens.
func announced(dir string) (string, bool) {
	b, err := os.ReadFile(filepath.Join(dir, apiFile))
	at := strings.TrimSpace(string(b))
	return at, err == nil && at != ""
}
