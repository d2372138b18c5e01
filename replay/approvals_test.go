package replay_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/replay"
)

// Who agreed to a plan is told of what was done within a day of it, by somebody else, and after it.
func TestAnApprovalIsGoodForADay(t *testing.T) {
	var log memory
	approve := func(actor string, ms int64) {
		body, err := json.Marshal(replay.Operation{Plan: "p12345"})
		require.NoError(t, err)
		log.add(0, ledger.Event{Kind: ledger.KindOperator, Cluster: "c", Time: millis(ms), Actor: actor, Operation: &ledger.Operation{Action: replay.OperationApprove, Target: "p12345", Body: body}})
	}
	approve("ana", 0)
	approve("kim", hour)
	log.add(hour, ledger.Event{Kind: ledger.KindOperator, Cluster: "c", Time: millis(hour), Actor: "lee", Operation: &ledger.Operation{Action: replay.OperationApply}})
	day := replay.ApprovalLife.Milliseconds()
	for _, c := range []struct {
		actor string
		seq   uint64
		at    int64
		want  string
	}{
		{"lee", 0, 0, ""},
		{"lee", 1, hour, "ana"},
		{"lee", 2, hour, "kim"},
		{"kim", 2, day, "ana"},
		{"kim", 2, day + 1, ""},
		{"lee", 2, day + 1, "kim"},
		{"lee", 2, day + hour + 1, ""},
	} {
		by, ok, err := replay.NewApprovals(log, "c").Through(t.Context(), "p12345", c.actor, c.seq, ledger.AtTime(time.UnixMilli(c.at)))
		require.NoError(t, err)
		require.Equal(t, c.want, by, "%+v", c)
		require.Equal(t, c.want != "", ok)
	}
}
