package crashtest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// binary is the built program.
var binary string

// seed makes a run of these tests that failed happen again, as far as a schedule can.
var seed = flag.Uint64("seed", 0, "seed of what is written and when the daemon dies; 0 is a new one")

func TestMain(m *testing.M) { goleak.VerifyTestMain(built{m}) }

// built builds the program before the tests and removes it after them.
type built struct{ *testing.M }

func (b built) Run() int {
	dir, err := os.MkdirTemp("", "offsetledger-crashtest-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "crashtest:", err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "offsetledger")
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	build := exec.CommandContext(ctx, "go", "build", fmt.Sprintf("-race=%t", raceDetector), "-o", binary,
		"github.com/offsetledger/offsetledger/cmd/offsetledger")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "crashtest: build the program: %v\n%s", err, out)
		return 1
	}
	return b.M.Run()
}
