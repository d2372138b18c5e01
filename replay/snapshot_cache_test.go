package replay

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// What was used last is held, within the bound; and nothing of a snapshot that is gone.
func TestPartsAreHeldWithinABound(t *testing.T) {
	var c partCache
	const size = cachedBytes / 8
	for i := range 8 {
		c.put(fmt.Sprintf("s%d/g00/x", i), make(part, size))
	}
	require.NotNil(t, c.get("s0/g00/x"))
	c.put("s8/g00/x", make(part, size))
	require.NotNil(t, c.get("s0/g00/x"), "it was used again")
	require.Nil(t, c.get("s1/g00/x"))
	require.Equal(t, cachedBytes, c.bytes)
	c.put("s9/g00/x", make(part, cachedBytes))
	require.Nil(t, c.get("s9/g00/x"), "too large")
	c.forget("s8")
	require.Nil(t, c.get("s8/g00/x"))
	require.Equal(t, 7*size, c.bytes)
	require.Len(t, c.order, 7)
}
