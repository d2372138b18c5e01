package stream_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/stream"
)

// One bit of a stored message flips while the server is down. The server counts the message
// and silently never delivers it; the ledger says which sequence is missing.
func TestMissingSequenceIsAnErrorAndNotSkipped(t *testing.T) {
	t.Parallel()
	e := newExternal(t)
	log, err := stream.Create(t.Context(), e.srv.Conn(), stream.Config{})
	require.NoError(t, err)
	events := numbered("a", 20)
	for i := range events {
		events[i].Offsets[0].Metadata = fmt.Sprintf("marker-%02d", i+1)
	}
	_, err = log.Append(t.Context(), events)
	require.NoError(t, err)
	require.NoError(t, e.srv.Close())
	flipBit(t, e.dir, "marker-07")
	e.start()

	log, err = stream.Open(t.Context(), e.srv.Conn(), stream.Config{})
	require.NoError(t, err, "nothing tells so far")
	var seqs []uint64
	var last error
	for rec, err := range log.Read(t.Context(), 5, 0, ledger.Filter{}) {
		if last = err; err == nil {
			seqs = append(seqs, rec.Seq)
		}
	}
	require.Equal(t, []uint64{5, 6}, seqs)
	require.ErrorIs(t, last, ledger.ErrMissing)
	require.ErrorContains(t, last, "sequences 7 to 7")
	require.ErrorIs(t, failure(t, log.Follow(t.Context(), 5, ledger.Filter{})), ledger.ErrMissing)
	_, err = log.Get(t.Context(), 7)
	require.ErrorIs(t, err, ledger.ErrMissing)
	rec, err := log.Get(t.Context(), 8)
	require.NoError(t, err)
	require.Equal(t, "marker-08", rec.Event.Offsets[0].Metadata)
	require.ErrorIs(t, failure(t, log.Read(t.Context(), 7, 7, ledger.Filter{})), ledger.ErrMissing, "also at the end of a range")
}

// The damaged message is the last of its group. That there is none would be the wrong answer: a
// capture would take it for a first start.
func TestDamagedLastEventOfAFilterIsMissing(t *testing.T) {
	t.Parallel()
	e := newExternal(t)
	log, err := stream.Create(t.Context(), e.srv.Conn(), stream.Config{})
	require.NoError(t, err)
	marked := committed("a", 2)
	marked.Offsets[0].Metadata = "marker"
	_, err = log.Append(t.Context(), []ledger.Event{committed("a", 1), marked, committed("b", 1)})
	require.NoError(t, err)
	require.NoError(t, e.srv.Close())
	flipBit(t, e.dir, "marker")
	e.start()

	log, err = stream.Open(t.Context(), e.srv.Conn(), stream.Config{})
	require.NoError(t, err)
	for _, filter := range []string{"ol.prod.g.a.committed", "ol.prod.g.a.>"} {
		_, err = log.LastOf(t.Context(), filter)
		require.ErrorIs(t, err, ledger.ErrMissing)
		require.ErrorIs(t, failure(t, log.Read(t.Context(), 1, 0, ledger.Filter{Subjects: []string{filter}})), ledger.ErrMissing)
	}
	last, err := log.LastOf(t.Context(), "ol.prod.g.b.>")
	require.NoError(t, err)
	require.EqualValues(t, 3, last)
	last, err = log.LastOf(t.Context(), "ol.prod.g.c.>")
	require.NoError(t, err)
	require.Zero(t, last)
	_, err = log.Append(t.Context(), []ledger.Event{committed("a", 3)}, ledger.Expect{Filter: "ol.prod.g.a.>"})
	require.ErrorIs(t, err, ledger.ErrMissing)
}

func flipBit(t *testing.T, dir, marker string) {
	t.Helper()
	blocks, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", stream.DefaultName, "msgs", "*.blk"))
	require.NoError(t, err)
	for _, block := range blocks {
		b, err := os.ReadFile(block)
		require.NoError(t, err)
		if i := bytes.Index(b, []byte(marker)); i >= 0 {
			b[i] ^= 1
			require.NoError(t, os.WriteFile(block, b, 0o600))
			return
		}
	}
	t.Fatalf("no block holds %s", marker)
}
