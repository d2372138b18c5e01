package replay_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/replay"
)

// The bodies of operator events are in ledgers for ever: these are what was written, and are read.
func TestBodiesOfOperatorEventsStayReadable(t *testing.T) {
	for text, want := range map[string]replay.Operation{
		`{"plan":"p7f3a1","digest":"d1"}`:                                               {Plan: "p7f3a1", Digest: "d1"},
		`{"restore":"r91c2d0","plan":"p7f3a1","digest":"d1"}`:                           {Restore: "r91c2d0", Plan: "p7f3a1", Digest: "d1"},
		`{"restore":"r91c2d0","plan":"p7f3a1","digest":"d1","undoes":"r84c31e"}`:        {Restore: "r91c2d0", Plan: "p7f3a1", Digest: "d1", Undoes: "r84c31e"},
		`{"restore":"r91c2d0","plan":"p7f3a1","digest":"d1","whole":true,"written":50}`: {Restore: "r91c2d0", Plan: "p7f3a1", Digest: "d1", Whole: true, Written: 50},
		`{"restore":"r91c2d0","plan":"p7f3a1","digest":"d1","deleted":2,"refused":1}`:   {Restore: "r91c2d0", Plan: "p7f3a1", Digest: "d1", Deleted: 2, Refused: 1},
	} {
		var got replay.Operation
		require.NoError(t, json.Unmarshal([]byte(text), &got))
		require.Equal(t, want, got)
		written, err := json.Marshal(want)
		require.NoError(t, err)
		require.Equal(t, text, string(written))
	}
}
