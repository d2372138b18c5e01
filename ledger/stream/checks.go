package stream

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Check is one thing that has to be so for a stream to be a ledger.
type Check struct {
	Name   string // one word or two, stable
	OK     bool
	Detail string // what was found
	Mend   string // what to do when it is not OK
	// Advice says that Open goes on without it, with a warning.
	Advice bool
}

// UnsafeError says what a stream was refused for.
type UnsafeError struct {
	Stream string
	Failed []Check
}

func (e *UnsafeError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "stream %s is not safe for a ledger", e.Stream)
	for i, c := range e.Failed {
		sep := "; "
		if i == 0 {
			sep = ": "
		}
		fmt.Fprintf(&b, "%s%s: %s (%s)", sep, c.Name, c.Detail, c.Mend)
	}
	return b.String()
}

// Is makes the error match [ErrUnsafe].
func (e *UnsafeError) Is(target error) bool { return target == ErrUnsafe }

// refusal is nil if no check failed that has to hold.
func refusal(stream string, checks []Check) error {
	var failed []Check
	for _, c := range checks {
		if !c.OK && !c.Advice {
			failed = append(failed, c)
		}
	}
	if failed == nil {
		return nil
	}
	return &UnsafeError{Stream: stream, Failed: failed}
}

// Checks looks at a stream without opening it and returns every check with its outcome. It
// fails only when the stream cannot be looked at, with the errors of [Open].
func Checks(ctx context.Context, nc *nats.Conn, cfg Config) ([]Check, error) {
	l, err := newLog(nc, cfg)
	if err != nil {
		return nil, fmt.Errorf("check stream %s: %w", cfg.withDefaults().Name, err)
	}
	return l.Checks(ctx)
}

// Checks returns every check of the stream with its outcome as of now.
func (l *Log) Checks(ctx context.Context) ([]Check, error) {
	info, err := l.info(ctx)
	if err != nil {
		return nil, fmt.Errorf("check stream %s: %w", l.cfg.Name, opening(err))
	}
	return l.checks(ctx, info), nil
}

const mendSettings = "no setting is changed for you: restore it with the nats tool, after finding out who changed it"

func (l *Log) checks(ctx context.Context, info *jetstream.StreamInfo) []Check {
	checks := append(settingChecks(info.Config), identityChecks(info)...)
	checks = append(checks, stateChecks(info.State)...)
	return append(checks, l.syncCheck(ctx))
}

// settingChecks are about what the stream is allowed to do with events.
func settingChecks(c jetstream.StreamConfig) []Check {
	check := func(name string, ok bool, format string, args ...any) Check {
		return Check{Name: name, OK: ok, Detail: fmt.Sprintf(format, args...), Mend: mendSettings}
	}
	limits := c.MaxMsgs > 0 || c.MaxBytes > 0 || c.MaxAge > 0 || c.MaxMsgsPerSubject > 0
	vanish := c.AllowMsgTTL || c.SubjectDeleteMarkerTTL > 0 || c.AllowRollup || c.AllowMsgSchedules
	foreign := c.Mirror != nil || len(c.Sources) > 0 || c.SubjectTransform != nil
	return []Check{
		check("storage", c.Storage == jetstream.FileStorage, "storage is %s, has to be file", strings.ToLower(c.Storage.String())),
		check("persist", c.PersistMode == jetstream.DefaultPersistMode, "persist mode is %s, has to be default", strings.ToLower(c.PersistMode.String())),
		check("limits", !limits, "messages %d, bytes %d, age %s, messages per subject %d; has to be without limit", c.MaxMsgs, c.MaxBytes, c.MaxAge, c.MaxMsgsPerSubject),
		check("discard", c.Discard == jetstream.DiscardNew, "discard is %s, has to be new", strings.TrimPrefix(strings.ToLower(c.Discard.String()), "discard")),
		check("retention", c.Retention == jetstream.LimitsPolicy, "retention is %s, has to be limits", strings.ToLower(c.Retention.String())),
		check("deny delete", c.DenyDelete, "deleting messages is denied: %t, has to be", c.DenyDelete),
		check("deny purge", c.DenyPurge, "purging is denied: %t, has to be", c.DenyPurge),
		check("expiry", !vanish, "message TTL %t, rollup %t, delete markers %s, schedules %t; has to be none", c.AllowMsgTTL, c.AllowRollup, c.SubjectDeleteMarkerTTL, c.AllowMsgSchedules),
		check("subjects", len(c.Subjects) == 1 && c.Subjects[0] == subjects && !foreign, "stores %s, mirrored, sourced or transformed: %t; has to be %s alone", strings.Join(c.Subjects, ", "), foreign, subjects),
		check("atomic batches", c.AllowAtomicPublish, "atomic batches are allowed: %t, have to be", c.AllowAtomicPublish),
		check("direct get", c.AllowDirect, "direct get is allowed: %t, has to be", c.AllowDirect),
		check("duplicates", c.Duplicates >= duplicateWindow, "duplicate window is %s, has to be at least %s", c.Duplicates, duplicateWindow),
	}
}

// identityChecks are about whether the stream is a ledger, and of which version.
func identityChecks(info *jetstream.StreamInfo) []Check {
	version, err := strconv.Atoi(info.Config.Metadata[metaSchema])
	schema := Check{Name: "schema", OK: err == nil && version == schemaVersion}
	switch {
	case err != nil:
		schema.Detail = "the stream does not say that it is a ledger"
		schema.Mend = "use another stream name, or another NATS account"
	case version > schemaVersion:
		schema.Detail = fmt.Sprintf("schema version is %d and this program knows up to %d", version, schemaVersion)
		schema.Mend = "use the newer program that made it"
	default:
		schema.Detail = fmt.Sprintf("schema version is %d", version)
		schema.Mend = "use another stream name, or another NATS account"
	}
	id, err := incarnationOf(info)
	incarnation := Check{Name: "incarnation", OK: err == nil, Detail: "incarnation is " + id.String()}
	if err != nil {
		incarnation.Detail = "the stream does not say which one it is"
		incarnation.Mend = mendSettings
	}
	return []Check{schema, incarnation}
}

const mendLost = "events are gone: restore the store from a copy, or keep it for reading with the nats tool and start a new ledger"

// stateChecks are about whether everything is still there.
func stateChecks(s jetstream.StreamState) []Check {
	return []Check{
		{
			Name: "first sequence", OK: s.FirstSeq <= 1, Mend: mendLost,
			Detail: fmt.Sprintf("first sequence is %d, has to be 1", s.FirstSeq),
		},
		{
			Name: "whole", OK: s.NumDeleted == 0 && s.Msgs == s.LastSeq, Mend: mendLost,
			Detail: fmt.Sprintf("%d events up to sequence %d, %d deleted", s.Msgs, s.LastSeq, s.NumDeleted),
		},
	}
}

func incarnationOf(info *jetstream.StreamInfo) (uuid.UUID, error) {
	return uuid.Parse(info.Config.Metadata[metaIncarnation])
}

// The server that first stored several messages as one.
const minMajor, minMinor = 2, 12

// checkServer fails with ErrServerTooOld when the server cannot store several messages as one,
// and when there is no connection.
func checkServer(nc *nats.Conn) error {
	version := nc.ConnectedServerVersion()
	if version == "" {
		return fmt.Errorf("NATS server: %w", nats.ErrDisconnected)
	}
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil {
		return fmt.Errorf("NATS server: version %q is not one: %w", version, ErrServerTooOld)
	}
	if major < minMajor || major == minMajor && minor < minMinor {
		return fmt.Errorf("%w: version %s has no atomic batches, which came with %d.%d", ErrServerTooOld, version, minMajor, minMinor)
	}
	return nil
}
