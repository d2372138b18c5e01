//go:build linux || darwin

package embedded_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger/embedded"
)

func init() { helpers["fill"] = fillDisk }

// fillDisk publishes until the disk takes no more, which here is a limit on the size of files,
// and prints how many were acknowledged, what the server says of itself, and the same again
// after there is room.
func fillDisk() {
	signal.Ignore(syscall.SIGXFSZ)
	ctx := context.Background()
	srv, err := embedded.Start(ctx, embedded.Config{Dir: os.Getenv("EMBEDDED_TEST_DIR")})
	if err != nil {
		panic(err)
	}
	js, err := jetstream.New(srv.Conn())
	if err != nil {
		panic(err)
	}
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}}); err != nil {
		panic(err)
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		panic(err)
	}
	full := limit
	full.Cur = 1 << 20
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &full); err != nil {
		panic(err)
	}
	acked := 0
	for ; ; acked++ {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		_, err := js.Publish(ctx, "s", make([]byte, 10<<10))
		cancel()
		if err != nil {
			break
		}
	}
	fmt.Println("acked", acked)
	fmt.Println("health:", srv.Health())
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		panic(err)
	}
	fmt.Println("health:", srv.Health())
	m, err := js.Conn().Request("$JS.API.STREAM.MSG.GET.S", []byte(`{"seq":7}`), time.Second)
	fmt.Println("reads:", err == nil && strings.Contains(string(m.Data), `"seq":7`))
	srv.Close()
}

// The disk fills while messages are stored: the server says that it is not well, and goes on
// answering; what it acknowledged is there after it was started again with room.
func TestNAT07FullDiskIsVisible(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "EMBEDDED_TEST_HELPER=fill", "EMBEDDED_TEST_DIR="+dir)
	out, err := cmd.Output()
	require.NoError(t, err, "%s", out)
	lines := bufio.NewScanner(strings.NewReader(string(out)))
	var said []string
	for lines.Scan() {
		said = append(said, lines.Text())
	}
	require.Len(t, said, 4, "%s", out)
	var acked uint64
	_, err = fmt.Sscanf(said[0], "acked %d", &acked)
	require.NoError(t, err)
	require.InDelta(t, 100, acked, 10)
	for _, health := range said[1:3] {
		require.Contains(t, health, "file too large")
	}
	require.Equal(t, "reads: true", said[3])

	srv := start(t, embedded.Config{Dir: dir})
	require.NoError(t, srv.Health())
	js, err := jetstream.New(srv.Conn())
	require.NoError(t, err)
	s, err := js.Stream(t.Context(), "S")
	require.NoError(t, err)
	require.GreaterOrEqual(t, s.CachedInfo().State.LastSeq, acked)
	_, err = js.Publish(t.Context(), "s", []byte("goes on"))
	require.NoError(t, err)
}
