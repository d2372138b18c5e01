package kafka

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A lone deletion may wait for its topic to disappear for as long as that takes; if deletions
// keep coming, the waiting takes a twentieth of the time.
func TestWaitingForTopicsIsRationed(t *testing.T) {
	var r ration
	began := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	require.True(t, r.takes(firstWait, began))
	require.True(t, r.takes(2*firstWait, began.Add(firstWait)))
	require.False(t, r.takes(firstWait, began.Add(3*firstWait)))

	var waited time.Duration
	now := began.Add(time.Second)
	for end := now.Add(time.Minute); now.Before(end); now = now.Add(time.Millisecond) {
		if r.takes(firstWait, now) {
			waited += firstWait
		}
	}
	require.InDelta(t, time.Minute/20, waited, float64(mostTopicWaits))
	require.True(t, r.takes(2*firstWait, now.Add(time.Hour)))
}

// The brokers do not say which topics there are. A deletion is told all the same, without that
// cause, and they are left alone for a while.
func TestDeletionsDoNotWaitForBrokersThatDoNotAnswer(t *testing.T) {
	var r ration
	now := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	require.True(t, r.asks(now))
	r.refused(now)
	require.False(t, r.asks(now.Add(causeRest-1)))
	require.True(t, r.asks(now.Add(causeRest)))
}
