package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/stream"
)

// serveHTTP answers the API until ctx ends, and then gives requests under way a moment.
func (s *service) serveHTTP(ctx context.Context) error {
	server := &http.Server{
		Handler: api.NewHandler(api.Config{
			Log: questioned{s.log, s}, View: s.view, Snapshots: s.snapshots, Append: appender(s.log), Writes: s.writes(), Facts: s.facts, Status: s.status,
			Ledger: ledgerReport(s.log), Hosts: hostsOf(s.listener.Addr()), Logger: s.logger,
		}),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ErrorLog:          slog.NewLogLogger(s.logger.Handler(), slog.LevelDebug),
	}
	if s.server != nil {
		looking, stop := context.WithCancel(ctx)
		looked := make(chan struct{})
		go func() {
			defer close(looked)
			s.stored.watch(looking, s.server.Health)
		}()
		defer func() {
			stop()
			<-looked
		}()
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

// Read fails at once while the NATS server is away, where it would wait for long.
func (q questioned) Read(ctx context.Context, from, to uint64, f ledger.Filter) iter.Seq2[ledger.Record, error] {
	if !q.s.away() {
		return q.Log.Read(ctx, from, to, f)
	}
	return q.s.unreadable()
}

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
