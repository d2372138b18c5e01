package stream_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/embedded"
	"github.com/offsetledger/offsetledger/ledger/ledgertest"
	"github.com/offsetledger/offsetledger/ledger/stream"
)

// appendUntilKilled is what the test binary does when it is started again by the test below: it
// appends from several callers and prints what was acknowledged, until it is killed.
func appendUntilKilled(dir string) error {
	ctx := context.Background()
	srv, err := embedded.Start(ctx, embedded.Config{Dir: dir})
	if err != nil {
		return err
	}
	log, err := stream.Open(ctx, srv.Conn(), stream.Config{})
	if errors.Is(err, stream.ErrNotFound) {
		log, err = stream.Create(ctx, srv.Conn(), stream.Config{})
	}
	if err != nil {
		return err
	}
	var g errgroup.Group
	for c := range 4 {
		g.Go(func() error {
			for n := int64(0); ; n++ {
				group := fmt.Sprintf("p%d-c%d-n%d", os.Getpid(), c, n)
				r, err := log.Append(ctx, numbered(group, int(n%40)+1))
				if err != nil {
					return err
				}
				fmt.Printf("%s %d %d\n", group, r.First, r.Last)
			}
		})
	}
	return g.Wait()
}

// A daemon is killed in the middle of appends, again and again: everything that it had
// acknowledged is where it said, transactions are whole, and nothing is there twice.
func TestNothingAcknowledgedIsLostWhenTheProcessIsKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	acked := map[string]ledger.Receipt{}
	for range 5 {
		for group, r := range killAfter(t, dir, 30) {
			acked[group] = r
		}
	}
	srv, err := embedded.Start(t.Context(), embedded.Config{Dir: dir})
	require.NoError(t, err)
	defer srv.Close()
	ledgertest.Check(t, srv.Conn(), stream.Config{})
	log, err := stream.Open(t.Context(), srv.Conn(), stream.Config{})
	require.NoError(t, err)

	stored := map[string]ledger.Receipt{}
	for rec, err := range log.Read(t.Context(), 1, 0, ledger.Filter{}) {
		require.NoError(t, err)
		r, ok := stored[rec.Event.Group]
		if !ok {
			r.First = rec.Seq
		}
		require.EqualValues(t, rec.Seq-r.First, rec.Event.Offsets[0].At, "together, in order and once")
		r.Last = rec.Seq
		stored[rec.Event.Group] = r
	}
	require.GreaterOrEqual(t, len(acked), 5*30)
	for group, r := range acked {
		require.Equal(t, r, stored[group])
	}
}

// killAfter runs appendUntilKilled in a process of its own, kills it when n appends have been
// acknowledged, and returns all that were.
func killAfter(t *testing.T, dir string, n int) map[string]ledger.Receipt {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "STREAM_TEST_APPEND_IN="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	timeout := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() }) // may have ended
	defer timeout.Stop()
	acked := map[string]ledger.Receipt{}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var group string
		var r ledger.Receipt
		if _, err := fmt.Sscanf(lines.Text(), "%s %d %d", &group, &r.First, &r.Last); err != nil {
			continue // cut off by the kill
		}
		if acked[group] = r; len(acked) == n {
			require.NoError(t, cmd.Process.Kill())
		}
	}
	require.Error(t, cmd.Wait(), "killed")
	require.GreaterOrEqual(t, len(acked), n)
	return acked
}
