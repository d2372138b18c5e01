package kafka

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/embedded"
	"github.com/offsetledger/offsetledger/ledger/stream"
)

// A process that captures into its embedded ledger is killed with SIGKILL twenty times while
// commits, transactions and deletions flow: every other one at any moment from its start, the
// others from when it captures. In the end every record is told once, in order.
func TestKillNineOfTheProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	fake := startFake(t, kafkatest.FakeConfig{Partitions: 2})
	dir := filepath.Join(t.TempDir(), "ledger")
	makeLedger(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	flowing := make(chan error, 1)
	go func() { flowing <- flow(ctx, fake) }()
	for death := range 20 {
		cmd := exec.Command(os.Args[0], "-test.run=^$") //nolint:gosec // this very program
		cmd.Env = append(os.Environ(), envCapture+"="+strings.Join(fake.Addrs(), ","), envCaptureDir+"="+dir)
		var told strings.Builder
		cmd.Stderr = &told
		captures, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		if death%2 == 1 {
			_, err := io.ReadFull(captures, make([]byte, 1)) // says nothing until then
			require.NoError(t, err, "%s", &told)
		}
		life := time.NewTimer(time.Duration(rand.Int64N(int64(300 * time.Millisecond))))
		<-life.C
		require.NoError(t, cmd.Process.Kill())
		var exit *exec.ExitError
		require.True(t, errors.As(cmd.Wait(), &exit))
		require.Empty(t, told.String(), "it did not end by itself")
	}
	cancel()
	require.NoError(t, <-flowing)
	checkKilled(t, fake, dir)
}

func makeLedger(t testing.TB, dir string) {
	srv, err := embedded.Start(t.Context(), embedded.Config{Dir: dir})
	require.NoError(t, err)
	_, err = stream.Create(t.Context(), srv.Conn(), stream.Config{})
	require.NoError(t, err)
	require.NoError(t, srv.Close())
}

// checkKilled lets capture catch up in this process and compares.
func checkKilled(t *testing.T, fake *kafkatest.Fake, dir string) {
	srv, err := embedded.Start(t.Context(), embedded.Config{Dir: dir})
	require.NoError(t, err)
	defer func() { require.NoError(t, srv.Close()) }()
	log, err := stream.Open(t.Context(), srv.Conn(), stream.Config{})
	require.NoError(t, err)
	before := len(eventsOf(t, log, ledger.KindCommitted))
	r := capture(t, fake, log, nil)
	r.ready()
	require.ErrorIs(t, r.kill(), context.Canceled)
	require.Equal(t, toldAtOnce(t, fake), toldByPartition(t, log))
	require.Empty(t, eventsOf(t, log, ledger.KindGap))
	require.Positive(t, before, "the processes that were killed had stored something")
}
