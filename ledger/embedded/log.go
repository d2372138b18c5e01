package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
)

// logAdapter hands what nats-server logs to slog. Its notices are chatter to the owner of a
// ledger, so they come at debug level; warnings and errors keep theirs. A fatal message, after
// which nats-server expects the process to end, is kept as the error that Start returns.
type logAdapter struct {
	log *slog.Logger

	mu    sync.Mutex
	fatal error
}

func (a *logAdapter) Noticef(format string, v ...any) { a.say(slog.LevelDebug, format, v) }
func (a *logAdapter) Warnf(format string, v ...any)   { a.say(slog.LevelWarn, format, v) }
func (a *logAdapter) Errorf(format string, v ...any)  { a.say(slog.LevelError, format, v) }
func (a *logAdapter) Debugf(format string, v ...any)  { a.say(slog.LevelDebug, format, v) }
func (a *logAdapter) Tracef(format string, v ...any)  { a.say(slog.LevelDebug, format, v) }

func (a *logAdapter) Fatalf(format string, v ...any) {
	a.say(slog.LevelError, format, v)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fatal == nil {
		a.fatal = errors.New(strings.TrimSpace(fmt.Sprintf(format, v...)))
	}
}

func (a *logAdapter) say(level slog.Level, format string, v []any) {
	if a.log.Enabled(context.Background(), level) {
		a.log.Log(context.Background(), level, "nats server", "says", strings.TrimSpace(fmt.Sprintf(format, v...)))
	}
}

// fault is what the server could not live with, nil if nothing.
func (a *logAdapter) fault() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.fatal
}
