package embedded_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/offsetledger/offsetledger/ledger"
)

// A stream takes few batches at a time. A client that begins many and ends none keeps nobody else
// from storing one.
func TestBatchesLeftOpenStopNobody(t *testing.T) {
	s := share(t)
	nc := s.connect(t, "writer")
	var m *nats.Msg
	for i := range 200 {
		e := committed("billing", int64(i))
		data, err := e.AppendBinary(nil)
		require.NoError(t, err)
		m = &nats.Msg{Subject: e.Subject(), Data: data, Header: nats.Header{
			"Nats-Batch-Id": {"b" + strconv.Itoa(i)}, "Nats-Batch-Sequence": {"1"},
		}}
		require.NoError(t, nc.PublishMsg(m))
	}
	m.Header.Set("Nats-Batch-Id", "one more")
	answer, err := nc.RequestMsg(m, 5*time.Second) // answered after the others
	require.NoError(t, err)
	require.Contains(t, string(answer.Data), "too many batches are open")
	require.Contains(t, string(answer.Data), `"err_code":10210`)

	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // sooner than the others are given up
	defer cancel()
	stored, err := s.log.Append(ctx, []ledger.Event{committed("billing", 1), committed("billing", 2)})
	require.NoError(t, err)
	require.Equal(t, ledger.Receipt{First: 1, Last: 2}, stored)
}
