package replay_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/replay"
)

// outage is a log that cannot be read for a while.
type outage struct {
	memory
	err error
}

func (o *outage) Read(ctx context.Context, from, to uint64, f ledger.Filter) iter.Seq2[ledger.Record, error] {
	if o.err == nil {
		return o.memory.Read(ctx, from, to, f)
	}
	return func(yield func(ledger.Record, error) bool) { yield(ledger.Record{}, o.err) }
}

// A store or a log that cannot be read for a moment proves nothing about the snapshots: they are
// passed over then, and used again as soon as they can be read.
func TestASnapshotThatCannotBeReadForAMomentIsUsedAgain(t *testing.T) {
	log := tenGroups()
	k := keep(t, log)
	k.takeAt(t, 100, 200)
	k.restart(t)
	before := k.snapshots.List()
	require.Len(t, before, 2)
	group := replay.OfGroup("c", "group-3")
	want := promised(stateAt(t, log, replay.Point{Seq: 150}, group), "c", "group-3")
	requireAnswer := func(r replay.Reader) {
		st, err := k.snapshots.StateAt(t.Context(), r, replay.Point{Seq: 150}, group)
		require.NoError(t, err)
		require.Equal(t, want, promised(st, "c", "group-3"))
		require.Equal(t, before, k.snapshots.List())
	}
	trouble := errors.New("the store does not answer")
	k.store.failRead = func(string) error { return trouble }
	requireAnswer(log)
	require.Contains(t, k.warned.String(), trouble.Error())
	k.store.failRead = nil
	k.warned.Reset()
	requireAnswer(log)
	require.Empty(t, k.warned.String())

	k.restart(t)
	k.warned.Reset()
	away := &outage{memory: log, err: errors.New("the log does not answer")}
	requireAnswer(away) // of records that are picked
	require.Contains(t, k.warned.String(), away.err.Error())
	away.err = nil
	k.warned.Reset()
	requireAnswer(away)
	require.Empty(t, k.warned.String())
}

// A snapshot goes, and its list of events is handed to the one after it: that writes the list and
// then the manifest. Cut off before or after any of it, every answer is the same, and the snapshot
// that got the list is still there.
func TestACrashWhileAListIsHandedOn(t *testing.T) {
	log := tenGroups()
	killed := errors.New("killed")
	for writes, cut := 0, true; cut; writes++ {
		k := keep(t, log)
		k.takeAt(t, 50, 100, 150, 200)
		cut = false
		done := 0
		k.store.fail = func(string) error {
			if done++; done > writes {
				cut = true
				return killed
			}
			return nil
		}
		require.NoError(t, k.snapshots.Delete(t.Context(), "s100"), "after %d writes", writes)
		k.store.fail = nil
		k.restart(t)
		require.Len(t, k.snapshots.List(), 3, "after %d writes", writes)
		for _, seq := range []uint64{60, 120, 149, 160, 200} {
			for g := range 10 {
				group := fmt.Sprint("group-", g)
				got, err := k.snapshots.StateAt(t.Context(), k.log, replay.Point{Seq: seq}, replay.OfGroup("c", group))
				require.NoError(t, err)
				want := stateAt(t, log, replay.Point{Seq: seq}, replay.OfGroup("c", group))
				require.Equal(t, promised(want, "c", group), promised(got, "c", group), "%s at %d after %d writes", group, seq, writes)
			}
		}
		require.LessOrEqual(t, writes, 2, "a list is handed on with two writes")
	}
}
