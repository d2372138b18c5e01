package embedded_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger/embedded"
)

// helpers are what the test binary does when it is started again as a process of its own.
var helpers = map[string]func(){
	"hold": hold,
}

// hold starts a server on the directory of the environment and keeps it until stdin ends.
func hold() {
	_, err := embedded.Start(context.Background(), embedded.Config{Dir: os.Getenv("EMBEDDED_TEST_DIR")})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("holding")
	io.Copy(io.Discard, os.Stdin) // the end is all that matters
}

// helperProcess starts the test binary as the named helper and returns when it said that it is
// ready.
func helperProcess(t *testing.T, name, dir, ready string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "EMBEDDED_TEST_HELPER="+name, "EMBEDDED_TEST_DIR="+dir)
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		stdin.Close()
		cmd.Process.Kill() // may have ended already
		cmd.Wait()         // killed
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, ready+"\n", line)
	return cmd
}

func TestSecondProcessIsRefusedWithThePidOfTheFirst(t *testing.T) {
	dir := t.TempDir()
	holder := helperProcess(t, "hold", dir, "holding")

	_, err := embedded.Start(t.Context(), embedded.Config{Dir: dir})
	require.ErrorIs(t, err, embedded.ErrLocked)
	var locked *embedded.LockedError
	require.ErrorAs(t, err, &locked)
	require.Equal(t, holder.Process.Pid, locked.PID)
	require.ErrorContains(t, err, fmt.Sprintf("in use by process %d", holder.Process.Pid))

	// A file left by a process that was killed locks nothing.
	require.NoError(t, holder.Process.Kill())
	holder.Wait() // killed
	require.FileExists(t, filepath.Join(dir, "lock"))
	start(t, embedded.Config{Dir: dir})
}

func TestSameProcessIsRefusedToo(t *testing.T) {
	dir := t.TempDir()
	start(t, embedded.Config{Dir: dir})
	_, err := embedded.Start(t.Context(), embedded.Config{Dir: dir})
	var locked *embedded.LockedError
	require.True(t, errors.As(err, &locked))
	require.Equal(t, os.Getpid(), locked.PID)
}

func TestDirectoriesThatAreNotOurs(t *testing.T) {
	for name, c := range map[string]struct {
		file, content, want string
	}{
		"somebody's files":  {"thesis.tex", "x", "holds thesis.tex"},
		"newer layout":      {"layout.json", `{"product":"offsetledger","version":2}`, "has layout 2 and this program knows up to 1: use the newer program"},
		"impossible layout": {"layout.json", `{"product":"offsetledger"}`, "has layout 0"},
		"another product":   {"layout.json", `{"product":"other","version":1}`, "layout.json does not say"},
		"damaged layout":    {"layout.json", `{"prod`, "layout.json does not say"},
		"bare NATS store":   {"jetstream", "", "holds jetstream and no layout.json"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, c.file), []byte(c.content), 0o600))
			_, err := embedded.Start(t.Context(), embedded.Config{Dir: dir})
			require.ErrorIs(t, err, embedded.ErrLayout)
			require.ErrorContains(t, err, c.want)
			b, err := os.ReadFile(filepath.Join(dir, c.file))
			require.NoError(t, err)
			require.Equal(t, c.content, string(b), "what was there is untouched")
		})
	}
}

func TestCrashWhileTheDirectoryWasBeingMade(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"lock": "4711\n", "layout.tmp": `{"prod`} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "lost+found"), 0o700))
	start(t, embedded.Config{Dir: dir})
}
