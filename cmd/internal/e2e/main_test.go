package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
)

// binary is the built program.
var binary string

func TestMain(m *testing.M) { goleak.VerifyTestMain(built{kafkatest.Closing(m)}) }

// ownBroker marks a test that needs another broker than the one that most share: -short leaves
// it out, and it runs beside others, since brokers take their time to stop and to start.
func ownBroker(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts another broker")
	}
	t.Parallel()
}

// built builds the program before the tests and removes it after them.
type built struct{ kafkatest.Runner }

func (b built) Run() int {
	dir, err := os.MkdirTemp("", "offsetledger-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "offsetledger")
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	build := exec.CommandContext(ctx, "go", "build", fmt.Sprintf("-race=%t", raceDetector), "-o", binary,
		"github.com/offsetledger/offsetledger/cmd/offsetledger")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "e2e: build the program: %v\n%s", err, out)
		return 1
	}
	return b.Runner.Run()
}
