package kafka

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// SourceRate watches the ends of __consumer_offsets for a while and returns how many records a
// second are written to it: what capture has to keep up with, and what a ledger grows by. It
// needs the right to describe the topic.
func SourceRate(ctx context.Context, client *kgo.Client, over time.Duration) (perSecond float64, err error) {
	first, err := sourceEnd(ctx, client)
	if err != nil {
		return 0, fmt.Errorf("rate of %s: %w", offsetsTopic, err)
	}
	began := time.Now()
	select {
	case <-ctx.Done():
		return 0, fmt.Errorf("rate of %s: %w", offsetsTopic, ctx.Err())
	case <-time.After(over):
	}
	last, err := sourceEnd(ctx, client)
	if err != nil {
		return 0, fmt.Errorf("rate of %s: %w", offsetsTopic, err)
	}
	return float64(last-first) / time.Since(began).Seconds(), nil
}

// sourceEnd is the sum of the ends of all source partitions.
func sourceEnd(ctx context.Context, client *kgo.Client) (sum int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	ends, err := kadm.NewClient(client).ListEndOffsets(ctx, offsetsTopic)
	if err != nil {
		return 0, err
	}
	if err := ends.Error(); err != nil {
		return 0, err
	}
	for _, p := range ends[offsetsTopic] {
		sum += p.Offset
	}
	return sum, nil
}
