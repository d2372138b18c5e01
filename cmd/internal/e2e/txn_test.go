package e2e

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// txn is an open transaction, spoken over the wire request by request so that a test decides
// when each happens.
type txn struct {
	t        *testing.T
	cl       *kgo.Client
	id       string
	producer int64
	epoch    int16
}

// begin takes a producer id.
func begin(t *testing.T, cl *kgo.Client, id string) *txn {
	t.Helper()
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionalID, req.TransactionTimeoutMillis = &id, int32(patience/time.Millisecond)
	req.ProducerID, req.ProducerEpoch = -1, -1
	tx := &txn{t: t, cl: cl, id: id}
	tx.repeat(func() error {
		resp, err := req.RequestWith(bounded(t), cl)
		if err != nil {
			return err
		}
		tx.producer, tx.epoch = resp.ProducerID, resp.ProducerEpoch
		return kerr.ErrorForCode(resp.ErrorCode)
	})
	return tx
}

// commit adds an offset to the transaction.
func (tx *txn) commit(group, topic string, partition int32, offset int64) {
	tx.t.Helper()
	add := kmsg.NewPtrAddOffsetsToTxnRequest()
	add.TransactionalID, add.ProducerID, add.ProducerEpoch, add.Group = tx.id, tx.producer, tx.epoch, group
	tx.repeat(func() error {
		resp, err := add.RequestWith(bounded(tx.t), tx.cl)
		if err != nil {
			return err
		}
		return kerr.ErrorForCode(resp.ErrorCode)
	})
	p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	p.Partition, p.Offset, p.LeaderEpoch = partition, offset, -1
	of := kmsg.NewTxnOffsetCommitRequestTopic()
	of.Topic, of.Partitions = topic, append(of.Partitions, p)
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.Group, req.ProducerID, req.ProducerEpoch = tx.id, group, tx.producer, tx.epoch
	req.Generation, req.Topics = -1, append(req.Topics, of)
	tx.repeat(func() error {
		resp, err := req.RequestWith(bounded(tx.t), tx.cl)
		if err != nil {
			return err
		}
		return kerr.ErrorForCode(resp.Topics[0].Partitions[0].ErrorCode)
	})
}

// end commits or aborts the transaction, and returns when its markers are written.
func (tx *txn) end(commit bool) {
	tx.t.Helper()
	req := kmsg.NewPtrEndTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = tx.id, tx.producer, tx.epoch, commit
	tx.repeat(func() error {
		resp, err := req.RequestWith(bounded(tx.t), tx.cl)
		if err != nil {
			return err
		}
		return kerr.ErrorForCode(resp.ErrorCode)
	})
	adm := kadm.NewClient(tx.cl)
	require.Eventually(tx.t, func() bool {
		described, err := adm.DescribeTransactions(bounded(tx.t), tx.id)
		return err == nil && (described[tx.id].State == "CompleteCommit" || described[tx.id].State == "CompleteAbort")
	}, patience, time.Millisecond)
}

// repeat asks again while the coordinator is not there yet or has not finished what was before.
func (tx *txn) repeat(ask func() error) {
	tx.t.Helper()
	var err error
	require.Eventually(tx.t, func() bool {
		err = ask()
		return !errors.Is(err, kerr.CoordinatorNotAvailable) && !errors.Is(err, kerr.CoordinatorLoadInProgress) &&
			!errors.Is(err, kerr.NotCoordinator) && !errors.Is(err, kerr.ConcurrentTransactions)
	}, patience, time.Millisecond)
	require.NoError(tx.t, err)
}

// namesOnly lets a client name topics where the newest versions of a request take ids.
func namesOnly() kgo.Opt {
	versions := kversion.Stable()
	versions.SetMaxKeyVersion(int16(kmsg.OffsetFetch), 9)
	versions.SetMaxKeyVersion(int16(kmsg.TxnOffsetCommit), 5)
	return kgo.MaxVersions(versions)
}

// fetchOffset is what OffsetFetch answers to everybody for partition 0; false is nothing.
func fetchOffset(t *testing.T, cl *kgo.Client, group, topic string) (int64, bool) {
	t.Helper()
	p := kmsg.NewOffsetFetchRequestGroupTopic()
	p.Topic, p.Partitions = topic, []int32{0}
	of := kmsg.NewOffsetFetchRequestGroup()
	of.Group, of.Topics = group, append(of.Topics, p)
	req := kmsg.NewPtrOffsetFetchRequest()
	req.RequireStable, req.Groups = false, append(req.Groups, of)
	resp, err := req.RequestWith(bounded(t), cl)
	require.NoError(t, err)
	require.Len(t, resp.Groups, 1)
	require.NoError(t, kerr.ErrorForCode(resp.Groups[0].ErrorCode))
	require.Len(t, resp.Groups[0].Topics, 1)
	require.Equal(t, topic, resp.Groups[0].Topics[0].Topic)
	got := resp.Groups[0].Topics[0].Partitions[0]
	require.NoError(t, kerr.ErrorForCode(got.ErrorCode))
	return got.Offset, got.Offset >= 0
}
