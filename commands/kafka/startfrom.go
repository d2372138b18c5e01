package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetledger/offsetledger/ledger"
)

// Start is where a bound consumer reads partitions from when they are assigned to it.
type Start uint8

// The starts.
const (
	// StartFromBroker begins at the offsets that the broker has, whoever set them: somebody may
	// have reset them on purpose.
	StartFromBroker Start = iota
	// StartFromLedger begins at the offsets that the ledger has of the group, and leaves
	// partitions that it has none of to the broker. Each is checked against the log first: a
	// client that is sent outside of it would begin at its start without a word. The next commit
	// makes them the broker's offsets too. The history of the group is read for it at every
	// assignment.
	StartFromLedger
)

// Outside is what becomes of an offset of the ledger that lies outside of its partition's log.
type Outside uint8

// What becomes of it.
const (
	// OutsideFails refuses to start: the consumer's polls return the error until the log or
	// the ledger has changed.
	OutsideFails Outside = iota
	// OutsideClamps begins at the end of the log that is nearer.
	OutsideClamps
)

// ErrOutside says that an offset of the ledger lies outside of its partition's log.
var ErrOutside = errors.New("outside of the log")

// startFromLedger puts the ledger's offsets in the place of the broker's. Leader epochs are left
// out: one that no longer fits would send the client elsewhere.
func (c *consumer) startFromLedger(ctx context.Context, offsets map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	recorded, err := c.m.Recorded(ctx)
	if err != nil {
		return nil, err
	}
	var known []ledger.TopicPartition
	topics := map[string]struct{}{}
	for topic, ps := range offsets {
		for p := range ps {
			tp := ledger.TopicPartition{Topic: topic, Partition: p}
			if _, ok := recorded[tp]; ok {
				known = append(known, tp)
				topics[topic] = struct{}{}
			}
		}
	}
	if len(known) == 0 {
		return offsets, nil
	}
	bounds, err := listBounds(ctx, kadm.NewClient(c.client), slices.Collect(maps.Keys(topics)))
	if err != nil {
		return nil, err
	}
	var faults []error
	for _, tp := range known {
		at := recorded[tp].Offset
		start, end, err := bounds.of(tp)
		if err == nil {
			err = c.m.Observe(tp.Topic, tp.Partition, start, end)
		}
		if err == nil && (at < start || at > end) {
			if c.bind.Outside == OutsideClamps {
				at = min(max(at, start), end)
			} else {
				err = fmt.Errorf("%s/%d: offset %d of the ledger is %w, which reaches from %d to %d", tp.Topic, tp.Partition, at, ErrOutside, start, end)
			}
		}
		if err != nil {
			faults = append(faults, err)
			continue
		}
		offsets[tp.Topic][tp.Partition] = kgo.NewOffset().At(at).WithEpoch(-1)
	}
	return offsets, errors.Join(faults...)
}

// bounds are the ends of logs.
type bounds struct{ starts, ends kadm.ListedOffsets }

func listBounds(ctx context.Context, admin *kadm.Client, topics []string) (b bounds, err error) {
	if b.starts, err = admin.ListStartOffsets(ctx, topics...); err != nil {
		return b, fmt.Errorf("list log starts: %w", err)
	}
	if b.ends, err = admin.ListEndOffsets(ctx, topics...); err != nil {
		return b, fmt.Errorf("list log ends: %w", err)
	}
	return b, nil
}

// of returns the log start and the high watermark of a partition.
func (b bounds) of(tp ledger.TopicPartition) (start, end int64, err error) {
	if start, err = listed(b.starts, tp); err == nil {
		end, err = listed(b.ends, tp)
	}
	return start, end, err
}

func listed(all kadm.ListedOffsets, tp ledger.TopicPartition) (int64, error) {
	o, ok := all.Lookup(tp.Topic, tp.Partition)
	if !ok {
		return 0, fmt.Errorf("%s/%d: the brokers list no such partition", tp.Topic, tp.Partition)
	}
	if o.Err != nil {
		return 0, fmt.Errorf("%s/%d: %w", tp.Topic, tp.Partition, o.Err)
	}
	return o.Offset, nil
}
