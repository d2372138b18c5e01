package stream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// DefaultName is the name of the ledger's stream.
const DefaultName = "OFFSETLEDGER"

// The errors of this package. Match them with [errors.Is].
var (
	// ErrExists: there is a stream of that name already.
	ErrExists = errors.New("stream exists")
	// ErrNotFound: there is no stream of that name.
	ErrNotFound = errors.New("stream not found")
	// ErrUnsafe: the stream has lost events or could lose some. The detail is [*UnsafeError].
	ErrUnsafe = errors.New("stream is not safe for a ledger")
	// ErrReplaced: the stream is not the one that was opened: it was deleted and made again,
	// or events were removed from it.
	ErrReplaced = errors.New("stream was replaced")
	// ErrNoJetStream: the server, or the account on it, has no JetStream.
	ErrNoJetStream = errors.New("no JetStream")
	// ErrServerTooOld: the server cannot store several messages as one.
	ErrServerTooOld = errors.New("NATS server is too old")
	// ErrOutcomeUnknown: no answer came, so the events may be stored or not.
	ErrOutcomeUnknown = errors.New("outcome unknown")
)

// Config says which stream, and what it should be when it is made. The zero Config is the
// default.
type Config struct {
	Name     string // of the stream; empty is DefaultName
	Replicas int    // used by Create only; 0 is 1

	// AppendTimeout bounds how long an append waits for the server, over all its retries; 0 is
	// 30 s. When it ends without an answer the append fails with ErrOutcomeUnknown.
	AppendTimeout time.Duration

	// Logger takes warnings, such as of a server that is known not to sync. The default, nil,
	// is to say nothing.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.Name == "" {
		c.Name = DefaultName
	}
	if c.Replicas == 0 {
		c.Replicas = 1
	}
	if c.AppendTimeout == 0 {
		c.AppendTimeout = 30 * time.Second
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

func (c Config) validate() error {
	var faults []error
	if strings.ContainsAny(c.Name, ". *>/\\\t\r\n") {
		faults = append(faults, fmt.Errorf("stream name %q holds a character that NATS does not allow", c.Name))
	}
	if c.Replicas < 1 || c.Replicas > 5 {
		faults = append(faults, fmt.Errorf("%d replicas: NATS keeps 1 to 5", c.Replicas))
	}
	if c.AppendTimeout < 0 {
		faults = append(faults, fmt.Errorf("append timeout %s is negative", c.AppendTimeout))
	}
	return errors.Join(faults...)
}

// The stream's metadata: what it is, and which one.
const (
	metaSchema      = "offsetledger.schema"
	metaIncarnation = "offsetledger.incarnation"
	schemaVersion   = 1
)

// subjects is what the stream stores: everything that [ledger.Event.Subject] can return.
const subjects = "ol.>"

// duplicateWindow is how long the server remembers the ids by which a repeated append is
// recognised. A server that starts re-reads everything inside it, so it is short.
const duplicateWindow = 10 * time.Second

func (c Config) settings(incarnation uuid.UUID) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:               c.Name,
		Description:        "offsetledger: immutable history of consumer offsets",
		Subjects:           []string{subjects},
		Retention:          jetstream.LimitsPolicy,
		MaxMsgs:            -1,
		MaxBytes:           -1,
		MaxMsgsPerSubject:  -1,
		MaxMsgSize:         -1,
		MaxConsumers:       -1,
		Discard:            jetstream.DiscardNew,
		Storage:            jetstream.FileStorage,
		Replicas:           c.Replicas,
		Duplicates:         duplicateWindow,
		DenyDelete:         true,
		DenyPurge:          true,
		AllowDirect:        true,
		AllowAtomicPublish: true,
		Metadata: map[string]string{
			metaSchema:      fmt.Sprint(schemaVersion),
			metaIncarnation: incarnation.String(),
		},
	}
}

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
// name, whatever it holds.
func Create(ctx context.Context, nc *nats.Conn, cfg Config) (*Log, error) {
	l, err := newLog(ctx, nc, cfg)
	if err != nil {
		return nil, fmt.Errorf("create stream %s: %w", cfg.withDefaults().Name, err)
	}
	// The incarnation is new, so the settings differ from those of any stream there is, and the
	// server refuses instead of finding that nothing has to be done.
	incarnation, err := uuid.NewRandom()
	if err != nil {
		return nil, fmt.Errorf("create stream %s: %w", l.cfg.Name, err)
	}
	if _, err := l.js.CreateStream(ctx, l.cfg.settings(incarnation)); err != nil {
		return nil, fmt.Errorf("create stream %s: %w", l.cfg.Name, opening(known(err)))
	}
	return l, l.open(ctx)
}

// Open opens the stream and never makes it: it fails with [ErrNotFound] when there is none, and
// with [ErrUnsafe] when there is one that has lost events or could lose some.
func Open(ctx context.Context, nc *nats.Conn, cfg Config) (*Log, error) {
	l, err := newLog(ctx, nc, cfg)
	if err != nil {
		return nil, fmt.Errorf("open stream %s: %w", cfg.withDefaults().Name, err)
	}
	if err := l.open(ctx); err != nil {
		return nil, err
	}
	return l, nil
}

func newLog(ctx context.Context, nc *nats.Conn, cfg Config) (*Log, error) {
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
			l.cfg.Logger.Warn(c.Detail, "check", c.Name, "mend", c.Mend)
		}
	}
	l.incarnation, _ = incarnationOf(info)
	l.seen.Store(info.State.LastSeq)
	return nil
}
