package stream_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/embedded"
	"github.com/offsetledger/offsetledger/ledger/stream"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("STREAM_TEST_APPEND_IN"); dir != "" {
		fmt.Fprintln(os.Stderr, appendUntilKilled(dir))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

func newLog(t testing.TB) *stream.Log {
	t.Helper()
	srv, err := embedded.Start(t.Context(), embedded.Config{Dir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	log, err := stream.Create(t.Context(), srv.Conn(), stream.Config{})
	require.NoError(t, err)
	return log
}

// committed is a commit of one partition of orders by group.
func committed(group string, at int64) ledger.Event {
	when := ledger.AtMillis(1_700_000_000_000 + at)
	return ledger.Event{
		Kind: ledger.KindCommitted, Cluster: "prod", Group: group, Time: when,
		Source:  ledger.Source{Kind: ledger.SourceTail, Offset: at},
		Offsets: []ledger.Offset{{Topic: "orders", At: at, SourceOffset: at, CommitTime: when, Effective: when}},
	}
}

func TestAppendAndRead(t *testing.T) {
	log := newLog(t)
	for i := range 10 {
		r, err := log.Append(t.Context(), []ledger.Event{committed("a", int64(i)), committed("b", int64(i))})
		require.NoError(t, err)
		require.Equal(t, ledger.Receipt{First: uint64(2*i + 1), Last: uint64(2*i + 2)}, r)
	}
	var got []string
	for rec, err := range log.Read(t.Context(), 3, 7, ledger.Filter{}) {
		require.NoError(t, err)
		got = append(got, fmt.Sprintf("%d%s%d", rec.Seq, rec.Event.Group, rec.Event.Offsets[0].At))
	}
	require.Equal(t, []string{"3a1", "4b1", "5a2", "6b2", "7a3"}, got)
}
