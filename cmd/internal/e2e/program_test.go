package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
)

// patience is how long anything in these tests may take that should take a second.
const patience = time.Minute

// ran is one run of the program that has ended.
type ran struct {
	stdout, stderr string
	code           int
}

// run runs the program to its end.
func run(t *testing.T, args ...string) ran {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := program(ctx, t, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	require.NoError(t, ctx.Err(), "offsetledger %s does not end: %s", strings.Join(args, " "), &stderr)
	return ran{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// program is the program in an environment that says nothing of other ledgers or brokers.
func program(ctx context.Context, t *testing.T, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir()}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// daemon is a running offsetledger serve.
type daemon struct {
	*api.Client
	t    *testing.T
	dir  string
	cmd  *exec.Cmd
	log  *output
	done chan struct{} // closed when it has ended
}

// serve starts a daemon on a broker and a directory and returns when it answers, which is
// before it has caught up. The end of the test ends it.
func serve(t *testing.T, dir, broker string, args ...string) *daemon {
	t.Helper()
	d := start(t, dir, broker, args...)
	require.Eventually(t, func() bool {
		return d.ended() || d.listens()
	}, patience, 5*time.Millisecond, "the daemon does not answer")
	require.False(t, d.ended(), "the daemon ended: %s", d.log)
	return d
}

// start starts a daemon that may well fail.
func start(t *testing.T, dir, broker string, args ...string) *daemon {
	t.Helper()
	all := []string{"serve", "-B", broker, "--data-dir", dir, "--listen", "127.0.0.1:0", "--watermark-interval", "500ms"}
	d := &daemon{Client: &api.Client{}, t: t, dir: dir, log: &output{}, done: make(chan struct{})}
	d.cmd = program(context.WithoutCancel(t.Context()), t, append(all, args...)...)
	d.cmd.Stdout, d.cmd.Stderr = d.log, d.log
	require.NoError(t, d.cmd.Start())
	go func() {
		_ = d.cmd.Wait() // the exit code tells
		close(d.done)
	}()
	mine := *d
	t.Cleanup(func() {
		mine.stop()
		if strings.Contains(mine.log.String(), "DATA RACE") {
			t.Error("the daemon has a data race")
		}
		if t.Failed() {
			t.Logf("the daemon's log:\n%s", mine.log)
		}
	})
	return d
}

// announced learns from the log where the daemon listens.
func (d *daemon) announced() bool {
	_, line, ok := strings.Cut(d.log.String(), " api=")
	if ok {
		d.URL, _, ok = strings.Cut(line, "\n")
	}
	return ok
}

// listens reports whether the daemon answers.
func (d *daemon) listens() bool {
	if !d.announced() {
		return false
	}
	status, _ := d.get("/healthz")
	return status != 0
}

func (d *daemon) ended() bool {
	select {
	case <-d.done:
		return true
	default:
		return false
	}
}

// wait waits for the daemon to end by itself and returns its exit code.
func (d *daemon) wait() int {
	d.t.Helper()
	select {
	case <-d.done:
	case <-time.After(patience):
		require.Fail(d.t, "the daemon does not end", "%s", d.log)
	}
	return d.cmd.ProcessState.ExitCode()
}

// stop ends the daemon as a service manager does and returns its exit code.
func (d *daemon) stop() int {
	_ = d.cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
	select {
	case <-d.done:
	case <-time.After(patience):
		d.t.Errorf("the daemon ignores SIGTERM: %s", d.log)
		d.kill()
	}
	return d.cmd.ProcessState.ExitCode()
}

// kill ends the daemon as a power cut does.
func (d *daemon) kill() {
	_ = d.cmd.Process.Kill()
	<-d.done
}

// restart kills the daemon and starts another on the same directory in its place.
func (d *daemon) restart(broker string) {
	d.t.Helper()
	d.kill()
	*d = *serve(d.t, d.dir, broker)
}

// ready waits until the daemon says that it has caught up.
func (d *daemon) ready() *daemon {
	d.t.Helper()
	d.until("it is ready", func() bool {
		status, _ := d.get("/readyz")
		return status == 200
	})
	return d
}

// until waits for a condition, as long as the daemon runs.
func (d *daemon) until(what string, condition func() bool) {
	d.t.Helper()
	require.Eventually(d.t, func() bool { return d.ended() || condition() }, patience, 20*time.Millisecond, what)
	require.False(d.t, d.ended(), "the daemon ended before %s: %s", what, d.log)
}

// through waits until the daemon has captured everything up to now, so that what it says of
// this moment never changes.
func (d *daemon) through() {
	d.t.Helper()
	now := time.Now()
	d.until("capture has passed the moment", func() bool {
		answer, err := d.Groups(d.t.Context(), api.Query{})
		require.NoError(d.t, err)
		through, ok := answer.Coverage.Through.Std()
		return ok && !through.Before(now)
	})
}

// ask runs a reading command against the daemon; it has to succeed.
func (d *daemon) ask(args ...string) ran {
	d.t.Helper()
	out := run(d.t, append(args, "--api", d.URL)...)
	require.Zero(d.t, out.code, "offsetledger %s: %s", strings.Join(args, " "), out.stderr)
	return out
}

// follow runs a reading command that goes on until the test ends, and returns what it prints.
func (d *daemon) follow(args ...string) *output {
	d.t.Helper()
	out := &output{}
	ctx, cancel := context.WithCancel(context.WithoutCancel(d.t.Context()))
	cmd := program(ctx, d.t, append(args, "-f", "--api", d.URL)...)
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	require.NoError(d.t, cmd.Start())
	d.t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // it ends because it was told to
	})
	return out
}

// rows runs a reading command against the daemon and decodes its JSON lines.
func rows[T any](d *daemon, args ...string) []T {
	d.t.Helper()
	return decoded[T](d.t, d.ask(append(args, "-o", "jsonl")...).stdout)
}

// decoded reads JSON lines.
func decoded[T any](t *testing.T, lines string) []T {
	t.Helper()
	var out []T
	dec := json.NewDecoder(strings.NewReader(lines))
	for dec.More() {
		var row T
		require.NoError(t, dec.Decode(&row))
		out = append(out, row)
	}
	return out
}

// answer runs a reading command against the daemon and decodes its one JSON document.
func answer[T any](d *daemon, args ...string) T {
	d.t.Helper()
	var out T
	require.NoError(d.t, json.Unmarshal([]byte(d.ask(append(args, "-o", "json")...).stdout), &out))
	return out
}

// output is what a program has written so far.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// errorLine is the one line in which the program says what is wrong.
func errorLine(t *testing.T, stderr string) string {
	t.Helper()
	var lines []string
	for line := range strings.Lines(stderr) {
		if strings.HasPrefix(line, "error: ") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	require.Len(t, lines, 1, "%s", stderr)
	require.True(t, strings.HasSuffix(strings.TrimSpace(stderr), lines[0]), "it ends with the error: %s", stderr)
	return lines[0]
}

// tool runs a stock tool against the plain listener of a broker; it has to succeed.
func tool(t *testing.T, r *kafkatest.Real, class string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, err := r.Tool(ctx, class, append([]string{"--bootstrap-server", r.Addrs()[0]}, args...)...)
	require.NoError(t, err, out)
	return out
}
