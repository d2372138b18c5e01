package api_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/cmd/internal/api/apitest"
	"github.com/offsetledger/offsetledger/ledger"
)

func ledgerPoint(seq uint64) string { return fmt.Sprintf("seq:%d", seq) }

// batch is n commits of one group, whose offsets count on from first.
func batch(t *testing.T, first, n int) []ledger.Event {
	events := make([]ledger.Event, n)
	for i := range events {
		id, err := uuid.NewV7()
		require.NoError(t, err)
		at := int64(first + i)
		events[i] = ledger.Event{
			ID: id, Kind: ledger.KindCommitted, Cluster: apitest.Cluster, Group: "g", Time: ledger.AtTime(nightEnds),
			Source:  ledger.Source{Kind: ledger.SourceTail, Partition: apitest.Line, Offset: at},
			Offsets: []ledger.Offset{{Topic: "t", At: at, SourceOffset: at, Effective: ledger.AtTime(nightEnds)}},
		}
	}
	return events
}

// REP-07: while stored events are being replayed, new ones are written. From stored to live
// every event comes once, in order, wherever the seam falls.
func TestREP07FromStoredToLiveWithoutASeam(t *testing.T) {
	const stored, written, rounds, perBatch = 1000, 1000, 5, 100
	d := start(t, nil)
	next := 1
	appendBatch := func(ctx context.Context) error {
		_, err := d.ledger.Append(ctx, batch(t, next, perBatch))
		next += perBatch
		return err
	}
	for next <= stored {
		require.NoError(t, appendBatch(t.Context()))
	}
	for round := range rounds {
		end := next - 1 + written
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		g, ctx := errgroup.WithContext(ctx)
		g.Go(func() error {
			for next <= end {
				if err := appendBatch(ctx); err != nil {
					return err
				}
			}
			return nil
		})
		s, err := d.FollowHistory(ctx, api.Query{Group: ptr("g"), Follow: true})
		require.NoError(t, err)
		want := int64(1)
		for row, err := range s.Rows() {
			require.NoError(t, err)
			if row == nil {
				continue
			}
			require.Equal(t, want, *row.To, "round %d", round)
			require.Equal(t, uint64(want), row.Seq)
			if want++; want > int64(end) {
				break
			}
		}
		require.NoError(t, g.Wait())
		cancel()
	}
}

// A stream begins where its reader left off, and tells when it is up to date.
func TestAStreamIsResumedAfterASequence(t *testing.T) {
	d := start(t, nil)
	_, err := d.ledger.Append(t.Context(), batch(t, 1, 10))
	require.NoError(t, err)
	for _, follow := range []func(context.Context, api.Query) ([]uint64, error){
		func(ctx context.Context, q api.Query) ([]uint64, error) {
			s, err := d.FollowHistory(ctx, q)
			return untilUpToDate(s, err, func(r *api.ChangeRow) uint64 { return r.Seq })
		},
		func(ctx context.Context, q api.Query) ([]uint64, error) {
			s, err := d.FollowEvents(ctx, q)
			return untilUpToDate(s, err, func(r *api.EventRow) uint64 { return r.Seq })
		},
	} {
		seqs, err := follow(t.Context(), api.Query{Group: ptr("g"), From: api.Position{Seq: 7}, Follow: true})
		require.NoError(t, err)
		require.Equal(t, []uint64{8, 9, 10}, seqs)
		seqs, err = follow(t.Context(), api.Query{Group: ptr("g"), Limit: ptr(2), Follow: true})
		require.NoError(t, err)
		require.Equal(t, []uint64{9, 10}, seqs)
		seqs, err = follow(t.Context(), api.Query{Group: ptr("g"), Since: "seq:4", Until: "seq:5"})
		require.NoError(t, err)
		require.Equal(t, []uint64{4, 5}, seqs)
	}
}

func untilUpToDate[T any](s *api.Stream[T], err error, seq func(*T) uint64) ([]uint64, error) {
	if err != nil {
		return nil, err
	}
	var seqs []uint64
	for row, err := range s.Rows() {
		switch {
		case err != nil:
			return nil, err
		case row == nil:
			return seqs, nil
		}
		seqs = append(seqs, seq(row))
	}
	return seqs, fmt.Errorf("the stream ended without being up to date")
}

// SUB-03: a server that limits how long an answer may take must not cut off a stream, and one
// that has nothing to say shows that it is there.
func TestSUB03AQuietStreamOutlivesTheWriteTimeout(t *testing.T) {
	d := start(t, nil)
	_, err := d.ledger.Append(t.Context(), batch(t, 1, 1))
	require.NoError(t, err)
	url := limited(t, d.handler, 100*time.Millisecond)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/api/v1/history?group=g&follow=1", nil)
	require.NoError(t, err)
	resp, err := d.Transport.RoundTrip(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	require.True(t, lines.Scan())
	require.True(t, strings.HasPrefix(lines.Text(), `{"seq":1,`))
	for range 8 { // heartbeats of 50 ms, four times as long as an answer may take
		require.True(t, lines.Scan(), lines.Err())
		require.Empty(t, lines.Text())
	}
	_, err = d.ledger.Append(t.Context(), batch(t, 2, 1))
	require.NoError(t, err)
	for lines.Scan() {
		if lines.Text() != "" {
			require.True(t, strings.HasPrefix(lines.Text(), `{"seq":2,`))
			return
		}
	}
	t.Fatalf("the stream ended: %v", lines.Err())
}

// A reader that goes away ends its stream, in this process as over a network.
func TestAStreamEndsWithItsReader(t *testing.T) {
	d := start(t, nil)
	_, err := d.ledger.Append(t.Context(), batch(t, 1, 1))
	require.NoError(t, err)
	for _, c := range []*api.Client{d.Client, {URL: "http://localhost", Transport: api.Local(d.handler)}} {
		s, err := c.FollowEvents(t.Context(), api.Query{Follow: true})
		require.NoError(t, err)
		require.Equal(t, uint64(1), s.Envelope.Seq)
		require.NoError(t, s.Close())

		ctx, cancel := context.WithCancel(t.Context())
		s, err = c.FollowEvents(ctx, api.Query{Follow: true})
		require.NoError(t, err)
		for row, err := range s.Rows() {
			if row == nil && err == nil {
				cancel()
				continue
			}
			if err != nil {
				require.Error(t, ctx.Err())
			}
		}
		cancel()
	}
}
