package projection_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// A store follows a view: what is committed comes into it, what is deleted goes, and what it
// held of a group that the view knows better is put right when it begins.
func TestStoreFollowsTheView(t *testing.T) {
	v := projection.NewView()
	in, fail, ended := make(chan ledger.Record), make(chan error), make(chan error, 1)
	go func() { ended <- v.Run(t.Context(), live(in, fail)) }()
	in <- record(1, 1000, 76)
	require.NoError(t, v.WaitFor(t.Context(), 1))
	group := "g"
	v.Read(func(s *projection.State) { group = s.Groups("c")[0].Name })

	var store projection.MemoryStore
	topic := ledger.TopicPartition{}
	v.Read(func(s *projection.State) {
		p := s.Partitions("c", group)[0]
		topic = ledger.TopicPartition{Topic: p.Topic, Partition: p.Partition}
	})
	require.NoError(t, store.Store(t.Context(), group, map[ledger.TopicPartition]projection.OffsetInfo{
		topic: {Offset: 5}, {Topic: "gone"}: {Offset: 1},
	}))
	ctx, stop := context.WithCancel(t.Context())
	kept := make(chan error, 1)
	go func() { kept <- projection.KeepStocked(ctx, v, &store, "c") }()
	holds := func(want map[ledger.TopicPartition]int64) {
		t.Helper()
		require.Eventually(t, func() bool {
			all, err := store.All(t.Context(), group)
			require.NoError(t, err)
			for tp, info := range all {
				if at, ok := want[tp]; !ok || at != info.Offset {
					return false
				}
			}
			return len(all) == len(want)
		}, 10*time.Second, time.Millisecond)
	}
	holds(map[ledger.TopicPartition]int64{topic: 76})
	in <- record(2, 1001, 77)
	holds(map[ledger.TopicPartition]int64{topic: 77})
	gone := record(3, 1002, 0)
	gone.Event.Kind = ledger.KindDeleted
	in <- gone
	holds(nil)
	in <- record(4, 1003, 78)
	holds(map[ledger.TopicPartition]int64{topic: 78})

	stop()
	require.ErrorIs(t, <-kept, context.Canceled)
	go func() { kept <- projection.KeepStocked(t.Context(), v, &store, "c") }()
	broken := errors.New("broken")
	fail <- broken
	require.ErrorIs(t, <-kept, broken)
	require.ErrorIs(t, <-ended, broken)
}

// gated is a store that keeps everybody waiting while the gate is held.
type gated struct {
	projection.MemoryStore
	entered chan struct{}
	gate    sync.Mutex
}

func (g *gated) Store(ctx context.Context, group string, offsets map[ledger.TopicPartition]projection.OffsetInfo) error {
	select {
	case g.entered <- struct{}{}:
	default:
	}
	g.gate.Lock()
	defer g.gate.Unlock()
	return g.MemoryStore.Store(ctx, group, offsets)
}

// A store that falls too far behind the view misses changes. It is stocked anew, and has the
// last offset all the same.
func TestSlowStoreIsStockedAnew(t *testing.T) {
	v := projection.NewView()
	in, fail, ended := make(chan ledger.Record), make(chan error), make(chan error, 1)
	go func() { ended <- v.Run(t.Context(), live(in, fail)) }()
	in <- record(1, 1000, 1)
	require.NoError(t, v.WaitFor(t.Context(), 1))
	var p projection.Partition
	group := ""
	v.Read(func(s *projection.State) {
		group = s.Groups("c")[0].Name
		p = s.Partitions("c", group)[0]
	})

	store := &gated{entered: make(chan struct{})}
	store.gate.Lock()
	ctx, stop := context.WithCancel(t.Context())
	kept := make(chan error, 1)
	go func() { kept <- projection.KeepStocked(ctx, v, store, "c") }()
	<-store.entered
	const last = 70_000
	for seq := int64(2); seq <= last; seq++ {
		in <- record(uint64(seq), 1000+seq, seq)
	}
	require.NoError(t, v.WaitFor(t.Context(), last))
	store.gate.Unlock()
	require.Eventually(t, func() bool {
		info, ok, err := store.Get(t.Context(), group, ledger.TopicPartition{Topic: p.Topic, Partition: p.Partition})
		require.NoError(t, err)
		return ok && info.Offset == last
	}, 10*time.Second, time.Millisecond)
	stop()
	require.ErrorIs(t, <-kept, context.Canceled)
	close(in)
	require.NoError(t, <-ended)
}
