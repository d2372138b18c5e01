package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/embedded"
	"github.com/offsetledger/offsetledger/ledger/stream"
)

// The shape of what is measured: commits of a hundred partitions each, by a thousand groups,
// stored in the largest batches that the server takes.
const (
	rowsPerEvent   = 100
	groups         = 1000
	eventsPerBatch = 1000
	batchRows      = rowsPerEvent * eventsPerBatch
	clusterName    = "bench"
)

// sourcePartitions is how many partitions __consumer_offsets has by default.
const sourcePartitions = 50

// commits makes the events of successive batches, as a tail captures them: groups commit in turn,
// each partition having advanced by up to 2,000 records, and the rows of a commit stand next to each
// other in the source. A batch is either of the groups and source partitions with even numbers or
// of the others, in turns: two of them can be stored side by side, and those of each group and
// source partition are still stored in their order, as capture does.
type commits struct {
	batches int
	at      [groups][rowsPerEvent]int64
	source  [sourcePartitions]int64
	topic   uuid.UUID
	random  *rand.Rand
	clock   ledger.Time
}

func newCommits() *commits {
	c := &commits{topic: uuid.New(), random: rand.New(rand.NewPCG(1, 2)), clock: ledger.AtTime(time.Now())}
	for g := range c.at {
		for p := range c.at[g] {
			c.at[g][p] = c.random.Int64N(2_000_000)
		}
	}
	return c
}

func (c *commits) batch() ([]ledger.Event, error) {
	events := make([]ledger.Event, eventsPerBatch)
	half := c.batches % 2
	c.batches++
	for n := range events {
		i := (2*n + half) % groups
		c.clock = c.clock.Add(time.Millisecond)
		id, err := uuid.NewV7()
		if err != nil {
			return nil, err
		}
		position := &c.source[i%sourcePartitions]
		source := ledger.Source{Kind: ledger.SourceTail, Partition: int32(i % sourcePartitions), LeaderEpoch: ledger.EpochOf(7), Offset: *position}
		rows := make([]ledger.Offset, rowsPerEvent)
		for p := range rows {
			c.at[i][p] += c.random.Int64N(2000)
			rows[p] = ledger.Offset{
				Topic: "orders", TopicID: c.topic, Partition: int32(p), LeaderEpoch: ledger.EpochOf(3), At: c.at[i][p],
				CommitTime: c.clock, Effective: c.clock, SourceOffset: *position,
			}
			*position++
		}
		events[n] = ledger.Event{
			ID: id, Kind: ledger.KindCommitted, Cluster: clusterName, Group: "group-" + strconv.Itoa(i),
			Time: c.clock, Source: source, Offsets: rows,
		}
	}
	return events, nil
}

// measureAppend stores the same batches twice, in turns: as events through the log, and as
// bytes that were encoded before, with the headers of a batch and nothing else.
func measureAppend(ctx context.Context, dir, rawDir string, offsets int) (row Row, err error) {
	srv, log, err := openLedger(ctx, dir)
	if err != nil {
		return Row{}, err
	}
	defer func() { err = errors.Join(err, srv.Close()) }()
	raw, err := startRaw(ctx, srv, rawDir)
	if err != nil {
		return Row{}, err
	}
	defer func() { err = errors.Join(err, raw.server.Close()) }()

	const batchesPerTurn = 10
	source := newCommits()
	var took, limit time.Duration
	for left := offsets / batchRows; left > 0; {
		turn := min(left, batchesPerTurn)
		left -= turn
		batches := make([][]ledger.Event, turn)
		bytes := make([][]*nats.Msg, turn)
		for i := range batches {
			if batches[i], err = source.batch(); err != nil {
				return Row{}, err
			}
			if bytes[i], err = encode(batches[i], strconv.Itoa(i)); err != nil {
				return Row{}, err
			}
		}
		began := time.Now()
		if err := raw.publish(ctx, bytes); err != nil {
			return Row{}, err
		}
		limit += time.Since(began)
		began = time.Now()
		if err := appendAll(ctx, log, batches); err != nil {
			return Row{}, err
		}
		took += time.Since(began)
	}
	return rate("append", offsets, took, limit, "ratio >= 0.9"), nil
}

// appendAll has two callers, so that one encodes while the other waits for the disk: one stores the
// batches with even numbers and the other one those between.
func appendAll(ctx context.Context, log *stream.Log, batches [][]ledger.Event) error {
	g, ctx := errgroup.WithContext(ctx)
	for half := range min(2, len(batches)) {
		g.Go(func() error {
			for i := half; i < len(batches); i += 2 {
				if _, err := log.Append(ctx, batches[i]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// rawStream is a stream with the settings of a ledger, on a server with the same options.
type rawStream struct {
	server *embedded.Server
}

func startRaw(ctx context.Context, like *embedded.Server, dir string) (*rawStream, error) {
	js, err := jetstream.New(like.Conn())
	if err != nil {
		return nil, err
	}
	model, err := js.Stream(ctx, stream.DefaultName)
	if err != nil {
		return nil, err
	}
	srv, err := embedded.Start(ctx, embedded.Config{Dir: dir})
	if err != nil {
		return nil, err
	}
	if js, err = jetstream.New(srv.Conn()); err == nil {
		_, err = js.CreateStream(ctx, model.CachedInfo().Config)
	}
	if err != nil {
		return nil, errors.Join(err, srv.Close())
	}
	return &rawStream{server: srv}, nil
}

// encode makes the messages of one atomic batch.
func encode(events []ledger.Event, batchID string) ([]*nats.Msg, error) {
	msgs := make([]*nats.Msg, len(events))
	for i := range events {
		body, err := events[i].AppendBinary(nil)
		if err != nil {
			return nil, err
		}
		msgs[i] = &nats.Msg{Subject: events[i].Subject(), Data: body, Header: nats.Header{
			"Nats-Batch-Id": {batchID}, "Nats-Batch-Sequence": {strconv.Itoa(i + 1)},
		}}
	}
	msgs[len(msgs)-1].Header["Nats-Batch-Commit"] = []string{"1"}
	return msgs, nil
}

// publish stores batches one after the other, each when the one before is on disk.
func (r *rawStream) publish(ctx context.Context, batches [][]*nats.Msg) error {
	nc := r.server.Conn()
	for _, msgs := range batches {
		last := len(msgs) - 1
		for _, m := range msgs[:last] {
			if err := nc.PublishMsg(m); err != nil {
				return err
			}
		}
		reply, err := nc.RequestMsgWithContext(ctx, msgs[last])
		if err != nil {
			return err
		}
		if err := ackError(reply.Data); err != nil {
			return fmt.Errorf("raw batch: %w", err)
		}
	}
	return nil
}
