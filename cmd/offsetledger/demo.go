package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/offsetledger/offsetledger/commands/kafka"
	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
	"github.com/offsetledger/offsetledger/projection"
)

const demoHelp = `Everything in one process, on a machine with nothing but this program: a Kafka that any client
can join, consumers of three groups, and the recorder. Within ten seconds somebody moves the
group billing back, and the questions to ask are printed.`

// demoCluster is the name of the demo's Kafka in its ledger.
const demoCluster = "demo"

// demoKafkaPort is where the demo's Kafka listens if nobody else does.
const demoKafkaPort = 9092

type demoFlags struct {
	length time.Duration
	listen string
}

func (a *app) demoCommand() *cobra.Command {
	var flags demoFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "A Kafka, consumers, and a rewind to find, in one process",
		Long:  demoHelp,
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.demo(cmd.Context(), flags) },
	}
	f := cmd.Flags()
	f.DurationVar(&flags.length, "for", 0, "end by itself after this time (default: at Ctrl-C)")
	f.StringVar(&flags.listen, "listen", defaultListen, "address of the HTTP API; another free port is taken if this one is not")
	f.StringVar(&a.dataDir, "data-dir", "", "directory of the ledger, kept afterwards (default: a temporary one)")
	return cmd
}

// demo runs until its time is up, or until Ctrl-C, of which it returns the error.
func (a *app) demo(interrupted context.Context, flags demoFlags) (err error) {
	if flags.length < 0 {
		return usagef("--for %s: it cannot be negative", flags.length)
	}
	began := time.Now()
	ctx := interrupted
	if flags.length > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, flags.length)
		defer cancel()
	}
	dir := a.dataDir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "offsetledger-demo-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	shop, err := openShop()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shop.kafka.Close()) }()

	s := &service{logger: slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelError}))}
	if s.listener, err = listenNear(flags.listen); err != nil {
		return err
	}
	defer s.listener.Close()
	if err := s.openStore(ctx, dir, ""); err != nil {
		return errors.Join(err, s.close())
	}
	defer func() { err = errors.Join(err, s.close()) }()
	withdraw, err := announce(dir, s.url())
	if err != nil {
		return err
	}
	defer withdraw()

	g, running := errgroup.WithContext(ctx)
	g.Go(func() error { return a.runDemo(running, s, shop, dir, began, g) })
	err = g.Wait()
	if ctx.Err() != nil && (err == nil || errors.Is(err, ctx.Err())) {
		return interrupted.Err()
	}
	return err
}

// openShop starts the demo's Kafka, on Kafka's own port if that is free.
func openShop() (*demoShop, error) {
	cfg := kafkatest.FakeConfig{Topics: demoTopics, Ports: []int{demoKafkaPort}}
	fake, err := kafkatest.StartFake(cfg)
	if err != nil {
		cfg.Ports = nil
		fake, err = kafkatest.StartFake(cfg)
	}
	if err != nil {
		return nil, err
	}
	return &demoShop{kafka: fake}, nil
}

// listenNear listens at addr, or at a free port of the same host if somebody else does.
func listenNear(addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err == nil {
		return l, nil
	}
	host, _, splitErr := net.SplitHostPort(addr)
	if splitErr != nil {
		return nil, usagef("--listen %s: want host:port", addr)
	}
	return net.Listen("tcp", net.JoinHostPort(host, "0"))
}

// runDemo starts everything and plays the story. Only the recorder goes on after it.
func (a *app) runDemo(ctx context.Context, s *service, shop *demoShop, dir string, began time.Time, g *errgroup.Group) error {
	if err := s.follow(ctx, g); err != nil {
		return err
	}
	cfg := kafka.TailConfig{Options: shop.kafka.Options(), Cluster: demoCluster, Interval: time.Second}
	if err := s.newTail(cfg); err != nil {
		return err
	}
	g.Go(func() error { return s.serveHTTP(ctx) })
	g.Go(func() error { return s.capture(ctx, cfg) })
	if err := s.waitReady(ctx); err != nil {
		return ignoreEnd(ctx, err)
	}
	fmt.Fprintf(a.stdout, "Kafka %s   API %s   data %s   ready in %.1f s   Ctrl-C ends\n",
		strings.Join(shop.kafka.Addrs(), ","), s.url(), dir, time.Since(began).Seconds())
	story := &demoStory{shop: shop, view: s.view, out: a.stdout, ask: a.demoAsk(s)}
	g.Go(func() error { return shop.produce(ctx) })
	g.Go(func() error { return ignoreCount(shop.consume(ctx, "fraud", "payments", 0)) })
	g.Go(func() error { return ignoreCount(shop.consume(ctx, "mailer", "mails", 0)) })
	return ignoreEnd(ctx, story.play(ctx))
}

func ignoreCount(_ int, err error) error { return err }

// demoAsk is how a question is typed: as this program was started, and to where it listens.
func (a *app) demoAsk(s *service) func(command string) string {
	program := "offsetledger"
	if exe, err := os.Executable(); err == nil && strings.Contains(filepath.ToSlash(exe), "/go-build") {
		program = "go run ./cmd/offsetledger"
	}
	where := ""
	if s.url() != defaultAPI {
		where = " --api " + s.url()
	}
	return func(command string) string { return program + " " + command + where }
}

// demoStory is what happens in the demo, and what is said of it.
type demoStory struct {
	shop *demoShop
	view *projection.View
	out  io.Writer
	ask  func(command string) string
}

// The group that the story is about, and what it reads.
const (
	demoGroup = "billing"
	demoTopic = "orders"
)

// reread is how many orders billing reads twice before somebody stops it.
const reread = 310

func (d *demoStory) play(ctx context.Context) error {
	if err := d.shop.fill(ctx); err != nil {
		return err
	}
	if err := d.read(ctx); err != nil {
		return err
	}
	seq, err := d.rewind(ctx)
	if err != nil {
		return err
	}
	if err := pause(ctx, time.Second); err != nil {
		return err
	}
	read, err := d.shop.consume(ctx, demoGroup, demoTopic, reread)
	if err != nil {
		return err
	}
	d.say(demoGroup, "reads again from 0: %d records twice so far, then stopped", read)
	fmt.Fprintf(d.out, `Three questions. In another terminal:
  where was it?  %s
  who moved it?  %s
  put it back:   %s > billing.csv
                 and hand that file to the stock tool: kafka-consumer-groups --bootstrap-server %s
                 --group billing --reset-offsets --from-file billing.csv --execute
`, d.ask(fmt.Sprintf("group describe billing --at seq:%d", seq-1)),
		d.ask("incidents --group billing"),
		d.ask(fmt.Sprintf("group describe billing --at seq:%d -o kafka-csv", seq-1)),
		d.shop.kafka.Addrs()[0])
	return nil
}

// read lets billing catch up and then leave, as in a deploy.
func (d *demoStory) read(ctx context.Context) error {
	reading, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- ignoreCount(d.shop.consume(reading, demoGroup, demoTopic, 0)) }()
	caughtUp := func(s *projection.State) bool { return d.committed(s) >= demoBacklog*int64(demoTopics[demoTopic]) }
	if err := d.until(ctx, caughtUp); err != nil {
		return errors.Join(err, waitFor(stop, done))
	}
	if err := pause(ctx, 2*time.Second); err != nil {
		return errors.Join(err, waitFor(stop, done))
	}
	var at int64
	var lag projection.TotalLag
	d.view.Read(func(s *projection.State) { at, lag = d.committed(s), s.TotalLag(demoCluster, demoGroup) })
	d.say(demoGroup, "reads %s (%d partitions)    committed %d, lag %d", demoTopic, demoTopics[demoTopic], at, lag.Records)
	if err := waitFor(stop, done); err != nil {
		return err
	}
	empty := func(s *projection.State) bool {
		g, ok := s.Group(demoCluster, demoGroup)
		return ok && g.State == projection.GroupStateEmpty
	}
	if err := d.until(ctx, empty); err != nil {
		return err
	}
	d.say(demoGroup, "last member left (a deploy)")
	return pause(ctx, time.Second)
}

func waitFor(stop func(), done <-chan error) error {
	stop()
	return <-done
}

// rewind moves billing back from outside and waits until the ledger has seen it. It returns
// the sequence of that event.
func (d *demoStory) rewind(ctx context.Context) (uint64, error) {
	var before int64
	d.view.Read(func(s *projection.State) { before = d.committed(s) })
	if err := d.shop.rewindFromOutside(ctx, demoGroup, demoTopic); err != nil {
		return 0, err
	}
	var rewind projection.Incident
	for found := false; !found; {
		d.view.ReadIncidents(func(_ *projection.State, in *projection.Incidents) {
			rewind, found = in.Last(demoCluster, demoGroup)
		})
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return 0, err
		}
	}
	d.say(demoGroup, "REWIND %s 0-%d: %d -> 0, no member (an admin tool?)    <- seq %d",
		demoTopic, demoTopics[demoTopic]-1, before, rewind.Seq)
	return rewind.Seq, nil
}

// committed is the sum of billing's committed offsets.
func (d *demoStory) committed(s *projection.State) int64 {
	var sum int64
	for _, p := range s.Partitions(demoCluster, demoGroup) {
		sum += p.Committed.At
	}
	return sum
}

// until waits until the folded history is as wanted.
func (d *demoStory) until(ctx context.Context, wanted func(*projection.State) bool) error {
	for {
		var ok bool
		d.view.Read(func(s *projection.State) { ok = wanted(s) })
		if ok {
			return nil
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// say prints a line of the story.
func (d *demoStory) say(group, format string, args ...any) {
	fmt.Fprintf(d.out, "%s  %-8s  %s\n", time.Now().UTC().Format("15:04:05Z"), group, fmt.Sprintf(format, args...))
}

// pause waits for d, or fails with the error of ctx.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
