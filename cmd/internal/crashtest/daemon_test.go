package crashtest

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
)

// cluster is the name that the daemon captures under.
const cluster = "prod"

// patience is how long anything in these tests may take that should take a second.
const patience = time.Minute

// daemon is one life of offsetledger serve.
type daemon struct {
	t    *testing.T
	dir  string
	cmd  *exec.Cmd
	log  *output
	done chan struct{} // closed when it has ended
}

// start starts a daemon on a broker and a data directory. It may not listen yet when start
// returns. The end of the test ends it.
func start(t *testing.T, dir string, fake *kafkatest.Fake) *daemon {
	d := &daemon{t: t, dir: dir, log: &output{}, done: make(chan struct{})}
	d.cmd = exec.Command(binary, "serve", "-B", strings.Join(fake.Addrs(), ","), "--cluster", cluster,
		"--data-dir", dir, "--listen", "127.0.0.1:0", "--watermark-interval", "500ms")
	d.cmd.Env = []string{"HOME=" + t.TempDir()}
	d.cmd.Stdout, d.cmd.Stderr = d.log, d.log
	require.NoError(t, d.cmd.Start())
	go func() {
		_ = d.cmd.Wait() // the exit code tells
		close(d.done)
	}()
	t.Cleanup(func() {
		d.kill()
		require.NotContains(t, d.log.String(), "DATA RACE")
		if t.Failed() {
			t.Logf("log of a daemon:\n%s", d.log)
		}
	})
	return d
}

// kill ends the daemon as a power cut of its process does.
func (d *daemon) kill() {
	_ = d.cmd.Process.Kill() // it may have ended already
	<-d.done
}

// liveFor lets the daemon live for a while and then kills it. That it ends by itself is a fault.
func (d *daemon) liveFor(life time.Duration) {
	d.t.Helper()
	select {
	case <-d.done:
		require.Fail(d.t, "the daemon ended by itself", "%s", d.log)
	case <-time.After(life):
		d.kill()
	}
}

// stop ends the daemon as a service manager does and returns its exit code.
func (d *daemon) stop() int {
	d.t.Helper()
	require.NoError(d.t, d.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case <-d.done:
	case <-time.After(patience):
		require.Fail(d.t, "the daemon ignores SIGTERM", "%s", d.log)
	}
	return d.cmd.ProcessState.ExitCode()
}

// ready waits until the daemon says that it has captured what was there when it began.
func (d *daemon) ready() *daemon {
	d.t.Helper()
	require.Eventually(d.t, func() bool { return d.ended() || d.get("/readyz") == http.StatusOK },
		patience, 10*time.Millisecond, "the daemon is not ready: %s", d.log)
	require.False(d.t, d.ended(), "the daemon ended: %s", d.log)
	return d
}

func (d *daemon) ended() bool {
	select {
	case <-d.done:
		return true
	default:
		return false
	}
}

// get returns the status of an answer of the daemon, 0 when nobody answers. A note of where
// a daemon listens can be one that the daemon before it left behind.
func (d *daemon) get(path string) int {
	url, err := os.ReadFile(filepath.Join(d.dir, "api"))
	if err != nil {
		return 0
	}
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(strings.TrimSpace(string(url)) + path)
	if err != nil {
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
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
