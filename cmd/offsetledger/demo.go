package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/offsetledger/offsetledger/commands/kafka"
	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
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
		Args:  noArgs,
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

	s := &service{logger: slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelError})), may: writing{allowed: true}}
	if s.listener, err = listenNear(flags.listen); err != nil {
		return err
	}
	defer s.listener.Close()
	if s.store, err = openStore(ctx, storeConfig{dir: dir, create: true, logger: s.logger}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	withdraw, err := announce(dir, s.url())
	if err != nil {
		return err
	}
	defer withdraw()

	g, running := errgroup.WithContext(ctx)
	g.Go(func() error { return s.serveHTTP(running) })
	g.Go(func() error { return a.runDemo(running, s, shop, dir, began, g) })
	err = g.Wait()
	s.endAsking()
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
	if err := s.fold(ctx, g); err != nil {
		return err
	}
	cfg := kafka.TailConfig{Options: shop.kafka.Options(), Cluster: demoCluster, Interval: time.Second}
	if err := s.newTail(cfg); err != nil {
		return err
	}
	if err := s.ask(demoCluster, cfg.Options); err != nil {
		return err
	}
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

// demoAsk is how a question is typed in another terminal, where nothing is known of this one
// but the program: it names the address unless every question goes there by itself.
func (a *app) demoAsk(s *service) func(words ...string) string {
	asking := app{program: a.program}
	if s.url() != defaultAPI || a.getenv(envAPI) != "" {
		asking.apiURL = s.url()
	}
	return asking.typed
}
