package stream_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/ledgertest"
	"github.com/offsetledger/offsetledger/ledger/stream"
)

// JetStream drops a message whose id it has seen within a window, on whatever subject, and
// acknowledges it. Nothing of ours may be dropped so: what comes back on purpose is stored
// again, and exactly once is a matter of expectations, not of the window.
func TestNAT01NothingIsDroppedAsADuplicate(t *testing.T) {
	log := ledgertest.New(t)
	e := committed("a", 1)
	e.ID = uuid.Must(uuid.NewV7())
	other := committed("b", 1)
	other.ID = e.ID
	for _, events := range [][]ledger.Event{{e}, {e}, {other}, {e, other}, {e, e}} {
		_, err := log.Append(t.Context(), events)
		require.NoError(t, err)
	}
	last, err := log.Last(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 7, last)

	// Capture reads again what it had written before it was away, with its old cursor: refused,
	// whether the window is over or not.
	first := []ledger.Event{committed("a", 2), cursor(2)}
	expect := ledger.Expect{Filter: ledger.CursorSubject("prod", ledger.CursorShardAll)}
	_, err = log.Append(t.Context(), first, expect)
	require.NoError(t, err)
	log.Reopen()
	_, err = log.Append(t.Context(), first, expect)
	require.ErrorIs(t, err, ledger.ErrConflict)
}

// Commits of the morning are written in the evening: their order and their times are theirs, and
// the time of storing is beside them and decides nothing.
func TestNAT05AppendTimeIsNotEventTime(t *testing.T) {
	log := ledgertest.New(t)
	morning := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	before := time.Now().Add(-time.Second)
	for _, hours := range []int{2, 0, 1} { // not even in the order of their times
		e := committed("a", int64(hours))
		e.Time = ledger.AtTime(morning.Add(time.Duration(hours) * time.Hour))
		_, err := log.Append(t.Context(), []ledger.Event{e})
		require.NoError(t, err)
	}
	var hours []int
	for rec, err := range log.Read(t.Context(), 1, 0, ledger.Filter{}) {
		require.NoError(t, err)
		at, ok := rec.Event.Time.Std()
		require.True(t, ok)
		hours = append(hours, at.Hour())
		require.True(t, rec.Appended.After(before), "stored now")
		require.Equal(t, time.UTC, rec.Appended.Location())
	}
	require.Equal(t, []int{11, 9, 10}, hours)
}

// Streams that would lose events, or have lost some, are refused with the reason.
func TestNAT07StreamsThatLoseEventsAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*jetstream.StreamConfig)
		want   string
	}{
		"max bytes, discard old": {func(c *jetstream.StreamConfig) { c.MaxBytes, c.Discard = 1<<20, jetstream.DiscardOld }, "limits: messages -1, bytes 1048576"},
		"discard old":            {func(c *jetstream.StreamConfig) { c.Discard = jetstream.DiscardOld }, "discard: discard is old, has to be new"},
		"one a subject":          {func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 1 }, "messages per subject 1; has to be without limit"},
		"max messages":           {func(c *jetstream.StreamConfig) { c.MaxMsgs = 10 }, "limits: messages 10"},
		"max age":                {func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour }, "age 1h0m0s"},
		"memory":                 {func(c *jetstream.StreamConfig) { c.Storage = jetstream.MemoryStorage }, "storage is memory, has to be file"},
		"interest":               {func(c *jetstream.StreamConfig) { c.Retention = jetstream.InterestPolicy }, "retention is interest, has to be limits"},
		"TTL":                    {func(c *jetstream.StreamConfig) { c.AllowMsgTTL = true }, "message TTL true"},
		"purge allowed":          {func(c *jetstream.StreamConfig) { c.DenyPurge = false }, "purging is denied: false"},
		"delete allowed":         {func(c *jetstream.StreamConfig) { c.DenyDelete = false }, "deleting messages is denied: false"},
		"rollup":                 {func(c *jetstream.StreamConfig) { c.AllowRollup, c.DenyPurge = true, false }, "rollup true"},
		"async": {func(c *jetstream.StreamConfig) {
			c.PersistMode, c.AllowAtomicPublish = jetstream.AsyncPersistMode, false
		}, "persist mode is async"},
		"no batches":     {func(c *jetstream.StreamConfig) { c.AllowAtomicPublish = false }, "atomic batches are allowed: false"},
		"other subjects": {func(c *jetstream.StreamConfig) { c.Subjects = []string{"ol.prod.>"} }, "stores ol.prod.>"},
		"starts later":   {func(c *jetstream.StreamConfig) { c.FirstSeq = 5000 }, "first sequence is 5000, has to be 1"},
		"short window":   {func(c *jetstream.StreamConfig) { c.Duplicates = time.Second }, "duplicate window is 1s"},
		"newer schema":   {func(c *jetstream.StreamConfig) { c.Metadata["offsetledger.schema"] = "2" }, "schema version is 2 and this program knows up to 1"},
		"no schema":      {func(c *jetstream.StreamConfig) { delete(c.Metadata, "offsetledger.schema") }, "does not say that it is a ledger"},
		"no incarnation": {func(c *jetstream.StreamConfig) { delete(c.Metadata, "offsetledger.incarnation") }, "does not say which one it is"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newExternal(t)
			nc := e.srv.Conn()
			cfg := settings(t, nc)
			c.change(&cfg)
			js, err := jetstream.New(nc)
			require.NoError(t, err)
			_, err = js.CreateStream(t.Context(), cfg)
			require.NoError(t, err)

			_, err = stream.Open(t.Context(), nc, stream.Config{})
			require.ErrorIs(t, err, stream.ErrUnsafe)
			require.ErrorContains(t, err, c.want)
			var unsafe *stream.UnsafeError
			require.ErrorAs(t, err, &unsafe)
			for _, check := range unsafe.Failed {
				require.NotEmpty(t, check.Mend, check.Name)
			}
		})
	}
}

// settings returns those of a ledger, whose stream is removed again.
func settings(t *testing.T, nc *nats.Conn) jetstream.StreamConfig {
	t.Helper()
	_, err := stream.Create(t.Context(), nc, stream.Config{})
	require.NoError(t, err)
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	s, err := js.Stream(t.Context(), stream.DefaultName)
	require.NoError(t, err)
	require.NoError(t, js.DeleteStream(t.Context(), stream.DefaultName))
	return s.CachedInfo().Config
}

// What the server acknowledged, power takes away: the end of the stream is gone, and with it
// the cursor that stood there. Whatever was remembered elsewhere, capture goes on from the
// cursor that is stored, and a reader that remembers more is told.
func TestNAT08StreamThatWasCutBack(t *testing.T) {
	l := ledgertest.New(t)
	for next := int64(1); next <= 10; next++ {
		_, err := l.Append(t.Context(), []ledger.Event{committed("a", next), cursor(next)})
		require.NoError(t, err)
	}
	before := l.Log
	cutBack(t, l, 14)

	_, err := before.Last(t.Context())
	require.ErrorIs(t, err, stream.ErrReplaced, "who saw the end is told that it is gone")
	require.ErrorIs(t, failure(t, l.Follow(t.Context(), 20, ledger.Filter{})), ledger.ErrMissing)
	seq, err := l.LastOf(t.Context(), ledger.CursorSubject("prod", ledger.CursorShardAll))
	require.NoError(t, err)
	rec, err := l.Get(t.Context(), seq)
	require.NoError(t, err)
	require.EqualValues(t, 7, rec.Event.Cursor.Lines[0].Next, "and is read on from there")
	r, err := l.Append(t.Context(), []ledger.Event{committed("a", 8), cursor(8)},
		ledger.Expect{Filter: ledger.CursorSubject("prod", ledger.CursorShardAll), Seq: seq})
	require.NoError(t, err)
	require.Equal(t, ledger.Receipt{First: 15, Last: 16}, r)
}

// cutBack makes a stream of the same incarnation that holds the first n messages only, as is
// left when the end of the last block did not reach the disk.
func cutBack(t *testing.T, l *ledgertest.Ledger, n uint64) {
	t.Helper()
	js, err := jetstream.New(l.Conn())
	require.NoError(t, err)
	s, err := js.Stream(t.Context(), stream.DefaultName)
	require.NoError(t, err)
	var kept []*nats.Msg
	for seq := uint64(1); seq <= n; seq++ {
		m, err := s.GetMsg(t.Context(), seq)
		require.NoError(t, err)
		kept = append(kept, &nats.Msg{Subject: m.Subject, Data: m.Data})
	}
	require.NoError(t, js.DeleteStream(t.Context(), stream.DefaultName))
	_, err = js.CreateStream(t.Context(), s.CachedInfo().Config)
	require.NoError(t, err)
	for _, m := range kept {
		_, err := js.PublishMsg(t.Context(), m)
		require.NoError(t, err)
	}
	l.Log, err = stream.Open(t.Context(), l.Conn(), stream.Config{})
	require.NoError(t, err)
}

// The server is stopped in the middle of appends and started again at once on the same
// directory, over and over: what was acknowledged is there, and the rest failed.
func TestNAT11StopWhileAppending(t *testing.T) {
	l := ledgertest.New(t)
	acked := uint64(0)
	for range 5 {
		log := l.Log
		var g errgroup.Group
		results := make(chan uint64, 1000)
		started := make(chan struct{}, 1000)
		for c := range 4 {
			g.Go(func() error {
				for {
					r, err := log.Append(context.Background(), numbered(fmt.Sprintf("c%d", c), 5))
					if err != nil {
						return nil
					}
					results <- r.Last
					started <- struct{}{}
				}
			})
		}
		for range 20 {
			<-started
		}
		l.Reopen()
		require.NoError(t, g.Wait())
		close(results)
		for seq := range results {
			acked = max(acked, seq)
		}
		last, err := l.Last(t.Context())
		require.NoError(t, err)
		require.GreaterOrEqual(t, last, acked)
	}
}

// An event is captured and acknowledged: whatever is asked next includes it.
func TestNAT12ReadingOnesOwnWrite(t *testing.T) {
	log := ledgertest.New(t)
	for i := range 77 {
		r, err := log.Append(t.Context(), []ledger.Event{committed("a", int64(i))})
		require.NoError(t, err)
		last, err := log.Last(t.Context())
		require.NoError(t, err)
		require.Equal(t, r.Last, last)
		last, err = log.LastOf(t.Context(), ledger.GroupSubjects("prod", "a"))
		require.NoError(t, err)
		require.Equal(t, r.Last, last)
		rec, err := log.Get(t.Context(), r.Last)
		require.NoError(t, err)
		require.EqualValues(t, i, rec.Event.Offsets[0].At)
		require.Equal(t, []uint64{r.Last}, collect(t, log.Read(t.Context(), r.Last, 0, ledger.Filter{})))
	}
}
