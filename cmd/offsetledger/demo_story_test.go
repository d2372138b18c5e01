package main

import (
	"context"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/projection"
)

// Somebody puts billing back and takes that back at once: nothing was put back then. It is when
// it stays.
func TestDemoWaitsUntilWhatWasPutBackStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		d := &demoStory{view: projection.NewView(), out: &strings.Builder{}}
		records := make(chan ledger.Record)
		go d.view.Run(ctx, received(records)) // it ends with ctx
		seq := uint64(0)
		commit := func(at int64) {
			seq++
			now := ledger.AtTime(time.Now())
			records <- ledger.Record{Seq: seq, Appended: time.Now(), Event: ledger.Event{
				ID: uuid.Must(uuid.NewV7()), Kind: ledger.KindCommitted, Cluster: demoCluster, Group: demoGroup, Time: now,
				Source:  ledger.Source{Kind: ledger.SourceTail, Offset: int64(seq)},
				Offsets: []ledger.Offset{{Topic: demoTopic, At: at, SourceOffset: int64(seq), CommitTime: now, Effective: now}},
			}}
			synctest.Wait()
		}
		found := make(chan int64, 1)
		go func() {
			at, _ := d.putForward(ctx, 310) // its answer is looked at
			found <- at
		}()
		commit(310)
		time.Sleep(time.Second)
		commit(403)
		time.Sleep(200 * time.Millisecond)
		commit(310)
		time.Sleep(10 * time.Second)
		require.Empty(t, found, "it was taken back")
		commit(403)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		require.Len(t, found, 1)
		require.Equal(t, int64(403), <-found)
		stop()
		close(records)
	})
}

// received yields what comes, until there is no more.
func received(records <-chan ledger.Record) iter.Seq2[ledger.Record, error] {
	return func(yield func(ledger.Record, error) bool) {
		for r := range records {
			if !yield(r, nil) {
				return
			}
		}
	}
}
