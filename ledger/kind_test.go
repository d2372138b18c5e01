package ledger

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKindNamesAreOneToOne(t *testing.T) {
	for k := KindUpdated; k <= KindSnapshot; k++ {
		back, ok := ParseKind(k.String())
		require.True(t, ok)
		require.Equal(t, k, back)
		require.Equal(t, k.String(), Token(k.String()), "a kind is a token of the subject")
	}
	for _, word := range []string{"", "Committed", "kind-99", "kind-0", "commit"} {
		_, ok := ParseKind(word)
		require.False(t, ok, word)
	}
}

// What a newer version has written still has a name.
func TestNamesOfTheUnknown(t *testing.T) {
	require.Equal(t, "kind-0", Kind(0).String())
	require.Equal(t, "kind-17", (KindSnapshot + 1).String())
	require.Equal(t, "kind--5", Kind(-5).String())
	require.Equal(t, "source-0", SourceKind(0).String())
	require.Equal(t, "tail", SourceTail.String())
	require.Equal(t, "unknown", CauseUnknown.String())
	require.Equal(t, "cause-14", (CauseLogAway + 1).String())
	require.Equal(t, "streams", GroupTypeStreams.String())
	require.Equal(t, "type-5", GroupType(5).String())
}
