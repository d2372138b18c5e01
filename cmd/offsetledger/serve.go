package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/offsetledger/offsetledger/cmd/internal/config"
	"github.com/offsetledger/offsetledger/commands/kafka"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

const serveHelp = `Record what happens to the committed offsets of a Kafka cluster, and answer questions about it.

The daemon reads __consumer_offsets in no consumer group and writes nothing to Kafka, unless
--allow-writes has it carry plans of restore and reset out. What it
records goes to an embedded NATS server in --data-dir, or to the one at --nats.

The name given with --cluster is part of every subject of the ledger, for ever. It may be left
out later, and for a broker on this machine, which is called "local".

  offsetledger serve -B broker:9092 --cluster prod
  offsetledger serve -B broker:9093 --command-config client.properties --cluster prod
  offsetledger serve -B broker:9092 --cluster prod --nats-listen 127.0.0.1:4222   for offset managers`

// defaultListen is where the API listens unless it is told otherwise.
const defaultListen = "127.0.0.1:8642"

// localCluster is the name of a cluster on this machine that nobody named.
const localCluster = "local"

// serveFlags are what serve was told.
type serveFlags struct {
	kafka    config.Flags
	listen   string
	nats     string
	clients  natsListener
	may      writing
	interval time.Duration
}

func (a *app) serveCommand() *cobra.Command {
	var flags serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Record a Kafka cluster, and answer questions about it",
		Long:  serveHelp,
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.serve(cmd.Context(), flags) },
	}
	a.kafkaFlags(cmd, &flags.kafka)
	f := cmd.Flags()
	f.StringVar(&a.cluster, "cluster", "", "name of the Kafka cluster in the ledger, for ever")
	f.StringVar(&a.dataDir, "data-dir", "", "directory of the ledger (default "+a.defaultDataDir()+")")
	f.StringVar(&flags.listen, "listen", defaultListen, "address of the HTTP API")
	f.StringVar(&flags.nats, "nats", "", "URL of a NATS server to store in, instead of the embedded one")
	flags.clients.register(f)
	flags.may.register(f)
	f.DurationVar(&flags.interval, "watermark-interval", 10*time.Second, "time between two looks at the ends of the logs")
	return cmd
}

// kafkaFlags adds the flags that say how to reach Kafka.
func (a *app) kafkaFlags(cmd *cobra.Command, k *config.Flags) {
	f := cmd.Flags()
	f.StringVarP(&k.BootstrapServers, "bootstrap-servers", "B", "", "Kafka brokers, host:port[,…] (or $"+config.EnvBootstrapServers+")")
	f.StringVar(&k.CommandConfig, "command-config", "", "properties file of the stock tools: TLS, SASL (or $"+config.EnvCommandConfig+")")
}

// loadKafka reads how to reach Kafka, and says what it passed over.
func (a *app) loadKafka(flags config.Flags) (config.Kafka, error) {
	flags.Version = version()
	flags.LookupEnv = func(name string) (string, bool) {
		v := a.getenv(name)
		return v, v != ""
	}
	k, notes, err := config.Load(flags)
	for _, n := range notes {
		a.note("note: %s", n)
	}
	if err == nil && len(k.Brokers) == 0 {
		err = config.ErrNoBrokers
	}
	if err != nil {
		return k, &exitError{exitUsage, err}
	}
	return k, nil
}

func (a *app) serve(ctx context.Context, flags serveFlags) (err error) {
	began := time.Now()
	if flags.interval <= 0 {
		return usagef("--watermark-interval %s: it has to be positive", flags.interval)
	}
	if err := flags.may.validate(); err != nil {
		return err
	}
	k, err := a.loadKafka(flags.kafka)
	if err != nil {
		return err
	}
	dir := a.dataDir
	if dir == "" {
		dir = a.defaultDataDir()
	}
	if a.cluster == "" && flags.nats == "" && !holdsLedger(dir) && !onLoopback(k.Brokers) {
		return errNameless
	}
	s := &service{logger: slog.New(slog.NewTextHandler(a.stderr, nil)), may: flags.may}
	if s.listener, err = net.Listen("tcp", flags.listen); err != nil {
		return listenFault(flags.listen, err)
	}
	defer s.listener.Close()
	if s.store, err = openStore(ctx, storeConfig{dir: dir, clients: flags.clients, nats: flags.nats, create: true, logger: s.logger}); err != nil {
		return err
	}
	// Whatever writes to the store has ended when run returns.
	defer func() { err = errors.Join(err, s.close()) }()
	if s.server != nil {
		withdraw, err := announce(dir, s.url())
		if err != nil {
			return fmt.Errorf("note where the daemon listens: %w", err)
		}
		defer withdraw()
		s.logger.Info("ledger opened", "data_dir", dir)
		s.announceClients(dir, flags.clients)
	}
	g, running := errgroup.WithContext(ctx)
	g.Go(func() error { return s.serveHTTP(running) })
	g.Go(func() error { return a.run(running, s, k, flags, began, g) })
	err = g.Wait()
	s.endAsking()
	if ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
		s.logger.Info("stopped")
		return nil
	}
	return err
}

// listenFault says why the API cannot listen at an address, and what mends that.
func listenFault(address string, err error) error {
	var dns *net.DNSError
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("listen for HTTP: %w: another daemon may be running; choose an address with --listen", err)
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return fmt.Errorf("listen for HTTP: %w: this user may not listen there; below 1024 most may not: choose another port with --listen", err)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("listen for HTTP: %w: it is no address of this machine; choose one with --listen, or 0.0.0.0 for all of them", err)
	case errors.As(err, &dns) && !strings.HasPrefix(dns.Name, "tcp/"): // else it is the name of a port
		return usagef("--listen %s: %w: choose a name or an address of this machine", address, err)
	case errors.As(err, new(*net.AddrError)), dns != nil:
		return usagef("--listen %s: %w; it is host:port, as in 127.0.0.1:8642", address, err)
	}
	return fmt.Errorf("listen for HTTP at %s: %w", address, err)
}

// run folds what there is, then captures until ctx ends.
func (a *app) run(ctx context.Context, s *service, k config.Kafka, flags serveFlags, began time.Time, g *errgroup.Group) error {
	if err := s.fold(ctx, g); err != nil {
		return err
	}
	name, err := a.clusterName(s, k)
	if err != nil {
		return err
	}
	options, err := k.Options()
	if err != nil {
		return err
	}
	if !s.captured(name) {
		id, err := firstContact(ctx, k)
		if err != nil {
			return err
		}
		if other, ok := s.recordedAs(id); ok {
			return fmt.Errorf("kafka at %s is recorded in this ledger as %s: give --cluster %s, or another --data-dir for a second history of it",
				k, other, other)
		}
	}
	cfg := kafka.TailConfig{Options: options, Endpoint: endpoint(k), Cluster: name, Interval: flags.interval}
	if err := s.newTail(cfg); err != nil {
		return err
	}
	if err := s.ask(name, options); err != nil {
		return err
	}
	g.Go(func() error { return s.capture(ctx, cfg) })
	g.Go(func() error {
		s.keepSnapshots(ctx)
		return nil
	})
	s.logger.Info("serving", "cluster", name, "kafka", k, "api", s.url())
	if err := s.waitReady(ctx); err != nil {
		return nil //nolint:nilerr // ended before it was ready, which is told elsewhere
	}
	st := s.tail.Load().Status()
	s.logger.Info("ready", "cluster", name, "captured", st.Counts.Rows, "seq", st.Seq, "took", time.Since(began).Round(time.Millisecond))
	return nil
}

// captured reports whether the ledger has a position of capture in the cluster.
func (s *service) captured(cluster string) (ok bool) {
	s.view.Read(func(st *projection.State) { _, ok = st.Cursor(cluster, ledger.CursorShardAll) })
	return ok
}

// recordedAs is the name under which the ledger has the history of the Kafka cluster with this
// id, if it has one: a cluster recorded under two names would be two half histories.
func (s *service) recordedAs(kafkaID string) (name string, ok bool) {
	s.view.Read(func(st *projection.State) {
		for _, c := range st.Clusters() {
			if cover, known := st.Coverage(c); known && kafkaID != "" && cover.KafkaClusterID == kafkaID {
				name, ok = c, true
				return
			}
		}
	})
	return name, ok
}

// firstContact refuses to begin where nothing could be recorded: as long as there is no
// history to answer from, a daemon that only says that it is not well helps nobody. It returns
// the cluster's id.
func firstContact(ctx context.Context, k config.Kafka) (clusterID string, err error) {
	access, err := checkAccess(ctx, k)
	if err != nil {
		return "", err
	}
	for _, r := range access.Rights {
		if r.Needed && !r.OK {
			return "", fmt.Errorf("kafka at %s: %s: %s", k, r.Key, withMend(r.Detail, r.Mend))
		}
	}
	return access.ClusterID, nil
}

// errNameless refuses a first start that would record under a name nobody chose.
var errNameless = usagef("give the cluster a name with --cluster: it becomes part of every subject of the ledger and cannot be changed later")

// clusterName is the name to record under: the one given, the only one that the ledger knows,
// or that of a cluster on this machine.
func (a *app) clusterName(s *service, k config.Kafka) (string, error) {
	if a.cluster != "" {
		return a.cluster, nil
	}
	var known []string
	s.view.Read(func(st *projection.State) { known = st.Clusters() })
	switch {
	case len(known) == 1:
		return known[0], nil
	case len(known) > 1:
		return "", usagef("the ledger holds the clusters %v: say with --cluster which one this is", known)
	case onLoopback(k.Brokers):
		return localCluster, nil
	}
	return "", errNameless
}

// onLoopback reports whether all brokers are on this machine.
func onLoopback(brokers []string) bool {
	for _, b := range brokers {
		host, _, err := net.SplitHostPort(b)
		if err != nil {
			return false
		}
		if !loopbackHost(host) {
			return false
		}
	}
	return len(brokers) > 0
}
