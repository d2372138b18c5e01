package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/commands/kafka"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/embedded"
	"github.com/offsetledger/offsetledger/ledger/stream"
	"github.com/offsetledger/offsetledger/projection"
)

// service is what serve and demo run. It joins the parts: capture appends to the log, the view
// follows the log, the API answers from both.
type service struct {
	listener net.Listener // of the API
	logger   *slog.Logger

	server *embedded.Server // nil where NATS is somebody else's
	conn   *nats.Conn
	at     string // where somebody else's NATS is, without secrets
	log    *stream.Log
	view   *projection.View
	// tail is the capture that runs, or ran last. It is replaced when one cannot tell any more
	// where it stands.
	tail atomic.Pointer[kafka.Tail]

	endpoint kafka.Endpoint // how Kafka was to be reached
	fault    fault
}

// openStore starts the embedded server on dir, with a listener for clients if there is to be
// one, or connects to the NATS server at address, and opens the ledger there. Where there is
// none it makes one.
func (s *service) openStore(ctx context.Context, dir, address string, clients natsListener) (err error) {
	cfg := embedded.Config{Dir: dir, Logger: s.logger}
	if err := clients.embed(&cfg); err != nil {
		return err
	}
	if address != "" {
		if clients.address != "" {
			return usagef("--nats-listen is of the embedded NATS server, and --nats is another: let clients in there")
		}
		if s.at, err = withoutSecrets(address); err != nil {
			return usagef("--nats: %w", err)
		}
		s.conn, err = nats.Connect(address, nats.Name("offsetledger"), nats.MaxReconnects(-1))
		if err != nil {
			return fmt.Errorf("connect to NATS at %s: %w", s.at, err)
		}
	} else {
		if s.server, err = embedded.Start(ctx, cfg); err != nil {
			return err
		}
		s.conn = s.server.Conn()
	}
	storing := stream.Config{Logger: s.logger}
	s.log, err = stream.Open(ctx, s.conn, storing)
	if errors.Is(err, stream.ErrNotFound) {
		s.log, err = stream.Create(ctx, s.conn, storing)
	}
	return err
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

// close lets go of the store, after everything that writes to it has ended.
func (s *service) close() error {
	switch {
	case s.server != nil:
		return s.server.Close()
	case s.conn != nil:
		s.conn.Close()
	}
	return nil
}

// follow has the view follow the log in g, and returns when it has folded what there is.
func (s *service) follow(ctx context.Context, g *errgroup.Group) error {
	last, err := s.log.Last(ctx)
	if err != nil {
		return err
	}
	s.view = projection.NewView()
	g.Go(func() error { return s.view.Run(ctx, s.log.Follow(ctx, 1, ledger.Filter{})) })
	return s.view.WaitFor(ctx, last)
}

// newTail makes the tail of a Kafka cluster, to go on where the folded log says it stands.
func (s *service) newTail(cfg kafka.TailConfig) error {
	cfg.Log = s.log
	cfg.Facts = kafka.ViewFacts{View: s.view, Cluster: cfg.Cluster}
	cfg.Logger = s.logger
	s.view.Read(cfg.TakeUp)
	tail, err := kafka.NewTail(cfg)
	if err == nil {
		s.tail.Store(tail)
	}
	return err
}

// capture runs the tail that newTail made of cfg. One that cannot know whether its last append
// is stored is followed by another, which goes on from what is.
func (s *service) capture(ctx context.Context, cfg kafka.TailConfig) error {
	for {
		err := s.tail.Load().Run(ctx)
		switch {
		case errors.Is(err, kafka.ErrUncertain):
		case errors.Is(err, ledger.ErrConflict):
			return fmt.Errorf("another daemon captures the cluster %s into this ledger; stop one of the two: %w", cfg.Cluster, err)
		default:
			return err
		}
		s.logger.Warn("capture starts again from the ledger", "cluster", cfg.Cluster, "err", err)
		last, err := s.log.Last(ctx)
		if err == nil {
			err = s.view.WaitFor(ctx, last)
		}
		if err == nil {
			err = s.newTail(cfg)
		}
		if err != nil {
			return err
		}
	}
}

// waitReady returns once capture has stored what was there when it started.
func (s *service) waitReady(ctx context.Context) error {
	for !s.tail.Load().Status().Ready {
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// serveHTTP answers the API until ctx ends, and then gives requests under way a moment.
func (s *service) serveHTTP(ctx context.Context) error {
	server := &http.Server{
		Handler: api.NewHandler(api.Config{
			Log: questioned{s.log, s}, View: s.view, Status: s.status, Ledger: ledgerReport(s.log), Hosts: hostsOf(s.listener.Addr()), Logger: s.logger,
		}),
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ErrorLog:          slog.NewLogLogger(s.logger.Handler(), slog.LevelDebug),
	}
	stopped := make(chan error, 1)
	unhook := context.AfterFunc(ctx, func() {
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		stopped <- server.Shutdown(grace)
	})
	if err := server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		if !unhook() {
			err = errors.Join(err, <-stopped)
		}
		return fmt.Errorf("serve HTTP on %s: %w", s.listener.Addr(), err)
	}
	return <-stopped
}

// questioned is the log as questions are answered from it. While the NATS server is away, what
// has been folded is all there is.
type questioned struct {
	*stream.Log
	s *service
}

// Last is the sequence that an answer has to take into account.
func (q questioned) Last(ctx context.Context) (uint64, error) {
	if q.s.away() {
		return q.s.view.Seq(), nil
	}
	return q.Log.Last(ctx)
}

// away reports whether the NATS server is somebody else's and cannot be reached.
func (s *service) away() bool { return s.server == nil && !s.conn.IsConnected() }

// hostsOf are the names that a listener answers to. One on loopback answers to no other, so
// that no web page can make a browser ask it; one elsewhere answers to all.
func hostsOf(addr net.Addr) []string {
	if tcp, ok := addr.(*net.TCPAddr); ok && tcp.IP.IsLoopback() {
		return api.LoopbackHosts
	}
	return nil
}

// url is where the API is reached from this machine.
func (s *service) url() string {
	addr := s.listener.Addr().(*net.TCPAddr)
	if addr.IP.IsUnspecified() {
		return fmt.Sprintf("http://127.0.0.1:%d", addr.Port)
	}
	return "http://" + addr.String()
}

// status is how the service is doing, as the API tells it.
func (s *service) status() api.Status {
	st := s.tail.Load().Status()
	out := api.Status{Capturing: true, Ready: st.Ready, Problem: s.problem(&st)}
	out.Behind, out.BehindKnown = st.Behind(time.Now())
	return out
}

// problem is why the service is not well, in one line; empty when it is.
func (s *service) problem(st *kafka.Status) string {
	if s.server != nil {
		if err := s.server.Health(); err != nil {
			return fmt.Sprintf("nothing can be stored: %v: make room on the disk and start again", err)
		}
	}
	switch {
	case s.away():
		return fmt.Sprintf("nothing can be stored: the NATS server at %s is away: it is waited for", s.at)
	case st.LogError != nil:
		return fmt.Sprintf("nothing can be stored: %v", st.LogError)
	case st.KafkaError != nil:
		return "Kafka cannot be read: " + s.fault.explain(st.KafkaError, s.endpoint)
	}
	return ""
}

// fault is the last reason for which Kafka could not be read.
type fault struct {
	mu        sync.Mutex
	err       string // as capture told it
	explained string
}

// explainTime is how long finding out about a fault may keep the question waiting in which it
// is told. Most faults need no finding out, and none is looked into twice in a row.
const explainTime = 2 * time.Second

// explain says in one line what is wrong and what mends it.
func (f *fault) explain(err error, at kafka.Endpoint) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if told := err.Error(); told != f.err {
		ctx, cancel := context.WithTimeout(context.Background(), explainTime)
		defer cancel()
		f.err, f.explained = told, kafka.ExplainError(ctx, err, at).Error()
	}
	return f.explained
}
