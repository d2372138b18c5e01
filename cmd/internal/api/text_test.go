package api_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/ledger"
)

func TestTextIsSpelledSoThatItCanBeTyped(t *testing.T) {
	for raw, want := range map[string]string{
		"":          "",
		"billing":   "billing",
		"a b":       "a b",
		"é":         "é",
		"a/b#c?d%e": "a/b#c?d%e",
		"a\x1b":     `"a\x1b"`,
		"\x00":      `"\x00"`,
		"\xff\xfe":  `"\xff\xfe"`,
		"a\nb":      `"a\nb"`,
		" a":        `" a"`,
		`"`:         `"\""`,
		"\ufffd":    "\ufffd",
	} {
		require.Equal(t, want, api.Spell(raw))
		back, err := api.ParseText(want)
		require.NoError(t, err)
		require.Equal(t, raw, back)
	}
	_, err := api.ParseText(`"a`)
	require.EqualError(t, err, `"a starts with a quotation mark but is not a quoted string, as in "a\x1b"`)
	empty, err := api.ParseText(`""`)
	require.NoError(t, err)
	require.Empty(t, empty)
}

func TestTextRoundTripsThroughJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := api.Text(rapid.SliceOf(rapid.Byte()).Draw(t, "raw"))
		b, err := json.Marshal(raw)
		require.NoError(t, err)
		var back api.Text
		require.NoError(t, json.Unmarshal(b, &back))
		require.Equal(t, raw, back)
	})
}

// PRJ-09: Kafka stores any number as a commit time, and Go's own times cannot be encoded
// beyond the year 9999. Such a time is shown as the number that it is.
func TestPRJ09AbsurdTimesAreNumbersInJSON(t *testing.T) {
	for want, at := range map[string]ledger.Time{
		`"2026-11-30T02:46:00.000Z"`: ledger.AtMillis(1796006760000),
		`"2099-01-01T00:00:00.000Z"`: ledger.AtMillis(4070908800000),
		`9223372036854775807`:        ledger.AtMillis(math.MaxInt64),
		`-9000000000000000`:          ledger.AtMillis(-9000000000000000),
		`null`:                       {},
	} {
		b, err := json.Marshal(api.Time{Time: at})
		require.NoError(t, err)
		require.Equal(t, want, string(b))
		var back api.Time
		require.NoError(t, json.Unmarshal(b, &back))
		require.Equal(t, at, back.Time)
	}
}
