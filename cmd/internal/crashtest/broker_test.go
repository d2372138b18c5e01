package crashtest

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
)

// position names a record of __consumer_offsets.
type position struct {
	partition int32
	offset    int64
}

// key names a committed offset.
type key struct {
	group, topic string
	partition    int32
}

// kind is what a record of __consumer_offsets is.
type kind int

const (
	commit kind = iota
	tombstone
	membership
	garbage
)

// written is one record of __consumer_offsets that is not a marker.
type written struct {
	kind
	key
	at       int64
	epoch    int32
	metadata string
	time     int64        // commit time in milliseconds
	txn      *transaction // nil outside of one
}

type transaction struct {
	rows    []position // in the order of writing
	ended   bool
	aborted bool
}

// value is what a client is answered for a key.
type value struct {
	exists   bool
	at       int64
	metadata string
}

// broker writes to __consumer_offsets, and remembers what it wrote and what every client could
// have read at any time: a plain record counts at once, the rows of a transaction at its end if
// nothing newer stands in the key by then, and a tombstone takes away what is older than it.
type broker struct {
	fake *kafkatest.Fake
	rnd  *rand.Rand
	ids  map[string]uuid.UUID // of topics
	n    int64                // counts writes; makes offsets and metadata that tell them apart

	records map[position]written
	newest  map[key]int64 // position of the record that counts, or that took it away
	history map[key][]value
	open    []openTransaction
	most    int // transactions open at a time
}

type openTransaction struct {
	*transaction
	client *kafkatest.Txn
}

// What is written: so many groups commit to so many topics of so many partitions.
const (
	groups          = 40
	topics          = 3
	topicPartitions = 6
)

func startBroker(t *testing.T, rnd *rand.Rand) *broker {
	cfg := kafkatest.FakeConfig{Partitions: 5, Topics: map[string]int32{}}
	for i := range topics {
		cfg.Topics[topicName(i)] = topicPartitions
	}
	fake, err := kafkatest.StartFake(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, fake.Close()) })
	b := &broker{
		fake: fake, rnd: rnd, ids: map[string]uuid.UUID{},
		records: map[position]written{}, newest: map[key]int64{}, history: map[key][]value{}, most: 4,
	}
	for name := range cfg.Topics {
		b.ids[name] = fake.Kafka.TopicInfo(name).TopicID
	}
	return b
}

func topicName(i int) string { return fmt.Sprintf("topic.%d", i) }

// flow writes until ctx ends, and then ends the transactions that are open.
func (b *broker) flow(ctx context.Context) error {
	pace := time.NewTicker(time.Millisecond)
	defer pace.Stop()
	for ctx.Err() == nil {
		if err := b.step(context.WithoutCancel(ctx)); err != nil {
			return err
		}
		<-pace.C
	}
	for len(b.open) > 0 {
		if err := b.end(context.WithoutCancel(ctx)); err != nil {
			return err
		}
	}
	return nil
}

// step does one thing that a coordinator does.
func (b *broker) step(ctx context.Context) error {
	b.n++
	group := fmt.Sprintf("group-%d", b.rnd.IntN(groups))
	switch roll := b.rnd.IntN(1000); {
	case roll < 20 && len(b.open) < b.most:
		return b.begin(ctx)
	case roll < 40 && len(b.open) > 0:
		return b.end(ctx)
	case roll < 120 && len(b.open) > 0:
		return b.write(ctx, &b.open[b.rnd.IntN(len(b.open))], group, b.commits(group))
	case roll < 126:
		return b.write(ctx, nil, group, b.tombstones(group))
	case roll < 146:
		return b.write(ctx, nil, group, []written{{kind: membership, key: key{group: group}}})
	case roll < 156:
		return b.write(ctx, nil, group, []written{{kind: garbage, key: key{group: group}}})
	}
	return b.write(ctx, nil, group, b.commits(group))
}

// commits is one request of a group: several partitions in any order.
func (b *broker) commits(group string) []written {
	at := time.Now().UnixMilli()
	rows := make([]written, 1+b.rnd.IntN(8))
	for i := range rows {
		rows[i] = written{
			key: b.anyKey(group), at: b.n*10 + int64(i), epoch: int32(b.rnd.IntN(4) - 1),
			metadata: fmt.Sprintf("write %d row %d", b.n, i), time: at,
		}
	}
	return rows
}

func (b *broker) tombstones(group string) []written {
	rows := make([]written, 1+b.rnd.IntN(3))
	for i := range rows {
		rows[i] = written{kind: tombstone, key: b.anyKey(group)}
	}
	return rows
}

func (b *broker) anyKey(group string) key {
	return key{group, topicName(b.rnd.IntN(topics)), int32(b.rnd.IntN(topicPartitions))}
}

// record is a row as a coordinator writes it.
func (b *broker) record(w written) *kgo.Record {
	switch w.kind {
	case tombstone:
		return kafkatest.Tombstone(w.group, w.topic, w.partition)
	case membership:
		v := kmsg.NewGroupMetadataValue()
		v.Version, v.ProtocolType, v.Generation = 3, "consumer", int32(b.n)
		return kafkatest.GroupRecord(w.group, v)
	case garbage:
		return &kgo.Record{Key: []byte{0, 77, 1}, Value: fmt.Appendf(nil, "write %d", b.n)}
	}
	return kafkatest.Commit{
		Group: w.group, Topic: w.topic, Partition: w.key.partition, At: w.at, LeaderEpoch: w.epoch, Metadata: w.metadata,
		Time: time.UnixMilli(w.time), TopicID: b.ids[w.topic], Version: 4,
	}.Record()
}

// write writes the rows of one request of a group and remembers them.
func (b *broker) write(ctx context.Context, tx *openTransaction, group string, rows []written) error {
	records := make([]*kgo.Record, len(rows))
	for i, w := range rows {
		records[i] = b.record(w)
	}
	put := b.fake.Write
	if tx != nil {
		put = tx.client.Write
	}
	if err := put(ctx, group, records...); err != nil {
		return err
	}
	for i, w := range rows {
		p := position{records[i].Partition, records[i].Offset}
		if tx != nil {
			w.txn = tx.transaction
			tx.rows = append(tx.rows, p)
		} else if w.kind == commit || w.kind == tombstone {
			b.apply(p, w)
		}
		b.records[p] = w
	}
	return nil
}

// apply makes a row the one that clients are answered.
func (b *broker) apply(p position, w written) {
	b.newest[w.key] = p.offset
	before := b.history[w.key]
	if w.kind == commit {
		b.history[w.key] = append(before, value{true, w.at, w.metadata})
	} else if len(before) > 0 && before[len(before)-1].exists {
		b.history[w.key] = append(before, value{})
	}
}

func (b *broker) begin(ctx context.Context) error {
	client, err := b.fake.Begin(ctx, fmt.Sprintf("txn-%d", b.n))
	if err != nil {
		return err
	}
	b.open = append(b.open, openTransaction{&transaction{}, client})
	return nil
}

// end commits or aborts one of the open transactions.
func (b *broker) end(ctx context.Context) error {
	i := b.rnd.IntN(len(b.open))
	tx := b.open[i]
	b.open = slices.Delete(b.open, i, i+1)
	tx.ended, tx.aborted = true, b.rnd.IntN(3) == 0
	if tx.aborted {
		return tx.client.Abort(ctx)
	}
	if err := tx.client.Commit(ctx); err != nil {
		return err
	}
	last := map[key]position{}
	for _, p := range tx.rows {
		last[b.records[p].key] = p
	}
	for k, p := range last {
		if newest, ok := b.newest[k]; !ok || p.offset > newest {
			b.apply(p, b.records[p])
		}
	}
	return nil
}

// inOrder returns the positions of one partition's records in their order.
func (b *broker) inOrder() map[int32][]int64 {
	order := map[int32][]int64{}
	for p := range maps.Keys(b.records) {
		order[p.partition] = append(order[p.partition], p.offset)
	}
	for _, offsets := range order {
		slices.Sort(offsets)
	}
	return order
}
