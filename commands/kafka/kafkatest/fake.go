package kafkatest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// FakeConfig describes an in-process cluster. The zero value is one broker on a free loopback
// port, in memory, without authentication.
type FakeConfig struct {
	Brokers int   // number of brokers on free ports; 0 is 1. Ignored where Ports are given
	Ports   []int // a broker on each of these loopback ports
	// Partitions is the partition count of OffsetsTopic; 0 is 4. Kafka's own default is 50.
	Partitions int32
	// ValueVersion is the version of the offset values the mirror writes: 3 as brokers up to
	// 4.0 do, or 4 with the topic's id; 0 is 4.
	ValueVersion int16
	Topics       map[string]int32 // topics to make at the start, with their partition counts
	// DataDir keeps the cluster's state across restarts; empty is in memory.
	DataDir string
	Configs map[string]string // broker configuration, as far as kfake knows it
	// Certs makes every listener a TLS one.
	Certs *Certs
	// Users turns SASL on. Each may do everything, unless ACLs is set: then those that are
	// not Super may only do what ACLs of the cluster allow them.
	Users []User
	ACLs  bool
	Log   *slog.Logger // where the mirror tells of trouble; nil is nowhere
}

// User is one who may log in.
type User struct {
	Mechanism string // PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512
	Name      string
	Password  string
	Super     bool
}

func (c FakeConfig) validate() error {
	var errs []error
	if c.Brokers < 0 {
		errs = append(errs, fmt.Errorf("brokers %d: want 1 or more", c.Brokers))
	}
	if c.Partitions < 0 {
		errs = append(errs, fmt.Errorf("partitions %d: want 1 or more", c.Partitions))
	}
	if c.ValueVersion != 0 && c.ValueVersion != 3 && c.ValueVersion != 4 {
		errs = append(errs, fmt.Errorf("value version %d: want 3 or 4", c.ValueVersion))
	}
	return errors.Join(errs...)
}

// Fake is an in-process cluster whose OffsetsTopic holds what a real one would.
type Fake struct {
	*Cluster
	// Kafka is the cluster under it, for faults, moved partitions, compaction.
	Kafka *kfake.Cluster

	partitions int32
	mirror     *mirror
	writer     *kgo.Client // of OffsetsTopic, idempotence off as a coordinator's
	stop       context.CancelFunc
	done       chan struct{}
}

// The login of the mirror and of Cluster's own client, where users must log in.
const ownUser, ownPassword = "kafkatest", "kafkatest"

// StartFake starts an in-process cluster. Close ends it.
func StartFake(cfg FakeConfig) (*Fake, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("start kfake: %w", err)
	}
	if cfg.Partitions == 0 {
		cfg.Partitions = 4
	}
	if cfg.ValueVersion == 0 {
		cfg.ValueVersion = 4
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	fk, err := kfake.NewCluster(cfg.options()...)
	if err != nil {
		return nil, fmt.Errorf("start kfake: %w", err)
	}
	f := &Fake{Kafka: fk, partitions: cfg.Partitions, done: make(chan struct{})}
	addrs := fk.ListenAddrs()
	f.Cluster = &Cluster{name: "kfake on " + addrs[0], addrs: addrs, opts: cfg.clientOptions()}
	if err := f.startMirror(cfg); err != nil {
		fk.Close()
		return nil, fmt.Errorf("start kfake: %w", err)
	}
	return f, nil
}

func (f *Fake) startMirror(cfg FakeConfig) error {
	if f.Kafka.TopicInfo(OffsetsTopic) == nil {
		err := f.Kafka.CreateTopic(OffsetsTopic, cfg.Partitions, map[string]string{
			"cleanup.policy": "compact", "kfake.is_internal": "true",
		})
		if err != nil {
			return fmt.Errorf("make %s: %w", OffsetsTopic, err)
		}
	}
	var err error
	f.writer, err = kgo.NewClient(f.Options(
		kgo.ClientID("__admin_client"),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.DisableIdempotentWrite(), // coordinators' plain batches have no producer id
		kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.ProducerLinger(0),
	)...)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	f.stop = stop
	f.mirror = newMirror(f.Kafka, f.writer, cfg)
	if cfg.DataDir != "" {
		if err := f.recallMirror(ctx); err != nil {
			stop()
			f.writer.Close()
			return err
		}
	}
	f.mirror.install()
	go func() {
		defer close(f.done)
		f.mirror.run(ctx)
	}()
	return nil
}

// recallMirror tells the mirror what OffsetsTopic held before a restart.
func (f *Fake) recallMirror(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	recs, err := f.ReadOffsets(ctx)
	if err != nil {
		return err
	}
	return f.mirror.recall(recs)
}

// Sync returns when everything that clients did before the call is in OffsetsTopic, or with
// the first error of the mirror.
func (f *Fake) Sync(ctx context.Context) error { return f.mirror.sync(ctx) }

// ReadOffsets is Cluster.ReadOffsets after a Sync.
func (f *Fake) ReadOffsets(ctx context.Context) ([]*kgo.Record, error) {
	if err := f.Sync(ctx); err != nil {
		return nil, err
	}
	return f.Cluster.ReadOffsets(ctx)
}

// Close writes what is still to be mirrored, then ends the cluster.
func (f *Fake) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err := f.Sync(ctx)
	f.mirror.close()
	f.stop()
	<-f.done
	f.writer.Close()
	f.closeClient()
	f.Kafka.Close()
	if err != nil {
		return fmt.Errorf("close kfake: %w", err)
	}
	return nil
}

func (c FakeConfig) options() []kfake.Opt {
	opts := []kfake.Opt{kfake.NumBrokers(max(c.Brokers, 1))}
	if len(c.Ports) > 0 {
		opts = append(opts, kfake.Ports(c.Ports...))
	}
	for t, n := range c.Topics {
		opts = append(opts, kfake.SeedTopics(n, t))
	}
	if c.DataDir != "" {
		opts = append(opts, kfake.DataDir(c.DataDir))
	}
	if len(c.Configs) > 0 {
		opts = append(opts, kfake.BrokerConfigs(c.Configs))
	}
	if c.Certs != nil {
		opts = append(opts, kfake.TLS(c.Certs.ServerTLS()))
	}
	if len(c.Users) > 0 {
		opts = append(opts, kfake.EnableSASL(), kfake.Superuser("SCRAM-SHA-256", ownUser, ownPassword))
	}
	for _, u := range c.Users {
		if u.Super || !c.ACLs {
			opts = append(opts, kfake.Superuser(u.Mechanism, u.Name, u.Password))
		} else {
			opts = append(opts, kfake.User(u.Mechanism, u.Name, u.Password))
		}
	}
	if c.ACLs {
		opts = append(opts, kfake.EnableACLs())
	}
	return opts
}

func (c FakeConfig) clientOptions() []kgo.Opt {
	var opts []kgo.Opt
	if c.Certs != nil {
		opts = append(opts, kgo.DialTLSConfig(&tls.Config{
			RootCAs: c.Certs.Pool(), ServerName: c.Certs.Server.Certificate.DNSNames[0], MinVersion: tls.VersionTLS12,
		}))
	}
	if len(c.Users) > 0 {
		opts = append(opts, kgo.SASL(scram.Auth{User: ownUser, Pass: ownPassword}.AsSha256Mechanism()))
	}
	return opts
}
