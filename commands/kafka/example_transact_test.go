package kafka_test

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetledger/offsetledger/commands"
	"github.com/offsetledger/offsetledger/commands/kafka"
	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
)

// Records are copied from one topic to another inside of transactions, and so are their offsets.
func ExampleEndTransaction() {
	ctx := context.Background()
	cluster, err := kafkatest.StartFake(kafkatest.FakeConfig{Topics: map[string]int32{"orders": 1, "copies": 1}})
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
		Cluster: "prod", Group: "billing", KafkaCommits: true, Strategy: commands.Manual(),
	})
	if err != nil {
		panic(err)
	}
	session, err := kgo.NewGroupTransactSession(append(cluster.Options(
		kgo.ConsumerGroup("billing"), kgo.ConsumeTopics("orders"), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.TransactionalID("billing-copies"), kgo.DefaultProduceTopic("copies"),
	), kafka.Opts(m, kafka.Bind{})...)...)
	if err != nil {
		panic(err)
	}
	for n := 0; n < 3; {
		if err := session.Begin(); err != nil {
			panic(err)
		}
		for r := range session.PollFetches(ctx).RecordsAll() {
			if err := session.ProduceSync(ctx, kgo.SliceRecord(r.Value)).FirstErr(); err != nil {
				panic(err)
			}
			n++
		}
		if committed, err := kafka.EndTransaction(ctx, session, kgo.TryCommit); err != nil || !committed {
			panic(fmt.Sprint("not committed: ", err)) // an application goes on with the next transaction
		}
	}
	session.Close()
	fmt.Println(m.Offset("orders", 0))
	fmt.Println(m.Close(ctx))
	// Output:
	// 3 true
	// <nil>
}
