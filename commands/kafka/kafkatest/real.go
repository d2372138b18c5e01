package kafkatest

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// RealConfig describes a real broker. The zero value, with a Dir, is the newest version with a
// plain listener only.
type RealConfig struct {
	Version    string // of Apache Kafka; empty is Version44
	Dir        string // an empty directory for its data, configuration and log
	Partitions int32  // of OffsetsTopic; 0 is 4
	// Certs adds an SSL listener, which asks for no client certificate.
	Certs *Certs
	// Users adds a SASL_PLAINTEXT listener and, with Certs, a SASL_SSL one. Each mechanism of
	// a user is served on both.
	Users []User
	// ACLs turns authorization on. Clients of the plain listener and users that are Super may
	// do everything.
	ACLs bool
	// Properties are added to the broker's configuration, or replace what is there.
	Properties map[string]string
}

func (c RealConfig) validate() error {
	var errs []error
	if c.Dir == "" {
		errs = append(errs, errors.New("no directory"))
	}
	if c.Partitions < 0 {
		errs = append(errs, fmt.Errorf("partitions %d: want 1 or more", c.Partitions))
	}
	for _, u := range c.Users {
		if saslModules[u.Mechanism] == "" {
			errs = append(errs, fmt.Errorf("user %s: unknown mechanism %q", u.Name, u.Mechanism))
		}
	}
	return errors.Join(errs...)
}

// Real is a broker and controller of Apache Kafka in one process of its own, on loopback.
type Real struct {
	*Cluster
	cfg     RealConfig
	cp      string
	ports   map[string]int // by listener name
	process *process       // nil of a broker that others run
}

// The time a broker may take to answer, and to end when asked to.
const (
	startTimeout = 2 * time.Minute // 3 s where nothing else runs
	stopGrace    = 15 * time.Second
)

// StartReal starts a broker and returns when its group coordinator answers: ErrNoJava where
// none can be started. Close ends it; so does the end of the calling process.
func StartReal(ctx context.Context, cfg RealConfig) (*Real, error) {
	if cfg.Version == "" {
		cfg.Version = Version44
	}
	if cfg.Partitions == 0 {
		cfg.Partitions = 4
	}
	fail := func(err error) (*Real, error) {
		return nil, fmt.Errorf("start Kafka %s: %w", cfg.Version, err)
	}
	if err := cfg.validate(); err != nil {
		return fail(err)
	}
	cp, err := classpath(ctx, cfg.Version)
	if err != nil {
		return fail(err)
	}
	ports, err := freePorts(cfg.listeners())
	if err != nil {
		return fail(err)
	}
	r := &Real{cfg: cfg, cp: cp, ports: ports}
	addr := r.Addr(listenerPlain)
	r.Cluster = &Cluster{name: fmt.Sprintf("Apache Kafka %s on %s", cfg.Version, addr), addrs: []string{addr}}
	if err := r.format(ctx); err != nil {
		return fail(err)
	}
	if err := r.start(ctx); err != nil {
		return fail(err)
	}
	return r, nil
}

// Version is the broker's version; empty of one that others run.
func (r *Real) Version() string { return r.cfg.Version }

// Addr is the address of a listener: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL. It is empty
// for one that the configuration did not ask for.
func (r *Real) Addr(protocol string) string {
	port, ok := r.ports[protocol]
	if !ok {
		return ""
	}
	return fmt.Sprintf("127.0.0.1:%d", port)
}

// PID is the process of the broker, which may have ended; 0 of one that others run.
func (r *Real) PID() int {
	if r.process == nil {
		return 0
	}
	return r.process.cmd.Process.Pid
}

// Log is the file that the broker writes to.
func (r *Real) Log() string { return filepath.Join(r.cfg.Dir, "broker.log") }

// newClusterID makes the id of a cluster as Kafka spells one: so no two brokers are taken for one
// cluster. It does not begin with a dash, which the tool takes for an option.
func newClusterID() string {
	for {
		id := uuid.New()
		if text := base64.RawURLEncoding.EncodeToString(id[:]); text[0] != '-' {
			return text
		}
	}
}

// format writes the configuration and makes the broker's storage, with its SCRAM users.
func (r *Real) format(ctx context.Context) error {
	if r.cfg.Certs != nil {
		store, err := r.cfg.Certs.PEM(r.cfg.Certs.Server)
		if err != nil {
			return err
		}
		if err := os.WriteFile(r.keystore(), store, 0o600); err != nil {
			return fmt.Errorf("write key store: %w", err)
		}
	}
	if err := os.WriteFile(r.properties(), r.serverProperties(), 0o600); err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	args := []string{"format", "-t", newClusterID(), "-c", r.properties()}
	for _, u := range r.cfg.Users {
		if u.Mechanism != "PLAIN" {
			args = append(args, "-S", fmt.Sprintf("%s=[name=%s,password=%s]", u.Mechanism, u.Name, u.Password))
		}
	}
	if out, err := r.Tool(ctx, "kafka.tools.StorageTool", args...); err != nil {
		return fmt.Errorf("format storage: %w: %s", err, tail([]byte(out)))
	}
	return nil
}

// start starts the process on its directory and waits until it serves groups. A broker that
// does not is ended, and the end of its log is in the error.
func (r *Real) start(ctx context.Context) error {
	p, err := startProcess(r.Log(), "java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", r.cp, "kafka.Kafka", r.properties())
	if err != nil {
		return err
	}
	r.process = p
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := r.ready(ctx); err != nil {
		p.kill()
		return fmt.Errorf("%w; its log ends: %s", err, p.logTail())
	}
	return nil
}

// ready waits for metadata and a first group coordinator: a port that is open is not yet
// either of them.
func (r *Real) ready(ctx context.Context) error {
	cl, err := kgo.NewClient(r.Options(kgo.RetryTimeout(time.Second))...)
	if err != nil {
		return fmt.Errorf("open client: %w", err)
	}
	defer cl.Close()
	for {
		err := findCoordinator(ctx, cl)
		if err == nil {
			return nil
		}
		select {
		case <-r.process.done:
			return fmt.Errorf("the broker ended (%w)", errors.Join(r.process.err, err))
		case <-ctx.Done():
			return fmt.Errorf("not ready: %w", errors.Join(ctx.Err(), err))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func findCoordinator(ctx context.Context, cl *kgo.Client) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := cl.Ping(ctx); err != nil {
		return err
	}
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorKey, req.CoordinatorKeys = "kafkatest", []string{"kafkatest"}
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return err
	}
	for _, c := range resp.Coordinators {
		if err := kerr.ErrorForCode(c.ErrorCode); err != nil {
			return err
		}
	}
	return kerr.ErrorForCode(resp.ErrorCode)
}

// errNotOurs refuses to end a broker that this process did not start.
var errNotOurs = errors.New("the broker was not started by this process")

// Kill ends the broker with SIGKILL, as a power cut of the process does.
func (r *Real) Kill() error {
	if r.process == nil {
		return fmt.Errorf("kill broker: %w", errNotOurs)
	}
	r.process.kill()
	return nil
}

// Stop ends the broker in an orderly way; Restart starts it again.
func (r *Real) Stop() error {
	if r.process == nil {
		return fmt.Errorf("stop broker: %w", errNotOurs)
	}
	return r.process.stop(stopGrace)
}

// Restart starts a broker that was killed or stopped, on the same directory and ports.
func (r *Real) Restart(ctx context.Context) error {
	if r.process == nil {
		return fmt.Errorf("restart broker: %w", errNotOurs)
	}
	if !r.stopped() {
		return errors.New("restart broker: it is running")
	}
	if err := r.start(ctx); err != nil {
		return fmt.Errorf("restart broker: %w", err)
	}
	return nil
}

func (r *Real) stopped() bool {
	select {
	case <-r.process.done:
		return true
	default:
		return false
	}
}

// Close ends the broker, if this process started it, and leaves its directory.
func (r *Real) Close() error {
	r.closeClient()
	if r.process == nil {
		return nil
	}
	return r.process.stop(stopGrace)
}
