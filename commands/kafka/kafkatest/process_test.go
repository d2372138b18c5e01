//go:build linux

package kafkatest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const envHelper = "KAFKATEST_HELPER_LOG"

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

// TestHelper is the test binary that dies with a child, in a process of its own.
func TestHelper(t *testing.T) {
	log := os.Getenv(envHelper)
	if log == "" {
		t.Skip("only a helper of the test below")
	}
	p, err := startProcess(log, "sleep", "600")
	require.NoError(t, err)
	fmt.Println("child", p.cmd.Process.Pid)
	<-p.done
}

func TestAChildEndsWithATestBinaryThatIsKilled(t *testing.T) {
	helper := exec.Command(os.Args[0], "-test.run=^TestHelper$", "-test.v")
	helper.Env = append(os.Environ(), envHelper+"="+filepath.Join(t.TempDir(), "log"))
	out, err := helper.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, helper.Start())
	pid := 0
	for lines := bufio.NewScanner(out); pid == 0 && lines.Scan(); {
		if s, ok := strings.CutPrefix(lines.Text(), "child "); ok {
			pid, err = strconv.Atoi(s)
			require.NoError(t, err)
		}
	}
	require.NotZero(t, pid)
	require.True(t, alive(pid))
	require.NoError(t, helper.Process.Kill())
	require.Error(t, helper.Wait())
	require.Eventually(t, func() bool { return !alive(pid) }, 10*time.Second, 10*time.Millisecond)
}

func TestAProcessThatIgnoresTheRequestToEndIsKilled(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	p, err := startProcess(log, "sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.05; done")
	require.NoError(t, err)
	require.Eventually(t, func() bool { return p.logTail() == "ready" }, 10*time.Second, 10*time.Millisecond)
	require.ErrorContains(t, p.stop(100*time.Millisecond), "was killed")
	require.False(t, alive(p.cmd.Process.Pid))
}

func TestAProgramThatIsNotThereIsAnError(t *testing.T) {
	_, err := startProcess(filepath.Join(t.TempDir(), "log"), "no-such-program-at-all")
	require.ErrorIs(t, err, exec.ErrNotFound)
}
