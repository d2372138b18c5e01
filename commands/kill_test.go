package commands_test

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

	"github.com/offsetledger/offsetledger/commands"
	"github.com/offsetledger/offsetledger/ledger/embedded"
	"github.com/offsetledger/offsetledger/ledger/ledgertest"
	"github.com/offsetledger/offsetledger/ledger/stream"
)

// consumeUntilKilled is what the test binary does when it is started again by the test below: it
// goes on where the last process had committed, prints what it does, and is killed.
func consumeUntilKilled(dir string) error {
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
	m, err := commands.NewManager(ctx, log, config())
	if err != nil {
		return err
	}
	if _, err := m.Restore(ctx); err != nil {
		return err
	}
	next, _ := m.Offset("orders", 0)
	fmt.Println("from", next)
	for ; ; next++ {
		fmt.Println("did", next)
		if err := m.UpdateOffset("orders", 0, next+1); err != nil {
			return err
		}
		if next%3 == 0 {
			if _, err := m.Commit(ctx); err != nil {
				return err
			}
			fmt.Println("committed", next+1)
		}
	}
}

// A consumer is killed in the middle of its work, again and again. It goes on at its last commit
// or at the one that was under way: no record is left out, and only records above the last commit
// are processed again.
func TestAKilledConsumerGoesOn(t *testing.T) {
	dir := t.TempDir()
	committed, reached := int64(0), int64(-1) // the last commit, and the last record processed
	for range 6 {
		lines := consumeAndKill(t, dir, 40)
		require.Equal(t, "from", lines[0].what)
		require.GreaterOrEqual(t, lines[0].at, committed, "a commit was lost")
		require.LessOrEqual(t, lines[0].at, reached+1, "a record was left out")
		for _, l := range lines {
			switch l.what {
			case "did":
				reached = max(reached, l.at)
			case "committed":
				committed = l.at
			}
		}
	}
	srv, err := embedded.Start(t.Context(), embedded.Config{Dir: dir})
	require.NoError(t, err)
	defer srv.Close()
	ledgertest.Check(t, srv.Conn(), stream.Config{})
	log, err := stream.Open(t.Context(), srv.Conn(), stream.Config{})
	require.NoError(t, err)
	requireCommitsAdvance(t, log, "billing")
}

type line struct {
	what string
	at   int64
}

// consumeAndKill runs consumeUntilKilled in a process of its own, kills it when it has said n
// things, and returns all that it said.
func consumeAndKill(t *testing.T, dir string, n int) []line {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), "COMMANDS_TEST_CONSUME_IN="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var said []line
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var l line
		if _, err := fmt.Sscan(lines.Text(), &l.what, &l.at); err != nil {
			continue // the last one, cut off
		}
		said = append(said, l)
		if len(said) == n {
			require.NoError(t, cmd.Process.Kill())
		}
	}
	require.Error(t, cmd.Wait())
	require.GreaterOrEqual(t, len(said), n)
	return said
}
