package ledgertest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/stream"
)

// Check fails the test unless every invariant of the ledger holds; see [Check].
func (l *Ledger) Check() {
	l.t.Helper()
	Check(l.t, l.Conn(), l.cfg)
}

// Check fails the test unless the stream is a sound ledger: all of its own checks pass, the
// sequences run from 1 without a hole, every message decodes, encodes to the same bytes again
// and lies under the subject that its event calls for, and parts stand together. It reads with
// the plain client of NATS and nothing of package stream.
func Check(t testing.TB, nc *nats.Conn, cfg stream.Config) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	checks, err := stream.Checks(ctx, nc, cfg)
	require.NoError(t, err)
	for _, c := range checks {
		require.True(t, c.OK, "%s: %s (%s)", c.Name, c.Detail, c.Mend)
	}

	name := cfg.Name
	if name == "" {
		name = stream.DefaultName
	}
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	s, err := js.Stream(ctx, name)
	require.NoError(t, err)
	last := s.CachedInfo().State.LastSeq
	if last == 0 {
		return
	}
	c, err := s.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{})
	require.NoError(t, err)
	msgs, err := c.Messages()
	require.NoError(t, err)
	defer msgs.Stop()
	var before ledger.Event
	for seq := uint64(1); seq <= last; seq++ {
		m, err := msgs.Next(jetstream.NextContext(ctx))
		require.NoError(t, err, "sequence %d of %d", seq, last)
		meta, err := m.Metadata()
		require.NoError(t, err)
		require.Equal(t, seq, meta.Sequence.Stream, "a sequence is missing")
		e, err := ledger.Decode(m.Data())
		require.NoError(t, err, "sequence %d", seq)
		require.NoError(t, checkEvent(m, &before, &e), "sequence %d", seq)
		before = e
	}
	require.Equal(t, before.Parts, before.Part, "the last event lacks parts")
}

func checkEvent(m jetstream.Msg, before, e *ledger.Event) error {
	again, err := e.AppendBinary(nil)
	switch {
	case err != nil:
		return err
	case string(again) != string(m.Data()):
		return fmt.Errorf("encodes to other bytes than are stored:\n%x\n%x", again, m.Data())
	case e.Subject() != m.Subject():
		return fmt.Errorf("stored under %s and belongs under %s", m.Subject(), e.Subject())
	}
	switch {
	case e.Part > 1 && (before.ID != e.ID || before.Part != e.Part-1):
		return fmt.Errorf("part %d does not follow part %d", e.Part, e.Part-1)
	case e.Part <= 1 && before.Part != before.Parts:
		return fmt.Errorf("follows part %d of %d of another event", before.Part, before.Parts)
	}
	return nil
}
