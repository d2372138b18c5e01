package kafka

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/commands/kafka/kafkatest"
)

// The estimate is that of the events that were seen, and of ten rows an event before any was.
func TestBytesPerRow(t *testing.T) {
	for _, c := range []struct {
		rows, events int
		bytes        float64
	}{{0, 0, 12.2}, {7, 7, 104}, {100, 10, 12.2}, {300, 3, 5.7}, {50, 10, 22.4}, {1000, 5, 5.334}} {
		s := Sample{RowsPerSecond: 10, rows: c.rows, events: c.events}
		require.InDelta(t, c.bytes, s.BytesPerRow(), 0.01, "%d rows in %d events", c.rows, c.events)
		require.InDelta(t, 10*c.bytes*86400, s.BytesPerDay(), 1e4)
	}
}

// A group that commits three partitions at a time is seen to do so.
func TestSampleSource(t *testing.T) {
	fake, err := kafkatest.StartFake(kafkatest.FakeConfig{Topics: map[string]int32{"orders": 3}})
	require.NoError(t, err)
	defer fake.Close()
	commit := func(at int64) {
		require.NoError(t, fake.Commit(t.Context(), "g", "orders", map[int32]int64{0: at, 1: at, 2: at}))
		require.NoError(t, fake.Sync(t.Context()))
	}
	commit(1)
	quiet, err := SampleSource(within(t), fake.Options(), 10*time.Millisecond)
	require.NoError(t, err)
	require.Zero(t, quiet.RowsPerSecond)
	_, known := quiet.RowsPerEvent()
	require.False(t, known)

	done := make(chan Sample)
	go func() {
		s, err := SampleSource(within(t), fake.Options(), 500*time.Millisecond)
		if err != nil {
			t.Error(err)
		}
		done <- s
	}()
	for at := int64(2); ; at++ {
		select {
		case s := <-done:
			require.Positive(t, s.RowsPerSecond)
			rows, known := s.RowsPerEvent()
			require.True(t, known)
			require.InDelta(t, 3, rows, 0.5)
			return
		default:
			commit(at)
		}
	}
}
