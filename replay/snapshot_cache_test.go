package replay

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// What was used last is held, within the bound; and nothing of a snapshot that is gone.
func TestPartsAreHeldWithinABound(t *testing.T) {
	var c recent[part]
	const size = cachedBytes / 8
	put := func(key string, n int) { c.put(key, make(part, n), n) }
	has := func(key string) bool { _, ok := c.get(key); return ok }
	for i := range 8 {
		put(fmt.Sprintf("s%d/g00/x", i), size)
	}
	require.True(t, has("s0/g00/x"))
	put("s8/g00/x", size)
	require.True(t, has("s0/g00/x"), "it was used again")
	require.False(t, has("s1/g00/x"))
	require.Equal(t, cachedBytes, c.bytes)
	put("s9/g00/x", cachedBytes)
	require.False(t, has("s9/g00/x"), "too large")
	put("s0/g00/x", size)
	require.Equal(t, cachedBytes, c.bytes, "in its own place")
	c.forget("s8")
	require.False(t, has("s8/g00/x"))
	require.Equal(t, 7*size, c.bytes)
	require.Len(t, c.order, 7)
}
