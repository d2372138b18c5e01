package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
)

// patience is how long anything may take that should take a second.
const patience = 30 * time.Second

// running is a command that goes on in this process while a test looks at it.
type running struct {
	t              *testing.T
	stdout, stderr written
	interrupt      context.CancelFunc
	ended          chan struct{}
	code           int // once ended is closed
}

// written is what was written so far.
type written struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (w *written) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.Write(b)
}

func (w *written) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}

// launch begins a command, in an environment that says nothing. The end of the test ends it.
func launch(t *testing.T, args ...string) *running {
	r := &running{t: t, ended: make(chan struct{})}
	home := t.TempDir()
	getenv := func(name string) string { return map[string]string{"HOME": home}[name] }
	var ctx context.Context
	ctx, r.interrupt = context.WithCancel(context.WithoutCancel(t.Context()))
	go func() {
		defer close(r.ended)
		r.code = run(ctx, args, strings.NewReader(""), &r.stdout, &r.stderr, getenv)
	}()
	t.Cleanup(func() {
		r.interrupt()
		<-r.ended
	})
	return r
}

// wait waits for the command to end and returns its exit code.
func (r *running) wait() int {
	r.t.Helper()
	select {
	case <-r.ended:
	case <-time.After(patience):
		require.Fail(r.t, "the command does not end", "%s", &r.stderr)
	}
	return r.code
}

// stop interrupts the command and returns its exit code.
func (r *running) stop() int {
	r.t.Helper()
	r.interrupt()
	return r.wait()
}

// refused waits for the command to end with a code and one line of error, which it returns.
func (r *running) refused(code int) string {
	r.t.Helper()
	require.Equal(r.t, code, r.wait(), "%s", &r.stderr)
	require.Empty(r.t, r.stdout.String())
	var errors []string
	for line := range strings.Lines(r.stderr.String()) {
		if strings.HasPrefix(line, "error: ") {
			errors = append(errors, strings.TrimSpace(line))
		} else {
			require.Regexp(r.t, "^(time=|note: )", line, "a line of the log or a note: the error is one line")
		}
	}
	require.Len(r.t, errors, 1, "%s", &r.stderr)
	return errors[0]
}

// serving is a daemon in this process.
type serving struct {
	*running
	url string
}

// launchServe starts a daemon on brokers and a data directory, with more flags.
func launchServe(t *testing.T, dir, brokers string, more ...string) *running {
	args := []string{"serve", "-B", brokers, "--listen", "127.0.0.1:0", "--watermark-interval", "200ms"}
	if dir != "" {
		args = append(args, "--data-dir", dir)
	}
	return launch(t, append(args, more...)...)
}

// serveKafka starts a daemon and returns when it is ready.
func serveKafka(t *testing.T, dir, brokers string, more ...string) *serving {
	t.Helper()
	d := answering(t, launchServe(t, dir, brokers, more...))
	d.until("it is ready", func() bool { code, _ := d.get("/readyz"); return code == http.StatusOK })
	return d
}

// answering returns a daemon once it answers, well or not.
func answering(t *testing.T, r *running) *serving {
	t.Helper()
	d := &serving{running: r}
	d.until("it answers", func() bool {
		_, said, ok := strings.Cut(r.stderr.String(), " api=")
		if ok {
			d.url, _, ok = strings.Cut(said, "\n")
		}
		if !ok {
			return false
		}
		code, _ := d.get("/healthz")
		return code != 0
	})
	return d
}

func (d *serving) until(what string, condition func() bool) {
	d.t.Helper()
	require.Eventually(d.t, func() bool { return d.isOver() || condition() }, patience, 10*time.Millisecond, "%s\n%s", what, &d.stderr)
	require.False(d.t, d.isOver(), "it ended before %s: %s", what, &d.stderr)
}

func (d *serving) isOver() bool {
	select {
	case <-d.ended:
		return true
	default:
		return false
	}
}

// get returns the status and the body of an answer; the status is 0 when nobody answers.
func (d *serving) get(path string) (int, string) {
	client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(d.url + path)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	require.NoError(d.t, err)
	return resp.StatusCode, string(body)
}

// offset returns the committed offset that the daemon tells, if it knows one.
func (d *serving) offset(group, topic string, partition int32) (int64, bool) {
	c := api.Client{URL: d.url, Transport: &http.Transport{DisableKeepAlives: true}}
	g, err := c.Group(d.t.Context(), api.Query{Group: &group})
	if err != nil {
		return 0, false
	}
	for _, row := range g.Rows {
		if string(row.Topic) == topic && row.Partition == partition && row.CommittedOffset != nil {
			return *row.CommittedOffset, true
		}
	}
	return 0, false
}

// captures waits until the daemon knows that a group stands at an offset.
func (d *serving) captures(group, topic string, at int64) {
	d.t.Helper()
	d.until(fmt.Sprintf("%s is at %d", group, at), func() bool { got, ok := d.offset(group, topic, 0); return ok && got == at })
}

// startKafka starts a Kafka with a topic t of two partitions.
func startKafka(t *testing.T) *kafkatest.Fake {
	fake, err := kafkatest.StartFake(kafkatest.FakeConfig{Topics: map[string]int32{"t": 2}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, fake.Close()) })
	return fake
}

func commitAt(t *testing.T, fake *kafkatest.Fake, group string, at int64) {
	require.NoError(t, fake.Commit(t.Context(), group, "t", map[int32]int64{0: at}))
}

// peer listens and does the same with every connection that comes.
func peer(t *testing.T, meet func(net.Conn)) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var met sync.WaitGroup
	met.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			met.Go(func() {
				defer func() { _ = conn.Close() }()
				meet(conn)
			})
		}
	})
	t.Cleanup(func() {
		require.NoError(t, l.Close())
		met.Wait()
	})
	return l.Addr().String()
}
