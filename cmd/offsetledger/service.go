package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetledger/offsetledger/cmd/internal/brokers"
	"github.com/offsetledger/offsetledger/commands/kafka"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/replay"
)

// service is what serve and demo run. It joins the parts: capture appends to the log, the view
// follows the log, the API answers from both.
type service struct {
	listener net.Listener // of the API
	logger   *slog.Logger

	*store
	// tail is the capture that runs, or ran last. It is replaced when one cannot tell any more
	// where it stands.
	tail   atomic.Pointer[kafka.Tail]
	stored storeHealth
	may    writing
	// asked is how plans ask Kafka what is true now; nil until it is known which cluster it is.
	asked atomic.Pointer[asking]
}

// asking is a client of the cluster that is captured, for questions about the present.
type asking struct {
	cluster string
	client  *kgo.Client
	brokers *brokers.Brokers
}

// ask has plans ask the cluster that is captured.
func (s *service) ask(cluster string, options []kgo.Opt) error {
	client, err := kgo.NewClient(options...)
	if err != nil {
		return err
	}
	s.asked.Store(&asking{cluster: cluster, client: client, brokers: brokers.New(client, nil)})
	return nil
}

// endAsking lets go of the client that ask has made.
func (s *service) endAsking() {
	if a := s.asked.Load(); a != nil {
		a.client.Close()
	}
}

// facts answers what a plan has to know of Kafka.
func (s *service) facts(ctx context.Context, cluster string, q replay.Inquiry) (replay.Facts, error) {
	a := s.asked.Load()
	if a == nil || a.cluster != cluster {
		return replay.Facts{}, fmt.Errorf("this daemon does not capture cluster %s", cluster)
	}
	return a.brokers.Facts(ctx, q)
}

// newTail makes the tail of a Kafka cluster, to go on where the folded log says it stands.
func (s *service) newTail(cfg kafka.TailConfig) error {
	cfg.Log = s.log
	cfg.Facts = kafka.ViewFacts{View: s.view, Cluster: cfg.Cluster}
	cfg.Logger = s.logger
	s.view.Read(cfg.TakeUp)
	tail, err := kafka.NewTail(cfg)
	if err == nil {
		s.tail.Store(tail)
	}
	return err
}

// capture runs the tail that newTail made of cfg. One that cannot know whether its last append
// is stored is followed by another, which goes on from what is.
func (s *service) capture(ctx context.Context, cfg kafka.TailConfig) error {
	for {
		err := s.tail.Load().Run(ctx)
		switch {
		case errors.Is(err, kafka.ErrUncertain):
		case errors.Is(err, ledger.ErrConflict):
			return fmt.Errorf("another daemon captures the cluster %s into this ledger; stop one of the two: %w", cfg.Cluster, err)
		default:
			return err
		}
		s.logger.Warn("capture starts again from the ledger", "cluster", cfg.Cluster, "err", err)
		last, err := s.log.Last(ctx)
		if err == nil {
			err = s.view.WaitFor(ctx, last)
		}
		if err == nil {
			err = s.newTail(cfg)
		}
		if err != nil {
			return err
		}
	}
}

// waitReady returns once capture has stored what was there when it started.
func (s *service) waitReady(ctx context.Context) error {
	for !s.tail.Load().Status().Ready {
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
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
