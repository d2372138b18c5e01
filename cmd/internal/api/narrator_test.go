package api_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/cmd/internal/api"
	"github.com/offsetledger/offsetledger/cmd/internal/api/apitest"
	"github.com/offsetledger/offsetledger/ledger"
)

// The last events of a history are kept while more are read. Each row keeps its own partition
// and plan.
func TestRowsThatAreKeptStayWhatTheyWere(t *testing.T) {
	d := start(t, nil)
	s := apitest.Begin(t, d.ledger, apitest.NightBegins)
	for i, partition := range []int32{1, 3, 5, 7, 9} {
		s.Append(ledger.Event{
			Kind: ledger.KindReset, Group: "g", Plan: []string{"a", "b", "p1", "p2", "p3"}[i], Reason: "r", Actor: "me",
			Source:  ledger.Source{Kind: ledger.SourceOperator},
			Offsets: []ledger.Offset{{Topic: "t", Partition: partition, At: 10, Effective: s.Now()}},
		})
	}
	h, err := d.History(t.Context(), api.Query{Group: ptr("g"), Limit: ptr(3)})
	require.NoError(t, err)
	var partitions []int32
	var plans []string
	for _, row := range h.Rows {
		partitions = append(partitions, *row.Partition)
		plans = append(plans, *row.Plan)
	}
	require.Equal(t, []int32{5, 7, 9}, partitions)
	require.Equal(t, []string{"p1", "p2", "p3"}, plans)
}
