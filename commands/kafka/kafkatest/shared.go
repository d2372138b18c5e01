package kafkatest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// T is what this package needs of a *testing.T.
type T interface {
	Helper()
	Logf(format string, args ...any)
	Skipf(format string, args ...any)
	Fatalf(format string, args ...any)
	Cleanup(f func())
}

// The environment of tests: a running broker to use, and that a missing one is a failure.
const (
	EnvBroker  = "OFFSETLEDGER_TEST_KAFKA"
	EnvRequire = "OFFSETLEDGER_REQUIRE_KAFKA"
)

// Start starts a real broker for one test and ends it with the test. Where none can be
// started the test is skipped, or fails if OFFSETLEDGER_REQUIRE_KAFKA is 1. An empty Dir is a
// temporary one.
func Start(t T, cfg RealConfig) *Real {
	t.Helper()
	if cfg.Dir == "" {
		dir, err := os.MkdirTemp("", "kafkatest-")
		if err != nil {
			t.Fatalf("make directory: %v", err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		cfg.Dir = dir
	}
	r, err := startBounded(cfg)
	if err != nil {
		refuse(t, err)
		return nil
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Logf("close %s: %v", r, err)
		}
	})
	t.Logf("kafka: %s", r)
	return r
}

// Shared is the real broker that all tests of one test binary and version share, started by
// the first of them: the one at OFFSETLEDGER_TEST_KAFKA, whatever its version, or one of our
// own, which [Closing] ends. Tests use topics and groups of their own in it. An empty version
// is Version44. Where there is none the test is skipped, or fails, as in [Start].
func Shared(t T, version string) *Real {
	t.Helper()
	if version == "" {
		version = Version44
	}
	r, err := shared.get(version)
	if err != nil {
		refuse(t, err)
		return nil
	}
	t.Logf("kafka: %s", r)
	return r
}

// Runner is a *testing.M.
type Runner interface {
	Run() int
}

// Closing is a Runner that ends the shared brokers after the tests. A package that uses
// [Shared] has a TestMain that calls os.Exit(kafkatest.Closing(m).Run()), or hands Closing(m)
// to goleak.
func Closing(m Runner) Runner { return closing{m} }

type closing struct{ m Runner }

func (c closing) Run() int {
	code := c.m.Run()
	if err := shared.close(); err != nil {
		fmt.Fprintln(os.Stderr, "kafkatest:", err)
		return max(code, 1)
	}
	return code
}

func startBounded(cfg RealConfig) (*Real, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute) // jars may have to be fetched
	defer cancel()
	return StartReal(ctx, cfg)
}

func refuse(t T, err error) {
	t.Helper()
	if errors.Is(err, ErrNoJava) && os.Getenv(EnvRequire) != "1" {
		t.Skipf("%v", err)
	}
	t.Fatalf("%v", err)
}

// shared holds the brokers of this test binary: one per process is the point of it.
var shared brokers

type brokers struct {
	mu      sync.Mutex
	started map[string]*started // by version
}

type started struct {
	real *Real
	err  error
	dir  string
}

func (b *brokers) get(version string) (*Real, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.started == nil {
		b.started = make(map[string]*started)
	}
	s := b.started[version]
	if s == nil {
		s = startShared(version)
		b.started[version] = s
	}
	return s.real, s.err
}

func startShared(version string) *started {
	if addr := os.Getenv(EnvBroker); addr != "" {
		r := external(addr)
		fmt.Println("kafka:", r)
		return &started{real: r}
	}
	dir, err := os.MkdirTemp("", "kafkatest-")
	if err != nil {
		return &started{err: fmt.Errorf("make directory: %w", err)}
	}
	r, err := startBounded(RealConfig{Version: version, Dir: dir})
	if err == nil {
		fmt.Println("kafka:", r) // once, where a test's own log shows it in every test
	}
	return &started{real: r, err: err, dir: dir}
}

// external is a broker that others run, at a plain listener. Its tools are those of Version44,
// where Java is here.
func external(addr string) *Real {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cp, _ := classpath(ctx, Version44) // without it Tool says what is missing
	return &Real{
		Cluster: &Cluster{name: "Kafka at " + addr + " (" + EnvBroker + ")", addrs: []string{addr}},
		cp:      cp,
	}
}

func (b *brokers) close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var errs []error
	for _, s := range b.started {
		if s.real != nil {
			errs = append(errs, s.real.Close())
		}
		if s.dir != "" {
			errs = append(errs, os.RemoveAll(s.dir))
		}
	}
	b.started = nil
	return errors.Join(errs...)
}
