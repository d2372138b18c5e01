package kafka

import (
	"errors"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetledger/offsetledger/ledger/ledgertest"
)

// Finding out who answers on a port takes seconds, and Status is asked by whoever wants to know
// whether capture is well: it answers at once, with the error as it came and later with what
// explains it.
func TestStatusDoesNotWaitForAnExplanation(t *testing.T) {
	t.Parallel() // it waits more than it works
	asked := make(chan struct{}, 100)
	hold := make(chan struct{})
	silent := listen(t, func(net.Conn) {
		asked <- struct{}{}
		<-hold
	})
	t.Cleanup(func() { close(hold) })
	tail, err := NewTail(TailConfig{
		Options: []kgo.Opt{kgo.SeedBrokers(silent)}, Endpoint: Endpoint{Brokers: []string{silent}}, Cluster: "c", Log: ledgertest.New(t),
	})
	require.NoError(t, err)
	tail.board.fault(errors.New("no answer"))
	stop := tail.explainFaults(t.Context())
	<-asked // it has connected and waits for an answer
	began := time.Now()
	require.EqualError(t, tail.Status().KafkaError, "no answer")
	require.Less(t, time.Since(began), time.Second)
	tail.board.fault(errors.New("still no answer"))
	require.EqualError(t, tail.Status().KafkaError, "no answer", "what is told stays until more is known")
	require.Eventually(t, func() bool {
		var explained *AccessError
		return errors.As(tail.Status().KafkaError, &explained)
	}, 30*time.Second, 10*time.Millisecond)
	require.ErrorContains(t, tail.Status().KafkaError, "somebody takes connections but does not answer as Kafka: check host and port")
	tail.board.fault(nil)
	require.NoError(t, tail.Status().KafkaError)
	stop()
}
