package ledger

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func commit(rows int) Event {
	e := Event{
		ID: uuid.MustParse("0193a000-0000-7000-8000-000000000001"), Kind: KindCommitted,
		Cluster: "prod", Group: "billing", Time: AtMillis(1733000000000),
		Source: Source{Kind: SourceTail, Partition: 17, LeaderEpoch: EpochOf(4), Offset: 123456},
	}
	for i := range rows {
		e.Offsets = append(e.Offsets, Offset{
			Topic: "orders", Partition: int32(i), At: int64(i*7919*31) % 2_000_000, CommitTime: e.Time,
			Effective: e.Time, SourceOffset: e.Source.Offset + int64(i), LeaderEpoch: EpochOf(3),
		})
	}
	return e
}

func TestRoundTrip(t *testing.T) {
	for _, n := range []int{1, 2, 10, 100, 1000} {
		e := commit(n)
		require.NoError(t, e.Validate())
		b, err := e.AppendBinary(nil)
		require.NoError(t, err)
		back, err := Decode(b)
		require.NoError(t, err)
		require.Equal(t, e, back)
		require.Equal(t, e, back.Clone())
		t.Logf("%d rows: %d bytes", n, len(b))
	}
}
