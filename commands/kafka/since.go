package kafka

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetledger/offsetledger/ledger"
)

// unsaid leaves out the answers for offsets that were committed or deleted again from a
// position of the line's partition on: those records are read next and tell it, each at its
// moment. An answer that told the last of them before the first would be history backwards.
// Records that cannot be read now leave no answer out: a wrong past is the lesser harm.
func (t *Tail) unsaid(ctx context.Context, l *sourceLine, position int64, answers []OffsetAnswer) []OffsetAnswer {
	if len(answers) == 0 {
		return answers
	}
	said, err := t.saidSince(ctx, l.partition, position)
	if err != nil && ctx.Err() == nil {
		t.cfg.Logger.Warn("what was committed since a loss is told twice", "cluster", t.cfg.Cluster, "partition", l.partition, "err", err)
	}
	return slices.DeleteFunc(answers, func(a OffsetAnswer) bool {
		return said[groupKey{a.Group, ledger.TopicPartition{Topic: a.Topic, Partition: a.Partition}}]
	})
}

// saidSince returns the offsets that records tell from a position of a partition to its
// present end. A row of a transaction counts once that has been committed.
func (t *Tail) saidSince(ctx context.Context, partition int32, position int64) (map[groupKey]bool, error) {
	_, ends, err := t.bounds(ctx)
	if err != nil || ends[partition] <= position {
		return nil, err
	}
	from := map[string]map[int32]kgo.Offset{offsetsTopic: {partition: kgo.NewOffset().At(position)}}
	client, err := kgo.NewClient(append(slices.Clip(t.cfg.Options), fetchOptions(from)...)...)
	if err != nil {
		return nil, fmt.Errorf("open a reader of %s/%d: %w", offsetsTopic, partition, err)
	}
	defer client.Close()
	s := said{keys: map[groupKey]bool{}, open: map[int64][]groupKey{}}
	for next := position; next < ends[partition]; {
		fetchCtx, cancel := context.WithTimeout(ctx, requestTimeout)
		fetches := client.PollFetches(fetchCtx)
		cancel()
		err := fetches.Err()
		if isContextError(err) && ctx.Err() == nil {
			// The partition may end beyond its last record, of which a consumer is told nothing.
			askCtx, cancel := context.WithTimeout(ctx, requestTimeout)
			b, ok := beyond(askCtx, t.client, map[int32]int64{partition: next})[partition]
			cancel()
			if ok {
				next = b.to
				continue
			}
		}
		if err != nil {
			return nil, fmt.Errorf("read %s/%d from %d: %w", offsetsTopic, partition, next, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			next = r.Offset + 1
			s.take(r)
		})
	}
	return s.keys, nil
}

// said is what records have told so far.
type said struct {
	decoder Decoder
	keys    map[groupKey]bool
	open    map[int64][]groupKey // by producer id
}

func (s *said) take(r *kgo.Record) {
	if r.Attrs.IsControl() {
		if len(r.Key) >= 4 && binary.BigEndian.Uint16(r.Key[2:]) == controlCommit {
			for _, key := range s.open[r.ProducerID] {
				s.keys[key] = true
			}
		}
		delete(s.open, r.ProducerID)
		return
	}
	e := s.decoder.Decode(r.Key, r.Value)
	if e.Kind != EntryOffset && e.Kind != EntryTombstone {
		return
	}
	key := groupKey{e.Group, ledger.TopicPartition{Topic: e.Offset.Topic, Partition: e.Offset.Partition}}
	if r.Attrs.IsTransactional() {
		s.open[r.ProducerID] = append(s.open[r.ProducerID], key)
		return
	}
	s.keys[key] = true
}
