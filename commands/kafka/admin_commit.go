package kafka

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetledger/offsetledger/ledger"
)

// Commit commits rows of a group that nobody is in, each with its leader epoch and metadata, and
// returns them as they were sent, each with the error code of the answer; 0 is accepted. Rows
// of more than 512 KiB go in several commits, in order: then the group is not changed all at
// once. An error means that no answer came to one of them: its rows and those after it have the
// code of an unknown error, and may be committed or not.
//
// A row with a topic id is for the topic of that id: from Kafka 4.1 on the broker refuses it if
// the topic has been made again. A group with members refuses every row.
func (a *Admin) Commit(ctx context.Context, group string, rows []ledger.Offset) ([]ledger.Offset, error) {
	sent := append([]ledger.Offset(nil), rows...)
	if err := a.identify(ctx, sent); err != nil {
		return unanswered(sent), err
	}
	var out []ledger.Offset
	for rest := sent; len(rest) > 0; {
		n := commitOf(rest)
		part, err := a.commit(ctx, group, rest[:n])
		if err != nil {
			return append(out, unanswered(rest)...), fmt.Errorf("commit %s of group %s: %w", ledger.Count(n, "offset"), ledger.Spell(group), err)
		}
		out, rest = append(out, part...), rest[n:]
	}
	return out, nil
}

// commitOf is how many of rows go into one request.
func commitOf(rows []ledger.Offset) int {
	n, size := 0, 0
	for n < len(rows) && (n == 0 || size+rowCost+len(rows[n].Topic)+len(rows[n].Metadata) <= maxCommit) {
		size += rowCost + len(rows[n].Topic) + len(rows[n].Metadata)
		n++
	}
	return n
}

// unanswered gives rows the code that says that nothing is known of them.
func unanswered(rows []ledger.Offset) []ledger.Offset {
	for i := range rows {
		rows[i].ErrorCode = kerr.UnknownServerError.Code
	}
	return rows
}

// identify gives rows without one the id of their topic, by which newer brokers want it named.
func (a *Admin) identify(ctx context.Context, rows []ledger.Offset) error {
	var names []string
	seen := map[string]bool{}
	for i := range rows {
		if rows[i].TopicID == uuid.Nil && !seen[rows[i].Topic] {
			seen[rows[i].Topic] = true
			names = append(names, rows[i].Topic)
		}
	}
	if len(names) == 0 {
		return nil
	}
	topics, err := describeTopics(ctx, a.client, names)
	if err != nil {
		return fmt.Errorf("ask for topic ids: %w", err)
	}
	for i := range rows {
		if rows[i].TopicID == uuid.Nil {
			rows[i].TopicID = topics[rows[i].Topic].id
		}
	}
	return nil
}

// commit sends one request, as nobody in the group.
func (a *Admin) commit(ctx context.Context, group string, rows []ledger.Offset) ([]ledger.Offset, error) {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation = group, -1
	index := make(map[ledger.TopicPartition]int, len(rows))
	topics := map[string]int{}
	for i := range rows {
		r := &rows[i]
		at, ok := topics[r.Topic]
		if !ok {
			t := kmsg.NewOffsetCommitRequestTopic()
			t.Topic, t.TopicID = r.Topic, r.TopicID
			at = len(req.Topics)
			topics[r.Topic] = at
			req.Topics = append(req.Topics, t)
		}
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = r.Partition, r.At, r.LeaderEpoch.Kafka(), kmsg.StringPtr(r.Metadata)
		req.Topics[at].Partitions = append(req.Topics[at].Partitions, p)
		index[ledger.TopicPartition{Topic: r.Topic, Partition: r.Partition}] = i
	}
	resp, err := req.RequestWith(ctx, a.client)
	if err != nil {
		return nil, err
	}
	return answered(rows, index, req, resp), nil
}

// Delete deletes the committed offsets of partitions of a group, and returns a row for each with
// the error code of the answer; 0 is deleted, as is an offset that was not there. A broker
// deletes nothing of a topic that a member consumes.
func (a *Admin) Delete(ctx context.Context, group string, partitions []ledger.TopicPartition) ([]ledger.Offset, error) {
	req := kmsg.NewPtrOffsetDeleteRequest()
	req.Group = group
	out := make([]ledger.Offset, len(partitions))
	index := make(map[ledger.TopicPartition]int, len(partitions))
	topics := map[string]int{}
	for i, tp := range partitions {
		out[i] = ledger.Offset{Topic: tp.Topic, Partition: tp.Partition, At: -1, ErrorCode: kerr.UnknownServerError.Code}
		index[tp] = i
		at, ok := topics[tp.Topic]
		if !ok {
			t := kmsg.NewOffsetDeleteRequestTopic()
			t.Topic = tp.Topic
			at = len(req.Topics)
			topics[tp.Topic] = at
			req.Topics = append(req.Topics, t)
		}
		p := kmsg.NewOffsetDeleteRequestTopicPartition()
		p.Partition = tp.Partition
		req.Topics[at].Partitions = append(req.Topics[at].Partitions, p)
	}
	resp, err := req.RequestWith(ctx, a.client)
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	switch {
	case errors.Is(err, kerr.GroupIDNotFound):
		for i := range out {
			out[i].ErrorCode = 0
		}
		return out, nil
	case err != nil:
		return out, fmt.Errorf("delete %s of group %s: %w", ledger.Count(len(partitions), "offset"), ledger.Spell(group), err)
	}
	for i := range resp.Topics {
		for _, p := range resp.Topics[i].Partitions {
			if at, ok := index[ledger.TopicPartition{Topic: resp.Topics[i].Topic, Partition: p.Partition}]; ok {
				out[at].ErrorCode = p.ErrorCode
			}
		}
	}
	return out, nil
}
