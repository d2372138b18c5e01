package kafka

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/embedded"
	"github.com/offsetledger/offsetledger/ledger/stream"
	"github.com/offsetledger/offsetledger/projection"
)

// A process with this variable captures the brokers that it names into a ledger in the
// directory of the other, until it is killed.
const (
	envCapture    = "KAFKA_TEST_CAPTURE"
	envCaptureDir = "KAFKA_TEST_CAPTURE_DIR"
)

func TestMain(m *testing.M) {
	if brokers := os.Getenv(envCapture); brokers != "" {
		fmt.Fprintln(os.Stderr, captureForEver(strings.Split(brokers, ","), os.Getenv(envCaptureDir)))
		os.Exit(1)
	}
	goleak.VerifyTestMain(kafkatest.Closing(m))
}

func captureForEver(brokers []string, dir string) error {
	ctx := context.Background()
	srv, err := embedded.Start(ctx, embedded.Config{Dir: dir})
	if err != nil {
		return err
	}
	log, err := stream.Open(ctx, srv.Conn(), stream.Config{})
	if err != nil {
		return err
	}
	state := projection.NewState()
	for rec, err := range log.Read(ctx, 1, 0, ledger.Filter{}) {
		if err != nil {
			return err
		}
		if _, err := state.Apply(rec); err != nil {
			return err
		}
	}
	cfg := TailConfig{Options: []kgo.Opt{kgo.SeedBrokers(brokers...)}, Cluster: "c", Log: log}
	cfg.TakeUp(state)
	tail, err := NewTail(cfg)
	if err != nil {
		return err
	}
	go func() {
		<-tail.Ready()
		fmt.Println("it has stored what was there")
	}()
	return tail.Run(ctx)
}
