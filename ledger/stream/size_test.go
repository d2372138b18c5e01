package stream_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger/stream"
)

func TestGrowthPerDayNeedsAMinuteToSpeakOf(t *testing.T) {
	from := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	_, ok := stream.Size{Bytes: 100, From: from, To: from.Add(59 * time.Second)}.PerDay()
	require.False(t, ok)
	perDay, ok := stream.Size{Bytes: 100, From: from, To: from.Add(12 * time.Hour)}.PerDay()
	require.True(t, ok)
	require.InDelta(t, 200, perDay, 0.001)
}
