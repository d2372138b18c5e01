package ledger

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// People who back up groups want exactly what was stored, not a client's view of it: the empty
// group, slashes, very long names, offsets that a float cannot hold, epoch 0 beside the unknown
// one, absent metadata beside the empty, binary metadata, a deletion, a record that nobody could decode.
func TestREP10EverythingIsKeptByteForByte(t *testing.T) {
	rows := []Offset{
		{Topic: "t", Partition: 0, At: 0, LeaderEpoch: EpochOf(-1)},
		{Topic: "t", Partition: 1, At: 1<<53 + 1, LeaderEpoch: EpochOf(0)},
		{Topic: "t", Partition: 2, At: math.MaxInt64, Flags: FlagNoMetadata},
		{Topic: "t", Partition: 3, Metadata: ""},
		{Topic: "t", Partition: 4, Metadata: "\x00\x80\xff"},
	}
	for _, group := range []string{"", "a/b", strings.Repeat("n", 3000)} {
		for _, kind := range []Kind{KindCommitted, KindDeleted} {
			e := golden(kind, group)
			e.Offsets = rows
			b := encoded(t, e)
			back, err := Decode(b)
			require.NoError(t, err)
			require.Equal(t, e, back)
			require.Equal(t, b, encoded(t, back))
		}
	}
	opaque := golden(KindOpaque, "")
	for _, o := range []Opaque{
		{Key: nil, ValueNull: true}, {Key: []byte{}, Value: nil}, {Key: []byte{0xff}, Value: []byte{0}, Timestamp: AtMillis(-1)},
	} {
		opaque.Opaque = &o
		back, err := Decode(encoded(t, opaque))
		require.NoError(t, err)
		require.Equal(t, opaque, back)
	}
}
