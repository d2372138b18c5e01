package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/ledger"
)

// A row whose record held bytes after its value, or no metadata rather than an empty one, says
// so, also in words of a version to come.
func TestOdditiesOfRowsAreShown(t *testing.T) {
	d := start(t, nil)
	ev := wide(t, 1, 4)
	ev.Offsets[1].Flags = ledger.FlagTrailingBytes
	ev.Offsets[2].Flags = ledger.FlagNoMetadata | ledger.FlagTrailingBytes
	ev.Offsets[3].Flags = 1 << 6
	_, err := d.ledger.Append(t.Context(), []ledger.Event{ev})
	require.NoError(t, err)
	answer, err := d.Events(t.Context(), api.Query{})
	require.NoError(t, err)
	var got [][]string
	for _, o := range answer.Rows[0].Offsets {
		got = append(got, o.Flags)
	}
	require.Equal(t, [][]string{nil, {"trailing-bytes"}, {"trailing-bytes", "no-metadata"}, {"flag-6"}}, got)
	_, body := d.get(t, "/api/v1/events")
	require.Contains(t, body, `"error_code":0},{`, "nothing odd is nothing to say")
}
