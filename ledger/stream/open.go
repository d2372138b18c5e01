package stream

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Log is the ledger's stream. Its methods may be called from any goroutine. It holds no
// resources of its own: the connection belongs to the caller.
type Log struct {
	nc          *nats.Conn
	js          jetstream.JetStream
	cfg         Config
	incarnation uuid.UUID
	appender    appender
	seen        atomic.Uint64 // a sequence that is known to be stored; own appends lie above it
}

// Create makes the stream and opens it. It fails with [ErrExists] when there is one of that
// name, whatever it holds. Once the server has been asked, the end of ctx does not interrupt it:
// an embedded server that is stopped in the middle leaves half a stream behind.
func Create(ctx context.Context, nc *nats.Conn, cfg Config) (*Log, error) {
	l, err := newLog(nc, cfg)
	if err != nil {
		return nil, fmt.Errorf("create stream %s: %w", cfg.withDefaults().Name, err)
	}
	// The incarnation is new, so the settings differ from those of any stream there is, and the
	// server refuses instead of finding that nothing has to be done.
	incarnation, err := uuid.NewRandom()
	if err != nil {
		return nil, fmt.Errorf("create stream %s: %w", l.cfg.Name, err)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("create stream %s: %w", l.cfg.Name, err)
	}
	making, cancel := context.WithTimeout(context.WithoutCancel(ctx), createTimeout)
	defer cancel()
	if _, err := l.js.CreateStream(making, l.cfg.settings(incarnation)); err != nil {
		return nil, fmt.Errorf("create stream %s: %w", l.cfg.Name, opening(known(err)))
	}
	if err := l.open(ctx); err != nil {
		return nil, err
	}
	return l, nil
}

// createTimeout is how long the server may take to make the stream.
const createTimeout = 30 * time.Second

// Open opens the stream and never makes it: it fails with [ErrNotFound] when there is none, and
// with [ErrUnsafe] when there is one that has lost events or could lose some.
func Open(ctx context.Context, nc *nats.Conn, cfg Config) (*Log, error) {
	l, err := newLog(nc, cfg)
	if err != nil {
		return nil, fmt.Errorf("open stream %s: %w", cfg.withDefaults().Name, err)
	}
	if err := l.open(ctx); err != nil {
		return nil, err
	}
	return l, nil
}

func newLog(nc *nats.Conn, cfg Config) (*Log, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if err := checkServer(nc); err != nil {
		return nil, err
	}
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	l := &Log{nc: nc, js: js, cfg: cfg}
	l.appender.id = newProcessID()
	return l, nil
}

func (l *Log) open(ctx context.Context) error {
	info, err := l.info(ctx)
	if err != nil {
		return fmt.Errorf("open stream %s: %w", l.cfg.Name, opening(err))
	}
	checks := l.checks(ctx, info)
	if err := refusal(l.cfg.Name, checks); err != nil {
		return fmt.Errorf("open: %w", err)
	}
	for _, c := range checks {
		if !c.OK {
			l.cfg.Logger.Warn("the stream could be safer", "check", c.Name, "found", c.Detail, "mend", c.Mend)
		}
	}
	l.incarnation, _ = incarnationOf(info)
	l.seen.Store(info.State.LastSeq)
	return nil
}
