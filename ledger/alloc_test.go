//go:build !race

// The race detector makes pools forget on purpose, so there is nothing to count with it.

package ledger

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The rows of an event that is decoded again and again take no new memory.
func TestDecoderAllocatesNothing(t *testing.T) {
	e := typical(100, 7, newRand())
	for i := range e.Offsets {
		e.Offsets[i].Metadata = "consumer-1@host"
	}
	b := encoded(t, e)
	var d Decoder
	var into Event
	require.NoError(t, d.Decode(b, &into))
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if d.Decode(b, &into) != nil {
			panic("damaged")
		}
	}))
	buf := make([]byte, 0, len(b))
	require.Zero(t, testing.AllocsPerRun(100, func() { buf, _ = e.AppendBinary(buf[:0]) }))
}
