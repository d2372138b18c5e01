package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/embedded"
	"github.com/offsetledger/offsetledger/ledger/stream"
	"github.com/offsetledger/offsetledger/projection"
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

// open finds who answers. What was named is asked and nothing else; what was not is looked
// for at the default address and in the default directory.
func (a *app) open(ctx context.Context) (*source, error) {
	switch {
	case a.apiURL != "" && a.dataDir != "":
		return nil, usagef("--api asks a daemon and --data-dir opens a ledger without one: give one of the two")
	case a.apiURL != "":
		return named(a.apiURL)
	case a.dataDir != "":
		return a.openSource(ctx, a.dataDir)
	case a.getenv(envAPI) != "":
		return named(a.getenv(envAPI))
	case listening(ctx, defaultAPI):
		return daemon(defaultAPI), nil
	}
	dir := a.defaultDataDir()
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no daemon listens at %s and there is no ledger in %s: start one with offsetledger serve, "+
			"or say where it is with --api or --data-dir", defaultAPI, dir)
	}
	return a.openSource(ctx, dir)
}

// named is the daemon at an address that somebody typed.
func named(address string) (*source, error) {
	if u, err := url.Parse(address); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, usagef("%q is not the URL of a daemon; write one as %s", address, defaultAPI)
	}
	return daemon(address), nil
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

// openSource opens the ledger in dir, or asks the daemon that has it open.
func (a *app) openSource(ctx context.Context, dir string) (*source, error) {
	l, err := openLedger(ctx, dir)
	if errors.Is(err, embedded.ErrLocked) {
		if at, ok := announced(dir); ok {
			return daemon(at), nil
		}
	}
	if err != nil {
		return nil, err
	}
	h := api.NewHandler(api.Config{Log: l.log, View: l.view, Ledger: ledgerReport(l.log), Now: a.now})
	return &source{Client: &api.Client{URL: "http://" + localName, Transport: api.Local(h)}, close: l.close}, nil
}

// localName stands for this process in the URLs of requests to itself.
const localName = "ledger"

// openedLedger is a ledger that this process reads by itself.
type openedLedger struct {
	srv  *embedded.Server
	log  *stream.Log
	view *projection.View
	stop context.CancelFunc
	done chan error // what the view ended with
}

func noLedger(dir string) error {
	return fmt.Errorf("there is no ledger in %s: offsetledger serve makes one", dir)
}

// openLedger opens the ledger in dir and reads all of it. It never makes one.
func openLedger(ctx context.Context, dir string) (*openedLedger, error) {
	if !holdsLedger(dir) {
		return nil, noLedger(dir)
	}
	srv, err := embedded.Start(ctx, embedded.Config{Dir: dir})
	if err != nil {
		return nil, fmt.Errorf("open the ledger in %s: %w", dir, err)
	}
	log, err := stream.Open(ctx, srv.Conn(), stream.Config{})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the ledger in %s: %w", dir, err), srv.Close())
	}
	reading, stop := context.WithCancel(ctx)
	l := &openedLedger{srv: srv, log: log, view: projection.NewView(), stop: stop, done: make(chan error, 1)}
	go func() { l.done <- l.view.Run(reading, log.Follow(reading, 1, ledger.Filter{})) }()
	last, err := log.Last(ctx)
	if err == nil {
		err = l.view.WaitFor(ctx, last)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read the ledger in %s: %w", dir, err), l.close())
	}
	return l, nil
}

// close waits until nothing reads any more. What the view ended with was told to whoever
// waited for it.
func (l *openedLedger) close() error {
	l.stop()
	<-l.done //nolint:errcheck // see above
	return l.srv.Close()
}

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
