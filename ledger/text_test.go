package ledger_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/offsetledger/offsetledger/ledger"
)

// Texts of any bytes, times and epochs come through JSON as they were, and are spelled as people
// can read them.
func TestTextsTimesAndEpochsInJSON(t *testing.T) {
	for text, want := range map[string]string{
		"billing": `"billing"`, "": `""`, "a<b>&c": `"a<b>&c"`, `a"b\c`: `"a\"b\\c"`, "é": `"é"`, "a\x1b": `"\"a\\x1b\""`,
		`"quoted"`: `"\"\\\"quoted\\\"\""`, " blank": `"\" blank\""`, "\xff": `"\"\\xff\""`,
	} {
		b, err := ledger.Text(text).MarshalJSON()
		require.NoError(t, err)
		require.Equal(t, want, string(b))
	}
	rapid.Check(t, func(t *rapid.T) {
		type all struct {
			Text  ledger.Text
			Time  ledger.Time
			Epoch ledger.Epoch
		}
		in := all{
			ledger.Text(rapid.SliceOf(rapid.Byte()).Draw(t, "text")), ledger.AtMillis(rapid.Int64().Draw(t, "time")),
			ledger.EpochOf(rapid.Int32Range(-1, 1<<30).Draw(t, "epoch")),
		}
		b, err := json.Marshal(in)
		require.NoError(t, err)
		var out all
		require.NoError(t, json.Unmarshal(b, &out))
		require.Equal(t, in, out)
	})
}

func TestCount(t *testing.T) {
	require.Equal(t, "1 group", ledger.Count(1, "group"))
	require.Equal(t, "0 groups", ledger.Count(int32(0), "group"))
	require.Equal(t, "-1 groups", ledger.Count(int64(-1), "group"))
	require.Equal(t, "18446744073709551615 groups", ledger.Count(uint64(1<<64-1), "group"))
}
