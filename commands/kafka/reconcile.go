package kafka

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/offsetledger/offsetledger/ledger"
)

// OffsetKey is a committed offset to be asked for again.
type OffsetKey struct {
	Group     string
	Topic     string
	Partition int32
	// NotBefore is the last moment for which the ledger knows what the offset was: whatever
	// the answer, it came true after it.
	NotBefore ledger.Time
}

// OffsetAnswer is what the group's coordinator said of one key.
type OffsetAnswer struct {
	OffsetKey
	// Exists says that there is a committed offset, which is Row. Without it and without Err
	// there is none.
	Exists bool
	// Row has neither commit time nor position, since no request tells them.
	Row ledger.Offset
	// Err is why nothing is known now: the request failed, the answer left the key out, or a
	// transaction is undecided.
	Err error
}

// The most that one request asks for. A group is never cut.
const (
	rereadGroups = 500
	rereadRows   = 20_000
)

var (
	errOffsetOmitted    = errors.New("the coordinator's answer leaves the offset out")
	errMetadataTooLarge = errors.New("the offset has more metadata than an event has room for")
	errNegativeOffset   = errors.New("the coordinator answered with a negative offset that does not stand for none")
)

// Reread asks the coordinators for the committed offsets of keys, of which no two may be the
// same, many groups to a request, and answers in their order. It asks for what a client would
// read at this moment, not for stable offsets alone: while a transaction is undecided that is
// the value before it.
//
// An error, a refusal or a short answer is in Err of the answers that it concerns and never
// means that an offset is gone: only the offset -1 without an error does.
func Reread(ctx context.Context, client *kgo.Client, keys []OffsetKey) []OffsetAnswer {
	r := rereading{
		answers: make([]OffsetAnswer, len(keys)),
		places:  make(map[OffsetKey]int, len(keys)),
		groups:  map[string][]int{},
	}
	for i, key := range keys {
		r.answers[i] = OffsetAnswer{OffsetKey: key, Err: errOffsetOmitted}
		r.groups[key.Group] = append(r.groups[key.Group], i)
		key.NotBefore = ledger.Time{}
		r.places[key] = i
	}
	for _, req := range r.requests() {
		for _, shard := range client.RequestSharded(ctx, req) {
			r.take(shard)
		}
	}
	return r.answers
}

// rereading is the answers that are being gathered.
type rereading struct {
	answers []OffsetAnswer
	places  map[OffsetKey]int // in answers, by key without NotBefore
	groups  map[string][]int  // places of each group's answers
}

// requests packs the keys into requests.
func (r *rereading) requests() []*kmsg.OffsetFetchRequest {
	var all []*kmsg.OffsetFetchRequest
	var req *kmsg.OffsetFetchRequest
	rows := 0
	for _, group := range slices.Sorted(maps.Keys(r.groups)) {
		n := len(r.groups[group])
		if req == nil || len(req.Groups) == rereadGroups || rows+n > rereadRows {
			req, rows = kmsg.NewPtrOffsetFetchRequest(), 0
			all = append(all, req)
		}
		req.Groups = append(req.Groups, r.request(group))
		rows += n
	}
	return all
}

func (r *rereading) request(group string) kmsg.OffsetFetchRequestGroup {
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = group
	topics := map[string]int{}
	for _, place := range r.groups[group] {
		key := r.answers[place].OffsetKey
		i, ok := topics[key.Topic]
		if !ok {
			t := kmsg.NewOffsetFetchRequestGroupTopic()
			t.Topic = key.Topic
			i = len(g.Topics)
			topics[key.Topic] = i
			g.Topics = append(g.Topics, t)
		}
		g.Topics[i].Partitions = append(g.Topics[i].Partitions, key.Partition)
	}
	return g
}

// take takes over what one coordinator answered.
func (r *rereading) take(shard kgo.ResponseShard) {
	resp, ok := shard.Resp.(*kmsg.OffsetFetchResponse)
	if shard.Err != nil || !ok {
		if req, ok := shard.Req.(*kmsg.OffsetFetchRequest); ok {
			for i := range req.Groups {
				r.refuse(req.Groups[i].Group, shard.Err)
			}
		}
		return
	}
	for i := range resp.Groups {
		g := &resp.Groups[i]
		if err := kerr.ErrorForCode(g.ErrorCode); err != nil {
			r.refuse(g.Group, err)
			continue
		}
		for j := range g.Topics {
			r.takeTopic(g.Group, &g.Topics[j], resp.Version)
		}
	}
}

// takeTopic takes over the answer for one topic. Below version 10 its id is not the broker's
// but one that the client knows for the name.
func (r *rereading) takeTopic(group string, t *kmsg.OffsetFetchResponseGroupTopic, version int16) {
	for i := range t.Partitions {
		place, ok := r.places[OffsetKey{Group: group, Topic: t.Topic, Partition: t.Partitions[i].Partition}]
		if !ok {
			continue
		}
		a := &r.answers[place]
		a.take(&t.Partitions[i])
		if a.Exists && version >= 10 {
			a.Row.TopicID = t.TopicID
		}
	}
}

// refuse gives err as the answer to all keys of a group.
func (r *rereading) refuse(group string, err error) {
	for _, place := range r.groups[group] {
		r.answers[place].Err = cmp.Or(err, errOffsetOmitted)
	}
}

// take takes over the answer for one partition.
func (a *OffsetAnswer) take(p *kmsg.OffsetFetchResponseGroupTopicPartition) {
	a.Err = kerr.ErrorForCode(p.ErrorCode)
	switch {
	case a.Err != nil || p.Offset == -1:
		return
	case p.Offset < 0:
		a.Err = errNegativeOffset
		return
	case p.Metadata != nil && len(*p.Metadata) > maxElementBytes:
		a.Err = errMetadataTooLarge
		return
	}
	a.Exists = true
	a.Row = ledger.Offset{
		Topic: a.Topic, Partition: a.Partition, At: p.Offset,
		LeaderEpoch: ledger.EpochOf(p.LeaderEpoch), Metadata: orEmpty(p.Metadata),
	}
	if p.Metadata == nil {
		a.Row.Flags |= ledger.FlagNoMetadata
	}
}

// RereadEvents makes events of answers: committed offsets of those that exist, deletions of
// unknown cause of those that do not, and nothing of those that are not known. at is the
// moment after which the answers were there, and the effective time of all rows. Rows of one group
// that are known from the same moment on share an event. The caller decides which answers are
// news.
func RereadEvents(cluster string, answers []OffsetAnswer, at ledger.Time) []ledger.Event {
	type act struct {
		group     string
		exists    bool
		notBefore ledger.Time
	}
	places := map[act]int{}
	var events []ledger.Event
	for i := range answers {
		a := &answers[i]
		if a.Err != nil {
			continue
		}
		which := act{a.Group, a.Exists, notAfter(a.NotBefore, at)}
		place, ok := places[which]
		if !ok {
			e := ledger.Event{
				Kind: ledger.KindCommitted, Cluster: cluster, Group: a.Group, Time: at, NotBefore: which.notBefore,
				Source: ledger.Source{Kind: ledger.SourceReconcile},
			}
			if !a.Exists {
				e.Kind = ledger.KindDeleted
			}
			place = len(events)
			places[which] = place
			events = append(events, e)
		}
		row := a.Row
		if !a.Exists {
			row = ledger.Offset{Topic: a.Topic, Partition: a.Partition}
		}
		row.Effective = at
		events[place].Offsets = append(events[place].Offsets, row)
	}
	return events
}
