package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// Server is a running NATS server. Its methods may be called from any goroutine.
type Server struct {
	nats *server.Server
	conn *nats.Conn
	lock *dirLock
	log  *slog.Logger
	gate *gate // nil without clients

	closing  sync.Once
	closeErr error
}

// noLimit keeps the server from limiting its own store to three quarters of what was free on
// the disk when it started: that limit counts what is stored already, so that a disk more than
// half full would be refused after a restart.
const noLimit = 1 << 62

// progressEvery is how often Start says that it is still recovering.
const progressEvery = 5 * time.Second

// Start locks the data directory, starts the server on it and returns when all that is stored
// has been recovered. There is no limit to how long that may take but ctx, and even when ctx
// ends the recovery under way is finished before Start returns its error, since the directory
// cannot be let go of earlier.
//
// It fails with [ErrLocked] when another process holds the directory, with [ErrLayout] when the
// directory is not one of this package and version, and with [ErrDamaged] when a stream in it
// would not be found.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	s, err := start(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("start embedded NATS server: %w", err)
	}
	return s, nil
}

func start(ctx context.Context, cfg Config) (*Server, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := &Server{log: cfg.Logger}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	var err error
	if s.lock, err = lockDir(cfg.Dir); err != nil {
		return nil, err
	}
	if err := s.checkDir(cfg.Dir); err != nil {
		return nil, errors.Join(err, s.lock.release())
	}
	if err := s.run(ctx, cfg); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// checkDir makes sure that the server will find everything that is stored in the directory.
func (s *Server) checkDir(dir string) error {
	if err := checkLayout(dir); err != nil {
		return err
	}
	removed, err := removeHalfMade(dir)
	for _, stream := range removed {
		s.log.Info("removed a stream without events that a process was making when it died", "dir", stream)
	}
	return err
}

// run brings the server up. When it fails, Close takes down as much as there is.
func (s *Server) run(ctx context.Context, cfg Config) error {
	var err error
	o := options(cfg)
	if len(cfg.Clients) > 0 {
		s.gate = &gate{accounts: map[string]*server.Account{}, ready: make(chan struct{})}
		o.CustomClientAuthentication, o.AlwaysEnableNonce = s.gate, true
	}
	if s.nats, err = server.NewServer(o); err != nil {
		return err
	}
	adapter := &logAdapter{log: s.log}
	s.nats.SetLoggerV2(adapter, s.log.Enabled(ctx, slog.LevelDebug), false, false)
	s.recover(ctx, cfg.Dir)
	if err := adapter.fault(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("gave up while stored data was being recovered: %w", err)
	}
	s.conn, err = nats.Connect("", nats.InProcessServer(inProcess{s.nats, cfg.SyncInterval == 0}), nats.Name("offsetledger"), nats.MaxReconnects(-1))
	if err != nil {
		return err
	}
	return s.admit(cfg.Dir, cfg.Clients)
}

// inProcess is what the connection leads to. It also tells whoever holds the connection what
// a server does not tell its clients.
type inProcess struct {
	*server.Server
	syncsAlways bool
}

// SyncsAlways reports whether a message is on disk before it is acknowledged.
func (p inProcess) SyncsAlways() bool { return p.syncsAlways }

// recover starts the server and returns when it is up, which is when everything stored has
// been read as far as it must be.
func (s *Server) recover(ctx context.Context, dir string) {
	up := make(chan struct{})
	began := time.Now()
	go func() {
		defer close(up)
		s.nats.Start()
	}()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	cancelled := ctx.Done()
	for {
		select {
		case <-up:
			return
		case <-tick.C:
			s.log.Info("recovering the stored ledger", "dir", dir, "for", time.Since(began).Round(time.Second))
		case <-cancelled:
			s.log.Info("stopping as soon as the stored ledger is recovered", "dir", dir)
			cancelled = nil
		}
	}
}

// tlsTimeout is how long a client may take for the handshake, in seconds.
const tlsTimeout = 5

func options(cfg Config) *server.Options {
	o := &server.Options{
		ServerName:             "offsetledger",
		DontListen:             cfg.Listen == "",
		NoSigs:                 true,
		JetStream:              true,
		StoreDir:               cfg.Dir,
		SyncAlways:             cfg.SyncInterval == 0,
		SyncInterval:           cfg.SyncInterval,
		JetStreamMaxStore:      noLimit,
		MaxPayload:             cfg.MaxPayload,
		DisableJetStreamBanner: true,
	}
	if o.MaxPayload == 0 {
		o.MaxPayload = defaultMaxPayload
	}
	if !o.DontListen {
		host, port, err := cfg.listen()
		if err != nil {
			panic(err) // validate let it pass
		}
		o.Host, o.Port = host, port
		if port == 0 {
			o.Port = server.RANDOM_PORT
		}
		if cfg.TLS != nil {
			o.TLS, o.TLSConfig, o.TLSTimeout = true, cfg.TLS, tlsTimeout
		}
	}
	return o
}

// Conn returns a connection to the server that leads through memory. It belongs to the server
// and ends with it.
func (s *Server) Conn() *nats.Conn { return s.conn }

// URL is where clients connect, or empty when there is no listener.
func (s *Server) URL() string {
	if s.nats.Addr() == nil {
		return ""
	}
	return s.nats.ClientURL()
}

// Health is nil while the server can store and answer. When a write has failed, as on a full
// disk, it says so until the server is started again: the store accepts nothing more by then,
// even after space has been freed, while reading goes on.
func (s *Server) Health() error {
	h := s.nats.Healthz(nil)
	if h.StatusCode == 0 || h.StatusCode == http.StatusOK {
		return nil
	}
	return fmt.Errorf("embedded NATS server: %s: %s", h.Status, h.Error)
}

// drainFor bounds how long Close waits for the connection to deliver what it holds.
const drainFor = 5 * time.Second

// Close drains the connection, stops the server, waits until nothing of it writes any more and
// then lets go of the data directory. Calls after the first wait for it and return the same.
func (s *Server) Close() error {
	s.closing.Do(func() {
		s.drain()
		if s.nats != nil {
			s.nats.Shutdown()
			s.nats.WaitForShutdown()
		}
		s.closeErr = s.lock.release()
	})
	return s.closeErr
}

// drain closes the connection when its subscriptions have been handed what was under way.
func (s *Server) drain() {
	if s.conn == nil {
		return
	}
	closed := s.conn.StatusChanged(nats.CLOSED)
	if s.conn.Drain() == nil {
		select {
		case <-closed:
		case <-time.After(drainFor):
		}
	}
	s.conn.Close()
}
