package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetledger/offsetledger/commands"
	"github.com/offsetledger/offsetledger/ledger"
)

// groupBroker is the broker as the manager of a bound consumer needs it: commits go with the
// consumer's member id and generation, by which the broker fences.
type groupBroker struct {
	client *kgo.Client
	group  string
	// inTransactions says that offsets are committed by the client's transactions, and never by
	// themselves.
	inTransactions bool

	mu      sync.Mutex
	decided map[ledger.TopicPartition]ledger.Offset // what the last transaction has committed
}

// maxCommit is how many bytes of rows go into one request: the broker writes a request as one
// batch, and refuses one that is too large with an error that says nothing.
const maxCommit = 512 << 10

// rowCost is about what a row takes beside its metadata; the default metadata is the member id.
const rowCost = 128

// Commit implements [commands.Broker]. Of several requests the first without an answer ends it:
// rows that are accepted by then stay so, and the others have timed out.
func (b *groupBroker) Commit(ctx context.Context, rows []ledger.Offset) ([]ledger.Offset, error) {
	if b.inTransactions {
		return b.inTransaction(rows)
	}
	var out []ledger.Offset
	for len(rows) > 0 {
		n, size := 0, 0
		for n < len(rows) && (n == 0 || size+rowCost+len(rows[n].Metadata) <= maxCommit) {
			size += rowCost + len(rows[n].Metadata)
			n++
		}
		part, err := b.commit(ctx, rows[:n])
		switch {
		case err != nil && out == nil:
			return nil, err
		case err != nil:
			part, n = slices.Clone(rows), len(rows)
			for i := range part {
				part[i].ErrorCode = kerr.RequestTimedOut.Code
			}
		}
		out, rows = append(out, part...), rows[n:]
	}
	return out, nil
}

// commit sends one request.
func (b *groupBroker) commit(ctx context.Context, rows []ledger.Offset) (out []ledger.Offset, err error) {
	offsets := map[string]map[int32]kgo.EpochOffset{}
	index := make(map[ledger.TopicPartition]int, len(rows))
	for i := range rows {
		r := &rows[i]
		if offsets[r.Topic] == nil {
			offsets[r.Topic] = map[int32]kgo.EpochOffset{}
		}
		offsets[r.Topic][r.Partition] = kgo.EpochOffset{Epoch: r.LeaderEpoch.Kafka(), Offset: r.At}
		index[ledger.TopicPartition{Topic: r.Topic, Partition: r.Partition}] = i
	}
	ctx = kgo.PreCommitFnContext(ctx, func(req *kmsg.OffsetCommitRequest) error {
		for _, t := range req.Topics {
			for i := range t.Partitions {
				p := &t.Partitions[i]
				row := &rows[index[ledger.TopicPartition{Topic: t.Topic, Partition: p.Partition}]]
				// The client's own metadata is its member id, which tells who committed.
				if row.Flags&ledger.FlagNoMetadata == 0 {
					p.Metadata = &row.Metadata
				}
			}
		}
		return nil
	})
	b.client.CommitOffsetsSync(ctx, offsets, func(_ *kgo.Client, req *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, failed error) {
		if err = failed; err == nil {
			out = answered(rows, index, req, resp)
		}
	})
	return out, err
}

// answered returns rows as req sent them, with the error codes of resp. A row that the answer
// passes over has the code of an unknown error: what became of it the broker does not say.
func answered(rows []ledger.Offset, index map[ledger.TopicPartition]int, req *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse) []ledger.Offset {
	out := append([]ledger.Offset(nil), rows...)
	for i := range out {
		out[i].ErrorCode = kerr.UnknownServerError.Code
	}
	names := map[[16]byte]string{}
	for _, t := range req.Topics {
		names[t.TopicID] = t.Topic
		for _, p := range t.Partitions {
			if i, ok := index[ledger.TopicPartition{Topic: t.Topic, Partition: p.Partition}]; ok {
				sent := &out[i]
				sent.Flags &^= ledger.FlagNoMetadata
				sent.TopicID, sent.At, sent.LeaderEpoch, sent.Metadata = uuid.UUID(t.TopicID), p.Offset, ledger.EpochOf(p.LeaderEpoch), ""
				if p.Metadata != nil {
					sent.Metadata = *p.Metadata
				}
			}
		}
	}
	for _, t := range resp.Topics {
		name := t.Topic
		if name == "" { // newer brokers name topics by id
			name = names[t.TopicID]
		}
		for _, p := range t.Partitions {
			if i, ok := index[ledger.TopicPartition{Topic: name, Partition: p.Partition}]; ok {
				out[i].ErrorCode = p.ErrorCode
			}
		}
	}
	return out
}

// Resolve implements [commands.Broker]. A time after the last record is the end of the log.
func (b *groupBroker) Resolve(ctx context.Context, tp ledger.TopicPartition, r commands.Reset) (int64, error) {
	admin := kadm.NewClient(b.client)
	var found kadm.ListedOffsets
	var err error
	switch t, timed := r.Time(); {
	case timed:
		millis := t.UnixMilli()
		if t.Nanosecond()%1e6 != 0 {
			millis++ // the first record at or after t is not one of the millisecond before
		}
		found, err = admin.ListOffsetsAfterMilli(ctx, millis, tp.Topic)
	case r.Kind() == commands.ResetEarliest:
		found, err = admin.ListStartOffsets(ctx, tp.Topic)
	case r.Kind() == commands.ResetLatest:
		found, err = admin.ListEndOffsets(ctx, tp.Topic)
	default:
		return 0, fmt.Errorf("%s is nothing to ask the brokers for", r)
	}
	if err != nil {
		return 0, fmt.Errorf("ask the brokers for %s: %w", r, err)
	}
	return listed(found, tp)
}

// Delete implements [commands.Broker]. A broker deletes nothing of a topic that the group
// still consumes.
func (b *groupBroker) Delete(ctx context.Context, partitions []ledger.TopicPartition) error {
	set := kadm.TopicsSet{}
	for _, tp := range partitions {
		set.Add(tp.Topic, tp.Partition)
	}
	resp, err := kadm.NewClient(b.client).DeleteOffsets(ctx, b.group, set)
	if errors.Is(err, kerr.GroupIDNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete offsets: %w", err)
	}
	var faults []error
	for topic, ps := range resp {
		for p, err := range ps {
			if err != nil && !isMissingTopic(err) {
				faults = append(faults, fmt.Errorf("delete offset of %s/%d: %w", topic, p, err))
			}
		}
	}
	return errors.Join(faults...)
}
