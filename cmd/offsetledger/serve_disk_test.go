//go:build linux || darwin

package main

import (
	"context"
	"crypto/rand"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
)

// envFileLimit, in the environment of the program as scripts run it, is the size in bytes that
// its files cannot grow beyond, which is what a full disk is like.
const envFileLimit = "OFFSETLEDGER_TEST_FILE_LIMIT"

func init() {
	text := os.Getenv(envFileLimit)
	if text == "" {
		return
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		panic(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		panic(err)
	}
	limit.Cur = n
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		panic(err)
	}
}

// launchLimited starts the daemon in a process of its own whose files cannot grow.
func launchLimited(t *testing.T, dir, brokers string, limit int) *running {
	program := filepath.Join(t.TempDir(), "offsetledger")
	require.NoError(t, os.Symlink(os.Args[0], program))
	r := &running{t: t, ended: make(chan struct{})}
	ctx, interrupt := context.WithCancel(context.WithoutCancel(t.Context()))
	r.interrupt = interrupt
	cmd := exec.CommandContext(ctx, program, "serve", "-B", brokers, "--data-dir", dir, "--listen", "127.0.0.1:0", "--watermark-interval", "200ms")
	cmd.Env = []string{"HOME=" + t.TempDir(), envFileLimit + "=" + strconv.Itoa(limit)}
	cmd.Stdout, cmd.Stderr = &r.stdout, &r.stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	require.NoError(t, cmd.Start())
	go func() {
		defer close(r.ended)
		_ = cmd.Wait() // the exit code tells
		r.code = cmd.ProcessState.ExitCode()
	}()
	t.Cleanup(func() {
		interrupt()
		<-r.ended
	})
	return r
}

// The disk fills while the daemon captures: it says so in /healthz and in the log, goes on
// answering, and started again with room it has every commit.
func TestServeOnAFullDiskIsUnwellAndAnswers(t *testing.T) {
	t.Parallel() // it waits more than it works
	fake := startKafka(t)
	dir := filepath.Join(t.TempDir(), "ledger")
	d := answering(t, launchLimited(t, dir, fake.Addrs()[0], 256<<10))
	commitAt(t, fake, "g", 1)
	d.captures("g", "t", 1)

	random := make([]byte, 3000) // the store compresses
	last := int64(1)
	d.until("it is not well", func() bool {
		for range 20 {
			last++
			_, err := rand.Read(random)
			require.NoError(t, err)
			require.NoError(t, fake.Write(t.Context(), "g", kafkatest.Commit{
				Group: "g", Topic: "t", At: last, LeaderEpoch: -1, Version: 3, Metadata: string(random),
			}.Record()))
		}
		code, body := d.get("/healthz")
		return code == http.StatusServiceUnavailable && strings.Contains(body, "nothing can be stored")
	})
	_, body := d.get("/healthz")
	require.Contains(t, body, "make room on the disk", "whatever file it is that did not fit")
	at, ok := d.offset("g", "t", 0)
	require.True(t, ok, "questions are answered")
	require.GreaterOrEqual(t, at, int64(1))
	require.Contains(t, d.stderr.String(), "level=ERROR")
	require.Equal(t, exitDone, d.stop(), "%s", &d.stderr)

	again := serveKafka(t, dir, fake.Addrs()[0])
	again.captures("g", "t", last)
}
