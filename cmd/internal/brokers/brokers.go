// Package brokers joins the brokers of a Kafka cluster, as commands/kafka reaches them, to the
// plans of replay: it answers what a plan has to know of the present, and carries out what a
// plan commits. It decides nothing.
package brokers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/offsetledger/offsetledger/commands/kafka"
	"github.com/offsetledger/offsetledger/ledger"
	"github.com/offsetledger/offsetledger/replay"
)

// Brokers is a [replay.Broker].
type Brokers struct {
	*kafka.Admin
	now func() time.Time
}

// New reaches the brokers through a client, which stays the caller's. A nil clock is time.Now.
func New(client *kgo.Client, now func() time.Time) *Brokers {
	if now == nil {
		now = time.Now
	}
	return &Brokers{Admin: kafka.NewAdmin(client), now: now}
}

// Facts asks the brokers what is true now. What a single group or topic could not be asked is its
// Problem; an error is that nothing could be. Since when groups are empty only the ledger
// knows: see [replay.Facts.Learn].
func (b *Brokers) Facts(ctx context.Context, q replay.Inquiry) (replay.Facts, error) {
	f := replay.Facts{}
	var err error
	if f.KafkaClusterID, err = b.ClusterID(ctx); err != nil {
		return f, err
	}
	if keep, ok := b.Retention(ctx); ok {
		f.Retention = keep
	}
	f.Groups = b.groups(ctx, q)
	if f.Topics, err = b.topics(ctx, q, f.Groups); err != nil {
		return f, err
	}
	f.At = ledger.AtTime(b.now())
	f.Sort()
	return f, nil
}

func (b *Brokers) groups(ctx context.Context, q replay.Inquiry) []replay.GroupFacts {
	if len(q.Groups) == 0 {
		return nil
	}
	committed := b.Committed(ctx, q.Groups, q.Partitions)
	// The members come last: what a group had committed before it was seen to be empty is what
	// it left.
	now := b.Groups(ctx, q.Groups)
	out := make([]replay.GroupFacts, len(now))
	for i := range now {
		g := &now[i]
		out[i] = replay.GroupFacts{
			Name: g.Name, Exists: g.Exists, State: g.State, Type: g.Type, Members: g.Members,
			Rows: committed[i].Rows, Pending: committed[i].Pending,
		}
		for _, err := range []error{g.Err, committed[i].Err} {
			if err != nil && out[i].Problem == "" {
				out[i].Problem = err.Error()
			}
		}
	}
	return out
}

func (b *Brokers) topics(ctx context.Context, q replay.Inquiry, groups []replay.GroupFacts) ([]replay.TopicFacts, error) {
	names := map[string]bool{}
	for _, t := range q.Topics {
		names[t] = true
	}
	for _, tp := range q.Partitions {
		names[tp.Topic] = true
	}
	for i := range groups {
		for j := range groups[i].Rows {
			names[groups[i].Rows[j].Topic] = true
		}
	}
	topics, err := b.Topics(ctx, slices.Sorted(maps.Keys(names)))
	if err != nil {
		return nil, err
	}
	ends := b.epochEnds(ctx, q.Epochs)
	found := b.found(ctx, q.RecordTime, topics)
	out := make([]replay.TopicFacts, len(topics))
	for i := range topics {
		t := &topics[i]
		out[i] = replay.TopicFacts{Name: t.Name, Exists: t.Exists, ID: t.ID}
		if t.Err != nil {
			out[i].Problem = t.Err.Error()
		}
		for _, p := range t.Partitions {
			tp := ledger.TopicPartition{Topic: t.Name, Partition: p.Partition}
			part := replay.PartitionFacts{Partition: p.Partition, Epoch: p.Epoch, Epochs: ends[tp]}
			if p.Err == nil {
				part.Log = &replay.Bounds{Start: p.LogStart, LastStable: p.LastStable, End: p.LogEnd}
			}
			if r, ok := found[tp]; ok {
				part.Found = &replay.FoundRecord{Offset: r.Offset, Time: r.Time}
			}
			out[i].Partitions = append(out[i].Partitions, part)
		}
	}
	return out, nil
}

func (b *Brokers) epochEnds(ctx context.Context, epochs []replay.EpochEnd) map[ledger.TopicPartition][]replay.EpochEnd {
	keys := make([]kafka.EpochKey, len(epochs))
	for i, e := range epochs {
		keys[i] = kafka.EpochKey{TopicPartition: ledger.TopicPartition{Topic: e.Topic, Partition: e.Partition}, Epoch: e.Epoch}
	}
	ends := b.EpochEnds(ctx, keys)
	out := map[ledger.TopicPartition][]replay.EpochEnd{}
	for i, k := range keys {
		if end, ok := ends[k]; ok {
			e := epochs[i]
			e.End = end
			out[k.TopicPartition] = append(out[k.TopicPartition], e)
		}
	}
	return out
}

func (b *Brokers) found(ctx context.Context, at ledger.Time, topics []kafka.TopicNow) map[ledger.TopicPartition]kafka.RecordNow {
	if !at.Known() {
		return nil
	}
	wanted := map[string][]int32{}
	for i := range topics {
		for _, p := range topics[i].Partitions {
			wanted[topics[i].Name] = append(wanted[topics[i].Name], p.Partition)
		}
	}
	return b.RecordsAt(ctx, at, wanted)
}

// Commit commits rows of a group; see [kafka.Admin.Commit].
func (b *Brokers) Commit(ctx context.Context, group string, rows []ledger.Offset) ([]ledger.Offset, error) {
	return b.Admin.Commit(ctx, group, rows)
}

// Delete deletes offsets of a group; see [kafka.Admin.Delete].
func (b *Brokers) Delete(ctx context.Context, group string, partitions []ledger.TopicPartition) ([]ledger.Offset, error) {
	if len(partitions) == 0 {
		return nil, fmt.Errorf("delete offsets of group %s: none is named", ledger.Spell(group))
	}
	return b.Admin.Delete(ctx, group, partitions)
}
