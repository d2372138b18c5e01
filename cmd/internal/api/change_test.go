package api

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
)

// An intent says apart what is to be set and what is to go.
func TestWhatAnIntentSays(t *testing.T) {
	set, gone := ledger.Offset{At: 7}, ledger.Offset{At: -1}
	for want, rows := range map[string][]ledger.Offset{
		"about to set 1 offset":                      {set},
		"about to delete 2 offsets":                  {gone, gone},
		"about to set 2 offsets and delete 1 offset": {set, gone, set},
		"about to set 0 offsets":                     nil,
	} {
		require.Equal(t, want, intentNote(rows))
	}
}
