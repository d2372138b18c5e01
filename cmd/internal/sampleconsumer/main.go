// Command sampleconsumer is a consumer as a service would have it: records of a topic are worked
// on by several workers at once, commits go through an offset manager to Kafka and to the
// daemon's ledger, and its output is written so that a record that comes twice leaves the same
// bytes. Killed at any moment it loses no record, and none is in its output twice.
//
// Start as many of it as there are to be members of the group:
//
//	offsetledger serve -B 127.0.0.1:9092 --cluster prod --nats-listen 127.0.0.1:4222
//	sampleconsumer -brokers 127.0.0.1:9092 -nats nats://127.0.0.1:4222 -key DATADIR/writer.nk \
//	    -cluster prod -group billing -topic orders -out DIR
//
// It shows how the library is used and refuses to be a framework: there is nothing to import.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/offsetledger/offsetledger/commands"
	"github.com/offsetledger/offsetledger/commands/kafka"
	"github.com/offsetledger/offsetledger/ledger/stream"
)

type settings struct {
	brokers, nats, key    string
	cluster, group, topic string
	out                   string
	every                 time.Duration
}

func main() {
	var s settings
	flag.StringVar(&s.brokers, "brokers", "", "Kafka brokers, host:port[,…]")
	flag.StringVar(&s.nats, "nats", "", "URL of the ledger's NATS server")
	flag.StringVar(&s.key, "key", "", "file with the key of a writer")
	flag.StringVar(&s.cluster, "cluster", "", "name of the Kafka cluster in the ledger")
	flag.StringVar(&s.group, "group", "", "consumer group")
	flag.StringVar(&s.topic, "topic", "", "topic to consume")
	flag.StringVar(&s.out, "out", "", "directory of the output")
	flag.DurationVar(&s.every, "commit-every", time.Second, "time between two commits")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, s); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings) (err error) {
	key, err := nats.NkeyOptionFromSeed(s.key)
	if err != nil {
		return err
	}
	nc, err := nats.Connect(s.nats, key, nats.MaxReconnects(-1))
	if err != nil {
		return err
	}
	defer nc.Close()
	log, err := stream.Open(ctx, nc, stream.Config{})
	if err != nil {
		return err
	}
	m, err := commands.NewManager(ctx, log, commands.Config{
		Cluster: s.cluster, Group: s.group, KafkaCommits: true, Strategy: commands.Periodic(s.every),
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return err
	}
	client, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(strings.Split(s.brokers, ",")...), kgo.ConsumerGroup(s.group), kgo.ConsumeTopics(s.topic),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()), kgo.BlockRebalanceOnPoll(),
		kgo.SessionTimeout(6 * time.Second), kgo.HeartbeatInterval(500 * time.Millisecond),
	}, kafka.Opts(m, kafka.Bind{})...)...)
	if err != nil {
		return err
	}
	out := &output{dir: s.out}
	defer func() { err = errors.Join(err, out.close()) }()

	g, running := errgroup.WithContext(ctx)
	g.Go(func() error { return m.Run(running) })
	g.Go(func() error { return consume(running, client, m, out) })
	err = g.Wait()
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = nil // told to end
	}
	client.CloseAllowingRebalance() // what is done of the partitions that it gives up is committed
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return errors.Join(err, m.Close(closing))
}

// Records are worked on in batches, by so many workers.
const (
	batch   = 500
	workers = 4
)

// consume works on records until ctx ends.
func consume(ctx context.Context, client *kgo.Client, m *commands.Manager, out *output) error {
	for {
		fetches := client.PollRecords(ctx, batch)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		fetches.EachError(func(topic string, partition int32, err error) {
			slog.Warn("fetch", "topic", topic, "partition", partition, "err", err) // the client tries again
		})
		if err := out.journal(fetches); err != nil {
			return err
		}
		var g errgroup.Group
		g.SetLimit(workers)
		for r := range fetches.RecordsAll() {
			g.Go(func() error {
				if err := out.write(r); err != nil {
					return err
				}
				if err := kafka.Done(m, r); err != nil && !errors.Is(err, commands.ErrNotOwned) {
					return err
				}
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
		client.AllowRebalance()
	}
}
