package projection

import (
	"context"
	"errors"
	"fmt"

	"github.com/offsetledger/offsetledger/ledger"
)

// KeepStocked makes a store hold the committed offsets of all groups of a cluster, and has it
// follow the view, until ctx or the view ends or the store fails, which it returns. A store
// that was lost or is behind is stocked anew when it begins. It is to be run where the view is,
// once for a store.
//
// A high watermark in the store is that of the last change of its partition.
func KeepStocked(ctx context.Context, v *View, to OffsetStore, cluster string) error {
	for {
		err := v.keepStocked(ctx, to, cluster)
		if !errors.Is(err, ErrFollowerSlow) { // a store that is too slow begins again
			return err
		}
	}
}

func (v *View) keepStocked(ctx context.Context, to OffsetStore, cluster string) error {
	f := v.follow() // first, so that nothing that changes from now on is missed
	defer v.unfollow(f)
	var groups []Group
	v.Read(func(s *State) { groups = s.Groups(cluster) })
	for _, g := range groups {
		var offsets map[ledger.TopicPartition]OffsetInfo
		v.Read(func(s *State) { offsets = s.Offsets(cluster, g.Name) })
		if err := Restock(ctx, to, g.Name, offsets); err != nil {
			return err
		}
	}
	for batch, err := range f.batches(ctx) {
		if err != nil {
			return err
		}
		moved := map[string]map[ledger.TopicPartition]struct{}{}
		for i := range batch {
			c := &batch[i]
			if c.Cluster != cluster {
				continue
			}
			if moved[c.Group] == nil {
				moved[c.Group] = map[ledger.TopicPartition]struct{}{}
			}
			moved[c.Group][ledger.TopicPartition{Topic: c.Topic, Partition: c.Partition}] = struct{}{}
		}
		for group, partitions := range moved {
			if err := v.stock(ctx, to, cluster, group, partitions); err != nil {
				return err
			}
		}
	}
	return nil
}

// stock puts into a store what the view has now of some partitions. That can be later than the
// change that gave rise to it, and never earlier.
func (v *View) stock(ctx context.Context, to OffsetStore, cluster, group string, partitions map[ledger.TopicPartition]struct{}) error {
	there := map[ledger.TopicPartition]OffsetInfo{}
	v.Read(func(s *State) {
		for tp := range partitions {
			if p, ok := s.Partition(cluster, group, tp.Topic, tp.Partition); ok && p.Committed.Exists {
				there[tp] = s.offsetInfo(cluster, &p)
			}
		}
	})
	if len(there) > 0 {
		if err := to.Store(ctx, group, there); err != nil {
			return fmt.Errorf("stock offsets of %q: %w", group, err)
		}
	}
	for tp := range partitions {
		if _, ok := there[tp]; ok {
			continue
		}
		if err := to.Delete(ctx, group, tp); err != nil {
			return fmt.Errorf("stock offsets of %q: %w", group, err)
		}
	}
	return nil
}
