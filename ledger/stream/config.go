package stream

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/google/uuid"
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

// settings are those of a new stream. Blocks are compressed when they are full, which the server
// does by writing, syncing and renaming a new file: subject and batch headers of an event are
// much like those of the one before, so that small events take half the space, at a tenth more
// work per append.
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
		Compression:        jetstream.S2Compression,
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
