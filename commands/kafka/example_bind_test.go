package kafka_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetledger/offsetledger/commands"
	"github.com/offsetledger/offsetledger/commands/kafka"
	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
	"github.com/offsetledger/offsetledger/ledger/embedded"
	"github.com/offsetledger/offsetledger/ledger/stream"
)

// A consumer of franz-go commits through an offset manager: the manager is made, its options
// go to the client, and records are reported as done. What it commits is in Kafka and in the
// ledger.
func ExampleOpts() {
	ctx := context.Background()
	cluster, err := kafkatest.StartFake(kafkatest.FakeConfig{Topics: map[string]int32{"orders": 1}})
	if err != nil {
		panic(err)
	}
	defer cluster.Close()
	if err := cluster.Produce(ctx, "orders", 0, 3); err != nil {
		panic(err)
	}
	log, closeLog := openLog(ctx) // of a daemon: nats.Connect and stream.Open
	defer closeLog()

	m, err := commands.NewManager(ctx, log, commands.Config{
		Cluster: "prod", Group: "billing", KafkaCommits: true, Strategy: commands.Periodic(time.Second),
	})
	if err != nil {
		panic(err)
	}
	running := make(chan error, 1)
	go func() { running <- m.Run(ctx) }()

	client, err := kgo.NewClient(append(cluster.Options(
		kgo.ConsumerGroup("billing"), kgo.ConsumeTopics("orders"), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
	), kafka.Opts(m, kafka.Bind{})...)...)
	if err != nil {
		panic(err)
	}
	for n := 0; n < 3; {
		for r := range client.PollFetches(ctx).RecordsAll() {
			// … process the record, and then:
			if err := kafka.Done(m, r); err != nil {
				panic(err)
			}
			n++
		}
	}
	client.Close() // gives its partitions up, and so commits
	fmt.Println(m.Offset("orders", 0))
	fmt.Println(m.Close(ctx), <-running)
	// Output:
	// 3 true
	// <nil> <nil>
}

// openLog makes a ledger of its own, in a temporary directory.
func openLog(ctx context.Context) (*stream.Log, func()) {
	dir, err := os.MkdirTemp("", "ledger")
	if err != nil {
		panic(err)
	}
	srv, err := embedded.Start(ctx, embedded.Config{Dir: dir})
	if err != nil {
		panic(err)
	}
	log, err := stream.Create(ctx, srv.Conn(), stream.Config{})
	if err != nil {
		panic(err)
	}
	return log, func() {
		srv.Close()
		os.RemoveAll(dir)
	}
}
