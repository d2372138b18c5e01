package kafka

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// backoff waits between attempts, longer each time.
type backoff struct{ next time.Duration }

const (
	firstWait = 50 * time.Millisecond
	mostWait  = 5 * time.Second
)

func newBackoff() *backoff { return &backoff{firstWait} }

// sleep waits, or returns the error of ctx when that ends first.
func (b *backoff) sleep(ctx context.Context) error {
	timer := time.NewTimer(b.next)
	defer timer.Stop()
	b.next = min(2*b.next, mostWait)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// isContextError reports whether err says no more than that a wait was over.
func isContextError(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// isMissingTopic reports whether err says that there is no such topic.
func isMissingTopic(err error) bool { return errors.Is(err, kerr.UnknownTopicOrPartition) }
