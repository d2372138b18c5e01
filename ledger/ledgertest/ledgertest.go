// Package ledgertest gives tests a real ledger: an embedded NATS server with a stream in a
// temporary directory, checked as a whole when the test ends. It also has an appender that
// fails on order, before or after storing.
//
// Nothing here is a fake: what a test sees is what the product does.
package ledgertest

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger/embedded"
	"github.com/offsetledger/offsetledger/ledger/stream"
)

// Ledger is a real log of its own. The Log changes with Reopen and Crash, so that a test keeps
// the Ledger and not the Log.
type Ledger struct {
	*stream.Log

	t   testing.TB
	dir string
	cfg stream.Config
	srv *embedded.Server
}

// New starts a server on a temporary directory and makes a stream in it. When the test ends,
// everything stored is checked (see [Ledger.Check]) and the server is stopped.
func New(t testing.TB) *Ledger {
	t.Helper()
	l := &Ledger{t: t, dir: filepath.Join(t.TempDir(), "ledger")}
	l.start()
	var err error
	l.Log, err = stream.Create(l.context(), l.Conn(), l.cfg)
	require.NoError(t, err)
	t.Cleanup(func() {
		if !t.Failed() {
			l.Check()
		}
		require.NoError(t, l.srv.Close())
	})
	return l
}

// Conn is the connection to the server.
func (l *Ledger) Conn() *nats.Conn { return l.srv.Conn() }

// Dir is the server's data directory.
func (l *Ledger) Dir() string { return l.dir }

// Reopen stops the server in good order and starts it again.
func (l *Ledger) Reopen() {
	l.t.Helper()
	require.NoError(l.t, l.srv.Close())
	l.start()
	l.open()
}

// Crash goes on from what is in the files now, as after the process was killed: nothing that
// the server would write in stopping is there. Nobody may be appending.
func (l *Ledger) Crash() {
	l.t.Helper()
	left := filepath.Join(l.t.TempDir(), "ledger")
	require.NoError(l.t, os.CopyFS(left, os.DirFS(l.dir)))
	require.NoError(l.t, l.srv.Close())
	l.dir = left
	l.start()
	l.open()
}

func (l *Ledger) start() {
	l.t.Helper()
	var err error
	l.srv, err = embedded.Start(l.context(), embedded.Config{Dir: l.dir})
	require.NoError(l.t, err)
}

func (l *Ledger) open() {
	l.t.Helper()
	var err error
	l.Log, err = stream.Open(l.context(), l.Conn(), l.cfg)
	require.NoError(l.t, err)
}

// context bounds what goes on behind a test's back. The test's own has ended in cleanup.
func (l *Ledger) context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	l.t.Cleanup(cancel)
	return ctx
}
