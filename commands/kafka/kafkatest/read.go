package kafkatest

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// ReadOffsets reads the whole of OffsetsTopic up to its end as of the call, uncommitted
// transactions and control records included, by partition and offset. A topic that does not
// exist yet is empty.
func (c *Cluster) ReadOffsets(ctx context.Context) ([]*kgo.Record, error) {
	cl, err := c.admin()
	if err != nil {
		return nil, err
	}
	ends, err := kadm.NewClient(cl).ListEndOffsets(ctx, OffsetsTopic)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", OffsetsTopic, err)
	}
	starts := make(map[int32]kgo.Offset)
	left := make(map[int32]int64)
	ends.Each(func(o kadm.ListedOffset) {
		if o.Err == nil && o.Offset > 0 {
			starts[o.Partition] = kgo.NewOffset().AtStart()
			left[o.Partition] = o.Offset
		}
	})
	return c.readTo(ctx, starts, left)
}

// readTo reads from the starts until every partition has reached its end in left.
func (c *Cluster) readTo(ctx context.Context, starts map[int32]kgo.Offset, left map[int32]int64) ([]*kgo.Record, error) {
	if len(left) == 0 {
		return nil, nil
	}
	reader, err := kgo.NewClient(c.Options(
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{OffsetsTopic: starts}),
		kgo.FetchIsolationLevel(kgo.ReadUncommitted()),
		kgo.KeepControlRecords(),
	)...)
	if err != nil {
		return nil, fmt.Errorf("open reader: %w", err)
	}
	defer reader.Close()
	var recs []*kgo.Record
	for len(left) > 0 {
		fetches := reader.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return nil, fmt.Errorf("read %s: %w", OffsetsTopic, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			end, waiting := left[r.Partition]
			if !waiting || r.Offset >= end {
				return
			}
			recs = append(recs, r)
			if r.Offset == end-1 {
				delete(left, r.Partition)
			}
		})
	}
	slices.SortFunc(recs, func(a, b *kgo.Record) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset))
	})
	return recs, nil
}
