package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/ledger/stream"
	"github.com/offsetledger/offsetledger/projection"
)

// ackError is the error that the server put into its answer to a publish, nil if it stored.
func ackError(body []byte) error {
	var ack struct {
		Error *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(body, &ack); err != nil {
		return err
	}
	if ack.Error != nil {
		return ack.Error
	}
	return nil
}

// measureReplay reads and folds the whole ledger; the limit is an ordered consumer that reads
// the same bytes and looks at none of them. Both run twice, in turns.
func measureReplay(ctx context.Context, dir string, offsets int) (row Row, err error) {
	srv, log, err := openLedger(ctx, dir)
	if err != nil {
		return Row{}, err
	}
	defer func() { err = errors.Join(err, srv.Close()) }()
	const rounds = 2
	var took, limit time.Duration
	for range rounds {
		bare, err := consumeBare(ctx, srv.Conn(), offsets/rowsPerEvent)
		if err != nil {
			return Row{}, err
		}
		limit += bare
		began := time.Now()
		if err := replayAll(ctx, log, offsets); err != nil {
			return Row{}, err
		}
		took += time.Since(began)
	}
	return rate("replay", rounds*offsets, took, limit, "value >= 5000000 and ratio >= 0.7"), nil
}

// replayAll folds everything, as the daemon does at its first start, and makes sure that it did.
func replayAll(ctx context.Context, log *stream.Log, offsets int) error {
	rows := 0
	counted := func(yield func(ledger.Record, error) bool) {
		for rec, err := range log.Read(ctx, 1, 0, ledger.Filter{}) {
			rows += len(rec.Event.Offsets)
			if !yield(rec, err) {
				return
			}
		}
	}
	if err := projection.NewView().Run(ctx, counted); err != nil {
		return err
	}
	if rows != offsets {
		return fmt.Errorf("replay saw %d offsets of %d", rows, offsets)
	}
	return nil
}

// consumeBare reads n messages with the client's own ordered consumer.
func consumeBare(ctx context.Context, nc *nats.Conn, n int) (time.Duration, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	consumer, err := js.OrderedConsumer(ctx, stream.DefaultName, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return 0, err
	}
	done := make(chan struct{})
	seen := 0
	consuming, err := consumer.Consume(func(jetstream.Msg) {
		if seen++; seen == n {
			close(done)
		}
	}, jetstream.PullMaxMessages(10_000))
	if err != nil {
		return 0, err
	}
	defer consuming.Stop()
	select {
	case <-done:
		return time.Since(began), nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}
