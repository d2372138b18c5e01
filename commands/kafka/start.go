package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetledger/offsetledger/ledger"
)

// start waits for Kafka and takes up every source partition where the ledger left it.
func (t *Tail) start(ctx context.Context) error {
	t.shared = lineShared{cluster: t.cfg.Cluster, out: &batch{}}
	for wait := newBackoff(); ; {
		err := t.tryStart(ctx)
		t.board.fault(err)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, ErrOtherCluster):
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
		t.cfg.Logger.Warn("capture cannot begin", "cluster", t.cfg.Cluster, "err", err)
		if err := wait.sleep(ctx); err != nil {
			return err
		}
	}
}

func (t *Tail) tryStart(ctx context.Context) error {
	askCtx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	meta, err := t.admin.Metadata(askCtx, offsetsTopic)
	if err != nil {
		return fmt.Errorf("ask for the cluster: %w", err)
	}
	recorded := t.cfg.Resume.Cursor.KafkaClusterID
	if recorded != "" && recorded != meta.Cluster {
		return &OtherClusterError{t.cfg.Cluster, recorded, meta.Cluster}
	}
	t.kafkaID, t.topicID = meta.Cluster, t.cfg.Resume.Cursor.TopicID
	found := uuid.UUID(meta.Topics[offsetsTopic].ID)
	if t.topicID == uuid.Nil {
		t.topicID = found
	}
	period, err := t.retention(ctx)
	if err != nil {
		return err
	}
	t.shared.retention = retention{period: period, facts: t.cfg.Facts}
	starts, ends, err := t.bounds(ctx)
	if err != nil {
		return err
	}
	if t.topicID != found && found != uuid.Nil {
		t.foundTopic = found // not to be read as if it were the one that was
		starts = nil
	}
	t.openLines(starts, ends)
	return nil
}

// requestTimeout is how long one question to the brokers may take.
const requestTimeout = 10 * time.Second

// bounds returns the first and the next position of every source partition. There are none as
// long as no group of the cluster has ever committed.
func (t *Tail) bounds(ctx context.Context) (starts, ends map[int32]int64, err error) {
	if starts, err = t.list(ctx, t.admin.ListStartOffsets); err != nil {
		return nil, nil, err
	}
	if ends, err = t.list(ctx, t.admin.ListEndOffsets); err != nil {
		return nil, nil, err
	}
	return starts, ends, nil
}

type listOffsets func(ctx context.Context, topics ...string) (kadm.ListedOffsets, error)

// list asks for one offset of each source partition. An answer that lacks one is an error.
func (t *Tail) list(ctx context.Context, list listOffsets) (map[int32]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	listed, err := list(ctx, offsetsTopic)
	if err != nil {
		return nil, fmt.Errorf("list offsets of %s: %w", offsetsTopic, err)
	}
	offsets := map[int32]int64{}
	for p, o := range listed[offsetsTopic] {
		switch {
		case isMissingTopic(o.Err):
		case o.Err != nil:
			return nil, fmt.Errorf("list offsets of %s: partition %d: %w", offsetsTopic, p, o.Err)
		case p >= 0:
			offsets[p] = o.Offset
		}
	}
	return offsets, nil
}

// openLines begins to read the partitions in starts that have no line yet: where the ledger
// left them, else from their first record.
func (t *Tail) openLines(starts, ends map[int32]int64) {
	known := map[int32]ledger.SourceLine{}
	for _, c := range t.cfg.Resume.Cursor.Lines {
		known[c.Partition] = c
	}
	from := map[int32]kgo.Offset{}
	for _, p := range slices.Sorted(maps.Keys(starts)) {
		if t.lines[p] != nil {
			continue
		}
		l := newLine(&t.shared, p, starts[p])
		if c, ok := known[p]; ok {
			l = resumeLine(&t.shared, c, t.cfg.Resume.Told[p])
		}
		l.firstEnd, l.high = ends[p], ends[p]
		t.lines[p] = l
		from[p] = kgo.NewOffset().At(l.read).WithEpoch(l.epoch.Kafka())
	}
	t.consume(from)
}

// consume lets the consumer read partitions from positions.
func (t *Tail) consume(from map[int32]kgo.Offset) {
	if len(from) == 0 {
		return
	}
	partitions := map[string]map[int32]kgo.Offset{offsetsTopic: from}
	if t.consumer != nil {
		t.consumer.AddConsumePartitions(partitions)
		return
	}
	opts := append(slices.Clip(t.cfg.Options), fetchOptions(partitions)...)
	consumer, err := kgo.NewClient(opts...)
	if err != nil {
		// The same options made a client before, and those added here are constant.
		panic(fmt.Sprintf("kafka: consumer of %s: %v", offsetsTopic, err))
	}
	t.consumer = consumer
}

// fetchOptions make a client read partitions: everything in them, markers and the rows of
// open transactions included, and never from a position that it was not told.
func fetchOptions(from map[string]map[int32]kgo.Offset) []kgo.Opt {
	return []kgo.Opt{
		kgo.ConsumePartitions(from),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.FetchIsolationLevel(kgo.ReadUncommitted()),
		kgo.KeepControlRecords(),
		kgo.FetchMaxBytes(fetchBytes),
		kgo.FetchMaxPartitionBytes(fetchPartitionBytes),
		kgo.FetchMaxWait(fetchWait),
	}
}

// What one fetch may hold. A record of a few dozen bytes costs kgo almost a kilobyte, so these
// are what bounds the memory of capture.
const (
	fetchBytes          = 4 << 20
	fetchPartitionBytes = 1 << 20
	fetchWait           = 500 * time.Millisecond
)
