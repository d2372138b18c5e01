package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/embedded"
	"github.com/offsetledger/offsetledger/ledger/stream"
	"github.com/offsetledger/offsetledger/projection"
	"github.com/offsetledger/offsetledger/replay"
)

// store is what this process keeps events in, or reads them from, and the fold of them.
type store struct {
	server *embedded.Server // nil where NATS is somebody else's
	conn   *nats.Conn
	at     string // where somebody else's NATS is, without secrets
	log    *stream.Log
	view   *projection.View
	trail  *projection.Trail // of the view
	// snapshots is nil where they cannot be reached: then everything comes from the log.
	snapshots *replay.Snapshots
}

// storeConfig says where a ledger is: in a directory, or on a NATS server.
type storeConfig struct {
	dir     string
	clients natsListener // who else reaches the server in dir
	nats    string       // URLs of somebody else's server, instead of dir
	create  bool         // where there is no ledger, make one
	logger  *slog.Logger // nil logs nothing
	unused  *slog.Logger // is told which snapshots cannot be used, if logger is nil; nil is not
}

// openStore opens a ledger. On failure nothing stays open.
func openStore(ctx context.Context, cfg storeConfig) (*store, error) {
	s := &store{view: projection.NewView(), trail: projection.NewTrail(0)}
	s.view.Leave(s.trail)
	var err error
	if cfg.nats != "" {
		err = s.connect(cfg)
	} else {
		err = s.start(ctx, cfg)
	}
	if err != nil {
		return nil, err
	}
	storing := stream.Config{Logger: cfg.logger}
	s.log, err = stream.Open(ctx, s.conn, storing)
	if errors.Is(err, stream.ErrNotFound) && cfg.create {
		s.log, err = stream.Create(ctx, s.conn, storing)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	s.openSnapshots(ctx, cfg)
	return s, nil
}

// start starts a server in the directory.
func (s *store) start(ctx context.Context, cfg storeConfig) (err error) {
	serving := embedded.Config{Dir: cfg.dir, Logger: cfg.logger}
	if err := cfg.clients.embed(&serving); err != nil {
		return err
	}
	if s.server, err = embedded.Start(ctx, serving); err != nil {
		return err
	}
	s.conn = s.server.Conn()
	return nil
}

// connect connects to somebody else's server.
func (s *store) connect(cfg storeConfig) (err error) {
	if cfg.clients != (natsListener{}) {
		return usagef("--nats-listen is of the embedded NATS server, and --nats is another: let clients in there")
	}
	if s.at, err = withoutSecrets(cfg.nats); err != nil {
		return usagef("--nats: %w", err)
	}
	if s.conn, err = nats.Connect(cfg.nats, nats.Name("offsetledger"), nats.MaxReconnects(-1)); err != nil {
		return fmt.Errorf("connect to NATS at %s: %w", s.at, err)
	}
	return nil
}

// withoutSecrets returns the URLs of NATS servers, separated by commas, as they can be shown:
// without users, passwords and tokens.
func withoutSecrets(addresses string) (string, error) {
	var shown []string
	for a := range strings.SplitSeq(addresses, ",") {
		a = strings.TrimSpace(a)
		if !strings.Contains(a, "://") {
			a = "nats://" + a
		}
		u, err := url.Parse(a)
		if err != nil {
			var detail *url.Error
			errors.As(err, &detail) // it holds the URL, and so its secrets
			return "", fmt.Errorf("not the URL of a NATS server: %w", detail.Err)
		}
		u.User = nil
		shown = append(shown, u.String())
	}
	return strings.Join(shown, ","), nil
}

// fold has the view follow the log in g, from the newest snapshot on, and returns when it has
// folded what there is.
func (s *store) fold(ctx context.Context, g *errgroup.Group) error {
	last, err := s.log.Last(ctx)
	if err != nil {
		return err
	}
	if err := s.resume(ctx); err != nil {
		return err
	}
	g.Go(func() error { return s.view.Run(ctx, s.log.Follow(ctx, s.view.Seq()+1, ledger.Filter{})) })
	return s.view.WaitFor(ctx, last)
}

// appender appends events that are to be stored whatever else is.
func appender(l *stream.Log) func(context.Context, []ledger.Event) error {
	return func(ctx context.Context, events []ledger.Event) error {
		_, err := l.Append(ctx, events)
		return err
	}
}

// away reports whether the NATS server is somebody else's and cannot be reached.
func (s *store) away() bool { return s.server == nil && !s.conn.IsConnected() }

// close lets go of the store, after everything that writes to it has ended.
func (s *store) close() error {
	if s.server != nil {
		return s.server.Close()
	}
	s.conn.Close()
	return nil
}

// openedLedger is a ledger that this process reads by itself.
type openedLedger struct {
	*store
	stop    context.CancelFunc
	reading errgroup.Group
}

// openLedger opens the ledger in dir and reads all of it. It never makes one. Which snapshots cannot be
// used is told to a logger, which can be nil.
func openLedger(ctx context.Context, dir string, unused *slog.Logger) (*openedLedger, error) {
	if !holdsLedger(dir) {
		return nil, noLedger(dir)
	}
	s, err := openStore(ctx, storeConfig{dir: dir, unused: unused})
	if err != nil {
		return nil, fmt.Errorf("open the ledger in %s: %w", dir, err)
	}
	reading, stop := context.WithCancel(ctx)
	l := &openedLedger{store: s, stop: stop}
	if err := l.fold(reading, &l.reading); err != nil {
		return nil, errors.Join(fmt.Errorf("read the ledger in %s: %w", dir, err), l.close())
	}
	return l, nil
}

// close waits until nothing reads any more. What the view ended with was told to whoever
// waited for it.
func (l *openedLedger) close() error {
	l.stop()
	l.reading.Wait() //nolint:errcheck // see above
	return l.store.close()
}

// holdsLedger reports whether there is something in the data directory.
func holdsLedger(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) > 0
}

func noLedger(dir string) error {
	return fmt.Errorf("there is no ledger in %s: offsetledger serve makes one", dir)
}
